//! `wasi:http/outgoing-handler`: sends a request that is made. Whether there is a network for it is what the world says; whom it
//! reaches there is never decided here.

use std::time::Duration;

use ureq::http::{Method, Request, Uri, request};
use wasmtime::component::Resource;

use super::super::codes::HttpFault;
use super::super::host::Host;
use super::bindings::wasi::http::outgoing_handler;
use super::bindings::wasi::http::types::{ErrorCode, Method as Asked, Scheme};
use super::exchange::{Exchange, Order};
use super::incoming::FutureResponse;
use super::outgoing::{Options, OutgoingRequest};
use crate::requests::{LONGEST, Patience};
use crate::world::Around;

impl outgoing_handler::Host for Host {
    fn handle(
        &mut self,
        request: Resource<OutgoingRequest>,
        options: Option<Resource<Options>>,
    ) -> Result<Resource<FutureResponse>, HttpFault> {
        let request = self.table.delete(request)?;
        let options = options.map(|options| self.table.delete(options)).transpose()?;
        match self.world.around {
            Around::ThisProcess => {}
            Around::Nothing | Around::Tools(_) => {
                return Err(HttpFault::Code(ErrorCode::HttpRequestDenied));
            }
        }
        let order = Order {
            head: head(&request).map_err(HttpFault::Code)?,
            body: request.body,
            patience: patience(options.unwrap_or_default()),
            most: self.world.limits.max_memory,
        };
        let place = self.place().ok_or(HttpFault::Code(ErrorCode::ConnectionLimitReached))?;
        let exchange = Exchange::begin(order, place).map_err(HttpFault::Code)?;
        Ok(self.push(FutureResponse::new(exchange))?)
    }
}

fn head(request: &OutgoingRequest) -> Result<request::Parts, ErrorCode> {
    let length = request.headers.content_length();
    let length = length.map_err(|()| ErrorCode::HttpRequestBodySize(None))?;
    if request.body.is_none() && length.is_some_and(|length| length > 0) {
        return Err(ErrorCode::HttpRequestBodySize(Some(0)));
    }
    let built = Request::builder().method(method(&request.method)?).uri(uri(request)?);
    let mut head = built.body(()).map_err(|_| ErrorCode::HttpRequestUriInvalid)?.into_parts().0;
    for (name, value) in request.headers.iter() {
        // The length is that of the body: what is sent says it once.
        if name != "content-length" {
            let added = head.headers.try_append(name.clone(), value.clone());
            added.map_err(|_| ErrorCode::HttpRequestHeaderSectionSize(None))?;
        }
    }
    Ok(head)
}

fn uri(request: &OutgoingRequest) -> Result<Uri, ErrorCode> {
    let scheme = match request.scheme {
        Some(Scheme::Http) => "http",
        // Where nothing is said, nobody else is to read it.
        Some(Scheme::Https) | None => "https",
        Some(Scheme::Other(_)) => return Err(ErrorCode::HttpRequestUriInvalid),
    };
    let authority = request.authority.as_deref().ok_or(ErrorCode::HttpRequestUriInvalid)?;
    let path = request.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    uri.map_err(|_| ErrorCode::HttpRequestUriInvalid)
}

fn method(asked: &Asked) -> Result<Method, ErrorCode> {
    Ok(match asked {
        Asked::Get => Method::GET,
        Asked::Head => Method::HEAD,
        Asked::Post => Method::POST,
        Asked::Put => Method::PUT,
        Asked::Delete => Method::DELETE,
        Asked::Options => Method::OPTIONS,
        Asked::Trace => Method::TRACE,
        Asked::Patch => Method::PATCH,
        // A tunnel is no answer: what comes through it would be neither.
        Asked::Connect => return Err(ErrorCode::HttpRequestMethodInvalid),
        Asked::Other(name) => match Method::from_bytes(name.as_bytes()) {
            Ok(method) if method != Method::CONNECT => method,
            _ => return Err(ErrorCode::HttpRequestMethodInvalid),
        },
    })
}

fn patience(options: Options) -> Patience {
    let duration = |asked: Option<u64>| asked.map_or(LONGEST, Duration::from_nanos);
    Patience::Parts {
        connect: duration(options.connect),
        first_byte: duration(options.first_byte),
        between_bytes: duration(options.between_bytes),
    }
}
