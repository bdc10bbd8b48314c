//! The answer to a request: awaited, its head, and its body as a stream. Everything of it holds the exchange that it comes by;
//! there are never trailers.

use std::sync::Arc;

use wasmtime::Result;
use wasmtime::component::Resource;

use super::super::host::Host;
use super::super::pollables::Pollable;
use super::super::streams::InputStream;
use super::bindings::wasi::http::types::{self, ErrorCode};
use super::exchange::Exchange;
use super::fields::{Entries, Fields};

/// An answer that may not be there yet.
#[derive(Debug)]
pub struct FutureResponse {
    exchange: Arc<Exchange>,
    is_taken: bool,
}

/// An answer.
#[derive(Debug)]
pub struct IncomingResponse {
    status: u16,
    headers: Arc<Entries>,
    /// Nothing once the body is taken.
    exchange: Option<Arc<Exchange>>,
}

/// The body of an answer.
#[derive(Debug)]
pub struct IncomingBody {
    exchange: Arc<Exchange>,
    has_stream: bool,
}

/// What comes after a body: nothing, but that it was whole.
#[derive(Debug)]
pub struct FutureTrailers {
    exchange: Arc<Exchange>,
    is_taken: bool,
}

impl FutureResponse {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self { exchange: Arc::new(exchange), is_taken: false }
    }
}

/// What `get` says of an answer: whether there is one yet, whether it was taken before, and what it is.
type Asked<T> = Option<Result<Result<T, ErrorCode>, ()>>;

impl types::HostFutureIncomingResponse for Host {
    fn subscribe(&mut self, future: Resource<FutureResponse>) -> Result<Resource<Pollable>> {
        let future = self.table.get(&future)?;
        let pollable = match future.is_taken {
            true => Pollable::Ready,
            false => Pollable::Exchange(Arc::clone(&future.exchange)),
        };
        self.push(pollable)
    }

    fn get(
        &mut self,
        future: Resource<FutureResponse>,
    ) -> Result<Asked<Resource<IncomingResponse>>> {
        let future = self.table.get_mut(&future)?;
        if future.is_taken {
            return Ok(Some(Err(())));
        }
        let Some(head) = future.exchange.head() else { return Ok(None) };
        future.is_taken = true;
        let head = match head {
            Ok(head) => head,
            Err(code) => return Ok(Some(Ok(Err(code)))),
        };
        let exchange = Some(Arc::clone(&future.exchange));
        let headers = Arc::new(Entries::of_answer(&self.budget, head.headers)?);
        let response = IncomingResponse { status: head.status, headers, exchange };
        Ok(Some(Ok(Ok(self.push(response)?))))
    }

    fn drop(&mut self, future: Resource<FutureResponse>) -> Result<()> {
        self.table.delete(future)?;
        Ok(())
    }
}

impl types::HostIncomingResponse for Host {
    fn status(&mut self, response: Resource<IncomingResponse>) -> Result<u16> {
        Ok(self.table.get(&response)?.status)
    }

    fn headers(&mut self, response: Resource<IncomingResponse>) -> Result<Resource<Fields>> {
        let headers = Arc::clone(&self.table.get(&response)?.headers);
        self.push(Fields::immutable(headers))
    }

    fn consume(
        &mut self,
        response: Resource<IncomingResponse>,
    ) -> Result<Result<Resource<IncomingBody>, ()>> {
        match self.table.get_mut(&response)?.exchange.take() {
            Some(exchange) => self.push(IncomingBody { exchange, has_stream: false }).map(Ok),
            None => Ok(Err(())),
        }
    }

    fn drop(&mut self, response: Resource<IncomingResponse>) -> Result<()> {
        self.table.delete(response)?;
        Ok(())
    }
}

impl types::HostIncomingBody for Host {
    fn stream(
        &mut self,
        body: Resource<IncomingBody>,
    ) -> Result<Result<Resource<InputStream>, ()>> {
        let body = self.table.get_mut(&body)?;
        if std::mem::replace(&mut body.has_stream, true) {
            return Ok(Err(()));
        }
        let stream = InputStream::Answer(Arc::clone(&body.exchange));
        self.push(stream).map(Ok)
    }

    fn finish(&mut self, body: Resource<IncomingBody>) -> Result<Resource<FutureTrailers>> {
        let exchange = self.table.delete(body)?.exchange;
        self.push(FutureTrailers { exchange, is_taken: false })
    }

    fn drop(&mut self, body: Resource<IncomingBody>) -> Result<()> {
        self.table.delete(body)?;
        Ok(())
    }
}

impl types::HostFutureTrailers for Host {
    fn subscribe(&mut self, trailers: Resource<FutureTrailers>) -> Result<Resource<Pollable>> {
        self.table.get(&trailers)?;
        self.push(Pollable::Ready)
    }

    fn get(
        &mut self,
        trailers: Resource<FutureTrailers>,
    ) -> Result<Asked<Option<Resource<Fields>>>> {
        let trailers = self.table.get_mut(&trailers)?;
        if std::mem::replace(&mut trailers.is_taken, true) {
            return Ok(Some(Err(())));
        }
        Ok(Some(Ok(match trailers.exchange.failure() {
            Some(code) => Err(code),
            None => Ok(None),
        })))
    }

    fn drop(&mut self, trailers: Resource<FutureTrailers>) -> Result<()> {
        self.table.delete(trailers)?;
        Ok(())
    }
}
