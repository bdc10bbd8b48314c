//! `wasi:http` for clients: requests over the network of this process where the world gives it, which in a cage is the cage's.
//! Elsewhere every one of them is denied. Nobody is ever served: what belongs to servers is there by name alone.

use wasmtime::component::{Component, HasSelf, Linker, Resource};
use wasmtime::{Engine, Result};

use super::codes::{Failed, HeaderFault, HttpFault};
use super::host::Host;
use bindings::LinkOptions;
use bindings::wasi::http::types::{self, ErrorCode, HeaderError};
use bindings::wasi::http::{outgoing_handler, types as interface};

pub(super) mod bindings;
pub(super) mod exchange;
pub(super) mod fields;
mod handler;
pub(super) mod incoming;
pub(super) mod outgoing;
pub(super) mod servers;

/// Whether a component asks for any of it.
pub(super) fn is_imported(engine: &Engine, component: &Component) -> bool {
    let of = component.component_type();
    of.imports(engine).any(|(name, _)| name.starts_with("wasi:http/"))
}

/// What a component can import, and this too.
pub(super) fn beside(linker: &Linker<Host>) -> Result<Linker<Host>> {
    let mut linker = linker.clone();
    // What is not stable yet is left out.
    let options = LinkOptions::default();
    interface::add_to_linker::<_, HasSelf<_>>(&mut linker, &(&options).into(), |host| host)?;
    outgoing_handler::add_to_linker::<_, HasSelf<_>>(&mut linker, |host| host)?;
    Ok(linker)
}

impl types::Host for Host {
    fn convert_error_code(&mut self, fault: HttpFault) -> Result<ErrorCode> {
        fault.code()
    }

    fn convert_header_error(&mut self, fault: HeaderFault) -> Result<HeaderError> {
        fault.code()
    }

    fn http_error_code(&mut self, failed: Resource<Failed>) -> Result<Option<ErrorCode>> {
        Ok(match self.table.get(&failed)? {
            Failed::Request(code) => Some(code.clone()),
            Failed::System(_) => None,
        })
    }
}
