//! A request while it is made: who is asked for what, how long that may take, and the body. Nothing of it is sent from here.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ureq::http::uri::{Authority, PathAndQuery};
use wasmtime::Result;
use wasmtime::component::Resource;

use super::super::budget::Kept;
use super::super::codes::{Failed, HttpFault, StreamFault};
use super::super::host::Host;
use super::super::streams::OutputStream;
use super::bindings::wasi::http::types::{self, ErrorCode, Method, Scheme};
use super::fields::{Entries, Fields};

/// A request that is not sent yet.
#[derive(Debug)]
pub struct OutgoingRequest {
    pub(super) method: Method,
    pub(super) path: Option<String>,
    pub(super) scheme: Option<Scheme>,
    pub(super) authority: Option<String>,
    pub(super) headers: Arc<Entries>,
    /// Where the body comes from once it is finished, if it has one. Nobody is at the other end if it never will be.
    pub(super) body: Option<Receiver<Content>>,
}

/// How long the parts of a request may take, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub(super) connect: Option<u64>,
    pub(super) first_byte: Option<u64>,
    pub(super) between_bytes: Option<u64>,
}

/// A body that is being written.
#[derive(Debug)]
pub struct OutgoingBody {
    written: Arc<Written>,
    has_stream: bool,
    to: Sender<Content>,
}

/// A whole body.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    kept: Kept,
}

/// What was written of a body, which its stream holds too.
#[derive(Debug)]
pub struct Written {
    /// Nothing when it is finished.
    content: Mutex<Option<Content>>,
    /// What its header says.
    length: Option<u64>,
}

impl Written {
    fn content(&self) -> MutexGuard<'_, Option<Content>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to it. It is never longer than its header says, nor than what the host may hold.
    pub(in super::super) fn write(&self, bytes: &[u8]) -> Result<(), StreamFault> {
        let mut content = self.content();
        let content = content.as_mut().ok_or(StreamFault::Closed)?;
        let length = (content.bytes.len() as u64).saturating_add(bytes.len() as u64);
        let is_said = self.length.is_none_or(|said| length <= said);
        if !is_said || !content.kept.grow(bytes.len()) {
            let code = ErrorCode::HttpRequestBodySize(Some(length));
            return Err(StreamFault::Failed(Failed::Request(code)));
        }
        content.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Whether a text is short enough to be kept, and one of those.
fn is_valid(text: Option<&String>, check: impl FnOnce(&str) -> bool) -> bool {
    text.is_none_or(|text| text.len() <= LONGEST_TEXT && check(text))
}

fn is_token(text: &str) -> bool {
    ureq::http::Method::from_bytes(text.as_bytes()).is_ok()
}

impl types::HostOutgoingRequest for Host {
    fn new(&mut self, headers: Resource<Fields>) -> Result<Resource<OutgoingRequest>> {
        let headers = self.table.delete(headers)?.into_entries();
        let method = Method::Get;
        let (path, scheme, authority, body) = (None, None, None, None);
        self.push(OutgoingRequest { method, path, scheme, authority, headers, body })
    }

    fn body(
        &mut self,
        request: Resource<OutgoingRequest>,
    ) -> Result<Result<Resource<OutgoingBody>, ()>> {
        let kept = self.budget.begin();
        let request = self.table.get_mut(&request)?;
        let Ok(length) = request.headers.content_length() else { return Ok(Err(())) };
        if request.body.is_some() {
            return Ok(Err(()));
        }
        let (to, from) = channel();
        request.body = Some(from);
        let content = Mutex::new(Some(Content { bytes: Vec::new(), kept }));
        let written = Arc::new(Written { content, length });
        self.push(OutgoingBody { written, has_stream: false, to }).map(Ok)
    }

    fn method(&mut self, request: Resource<OutgoingRequest>) -> Result<Method> {
        Ok(self.table.get(&request)?.method.clone())
    }

    fn set_method(
        &mut self,
        request: Resource<OutgoingRequest>,
        method: Method,
    ) -> Result<Result<(), ()>> {
        if let Method::Other(name) = &method
            && !is_valid(Some(name), is_token)
        {
            return Ok(Err(()));
        }
        self.table.get_mut(&request)?.method = method;
        Ok(Ok(()))
    }

    fn path_with_query(&mut self, request: Resource<OutgoingRequest>) -> Result<Option<String>> {
        Ok(self.table.get(&request)?.path.clone())
    }

    fn set_path_with_query(
        &mut self,
        request: Resource<OutgoingRequest>,
        path: Option<String>,
    ) -> Result<Result<(), ()>> {
        let is_path = |text: &str| PathAndQuery::try_from(text).is_ok();
        if !is_valid(path.as_ref(), is_path) {
            return Ok(Err(()));
        }
        self.table.get_mut(&request)?.path = path;
        Ok(Ok(()))
    }

    fn scheme(&mut self, request: Resource<OutgoingRequest>) -> Result<Option<Scheme>> {
        Ok(self.table.get(&request)?.scheme.clone())
    }

    fn set_scheme(
        &mut self,
        request: Resource<OutgoingRequest>,
        scheme: Option<Scheme>,
    ) -> Result<Result<(), ()>> {
        if let Some(Scheme::Other(name)) = &scheme
            && !is_valid(Some(name), |text| ureq::http::uri::Scheme::try_from(text).is_ok())
        {
            return Ok(Err(()));
        }
        self.table.get_mut(&request)?.scheme = scheme;
        Ok(Ok(()))
    }

    fn authority(&mut self, request: Resource<OutgoingRequest>) -> Result<Option<String>> {
        Ok(self.table.get(&request)?.authority.clone())
    }

    fn set_authority(
        &mut self,
        request: Resource<OutgoingRequest>,
        authority: Option<String>,
    ) -> Result<Result<(), ()>> {
        if !is_valid(authority.as_ref(), |text| Authority::try_from(text).is_ok()) {
            return Ok(Err(()));
        }
        self.table.get_mut(&request)?.authority = authority;
        Ok(Ok(()))
    }

    fn headers(&mut self, request: Resource<OutgoingRequest>) -> Result<Resource<Fields>> {
        let headers = Arc::clone(&self.table.get(&request)?.headers);
        self.push(Fields::immutable(headers))
    }

    fn drop(&mut self, request: Resource<OutgoingRequest>) -> Result<()> {
        self.table.delete(request)?;
        Ok(())
    }
}

impl types::HostRequestOptions for Host {
    fn new(&mut self) -> Result<Resource<Options>> {
        self.push(Options::default())
    }

    fn connect_timeout(&mut self, options: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&options)?.connect)
    }

    fn set_connect_timeout(
        &mut self,
        options: Resource<Options>,
        duration: Option<u64>,
    ) -> Result<Result<(), ()>> {
        self.table.get_mut(&options)?.connect = duration;
        Ok(Ok(()))
    }

    fn first_byte_timeout(&mut self, options: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&options)?.first_byte)
    }

    fn set_first_byte_timeout(
        &mut self,
        options: Resource<Options>,
        duration: Option<u64>,
    ) -> Result<Result<(), ()>> {
        self.table.get_mut(&options)?.first_byte = duration;
        Ok(Ok(()))
    }

    fn between_bytes_timeout(&mut self, options: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&options)?.between_bytes)
    }

    fn set_between_bytes_timeout(
        &mut self,
        options: Resource<Options>,
        duration: Option<u64>,
    ) -> Result<Result<(), ()>> {
        self.table.get_mut(&options)?.between_bytes = duration;
        Ok(Ok(()))
    }

    fn drop(&mut self, options: Resource<Options>) -> Result<()> {
        self.table.delete(options)?;
        Ok(())
    }
}

impl types::HostOutgoingBody for Host {
    fn write(
        &mut self,
        body: Resource<OutgoingBody>,
    ) -> Result<Result<Resource<OutputStream>, ()>> {
        let body = self.table.get_mut(&body)?;
        if std::mem::replace(&mut body.has_stream, true) {
            return Ok(Err(()));
        }
        let stream = OutputStream::Body(Arc::clone(&body.written));
        self.push(stream).map(Ok)
    }

    fn finish(
        &mut self,
        body: Resource<OutgoingBody>,
        trailers: Option<Resource<Fields>>,
    ) -> Result<(), HttpFault> {
        let OutgoingBody { written, to, .. } = self.table.delete(body)?;
        if let Some(trailers) = trailers
            && !self.table.delete(trailers)?.into_entries().is_empty()
        {
            // A body is whole and says its length: after it there is no room for more headers.
            let why = "trailers cannot be sent".to_owned();
            return Err(HttpFault::Code(ErrorCode::InternalError(Some(why))));
        }
        let Some(content) = written.content().take() else { return Ok(()) };
        let length = content.bytes.len() as u64;
        if written.length.is_some_and(|said| said != length) {
            return Err(HttpFault::Code(ErrorCode::HttpRequestBodySize(Some(length))));
        }
        // The request may be given up already.
        let _unheard = to.send(content);
        Ok(())
    }

    fn drop(&mut self, body: Resource<OutgoingBody>) -> Result<()> {
        self.table.delete(body)?;
        Ok(())
    }
}

/// A method, a scheme, an authority or a path: a handle holds one of each.
const LONGEST_TEXT: usize = 8 << 10;
