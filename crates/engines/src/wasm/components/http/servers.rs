//! What `wasi:http/types` has for servers: names without anything behind them. A component never has such a handle, and whoever
//! asks for one is ended.

use wasmtime::component::Resource;
use wasmtime::{Error, Result};

use super::super::codes::HttpFault;
use super::super::host::Host;
use super::bindings::wasi::http::types::{self, ErrorCode, Method, Scheme};
use super::fields::Fields;
use super::incoming::IncomingBody;
use super::outgoing::OutgoingBody;

/// A handle that nobody has.
#[derive(Debug)]
pub enum Nothing {}

fn refused<T>() -> Result<T> {
    Err(Error::msg("a component cannot serve requests over HTTP here"))
}

impl types::HostIncomingRequest for Host {
    fn method(&mut self, _: Resource<Nothing>) -> Result<Method> {
        refused()
    }

    fn path_with_query(&mut self, _: Resource<Nothing>) -> Result<Option<String>> {
        refused()
    }

    fn scheme(&mut self, _: Resource<Nothing>) -> Result<Option<Scheme>> {
        refused()
    }

    fn authority(&mut self, _: Resource<Nothing>) -> Result<Option<String>> {
        refused()
    }

    fn headers(&mut self, _: Resource<Nothing>) -> Result<Resource<Fields>> {
        refused()
    }

    fn consume(&mut self, _: Resource<Nothing>) -> Result<Result<Resource<IncomingBody>, ()>> {
        refused()
    }

    fn drop(&mut self, _: Resource<Nothing>) -> Result<()> {
        refused()
    }
}

impl types::HostResponseOutparam for Host {
    fn send_informational(
        &mut self,
        _: Resource<Nothing>,
        _: u16,
        _: Resource<Fields>,
    ) -> Result<(), HttpFault> {
        Ok(refused()?)
    }

    fn set(&mut self, _: Resource<Nothing>, _: Result<Resource<Nothing>, ErrorCode>) -> Result<()> {
        refused()
    }

    fn drop(&mut self, _: Resource<Nothing>) -> Result<()> {
        refused()
    }
}

impl types::HostOutgoingResponse for Host {
    fn new(&mut self, _: Resource<Fields>) -> Result<Resource<Nothing>> {
        refused()
    }

    fn status_code(&mut self, _: Resource<Nothing>) -> Result<u16> {
        refused()
    }

    fn set_status_code(&mut self, _: Resource<Nothing>, _: u16) -> Result<Result<(), ()>> {
        refused()
    }

    fn headers(&mut self, _: Resource<Nothing>) -> Result<Resource<Fields>> {
        refused()
    }

    fn body(&mut self, _: Resource<Nothing>) -> Result<Result<Resource<OutgoingBody>, ()>> {
        refused()
    }

    fn drop(&mut self, _: Resource<Nothing>) -> Result<()> {
        refused()
    }
}
