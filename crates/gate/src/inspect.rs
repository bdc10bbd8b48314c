//! What a client's bytes say about where it wants to go, and whether that is where its connection was
//! allowed to go. Parsers of what comes from inside a cage: each takes bytes as they arrive, in any
//! split, keeps a bounded amount of them and never panics.

pub mod client_hello;
mod first_bytes;
pub mod http;
pub mod socks;

use plan::destination::Name;

pub use first_bytes::{Classifier, FirstBytes};

use crate::decision::{Denial, DenialCode, Target};
use client_hello::Hello;
use http::{Form, RequestHead};

/// Whether a TLS client names the server that its connection was made to.
///
/// A connection to a name has to say that name: without one, or with another, a server that holds many
/// names would serve one that nobody allowed.
pub fn check_server_name(expected: &Name, hello: &Hello) -> Result<(), Denial> {
    match hello {
        Hello::Sni(name) if name == expected => Ok(()),
        Hello::Sni(name) => Err(Denial::new(
            DenialCode::ServerNameDiffers,
            format!("the connection is for `{expected}`, but its TLS server name is `{name}`"),
        )),
        Hello::NoSni => Err(Denial::new(
            DenialCode::ServerNameMissing,
            format!("the connection is for `{expected}`, but TLS names no server"),
        )),
        Hello::Malformed(error) => Err(Denial::new(DenialCode::TlsMalformed, error.to_string())),
        Hello::NeedMore | Hello::NotTls => {
            Err(Denial::new(DenialCode::TlsMalformed, "the first TLS message is not complete"))
        }
    }
}

/// Whether an HTTP request is for the host that its connection was made to. Holds for every request of
/// a connection. A port may be left out; if it is there it has to agree.
///
/// `CONNECT` on such a connection would make a proxy out of an allowed server, and is refused.
pub fn check_request(expected: &Name, port: u16, head: &RequestHead) -> Result<(), Denial> {
    if matches!(head.form, Form::Authority { .. }) {
        return Err(Denial::new(
            DenialCode::HttpRefused,
            format!("a tunnel through `{expected}` is asked for with CONNECT"),
        ));
    }
    let same_host = head.host.target == Target::Name(expected.clone());
    if same_host && head.host.port_or(port) == port {
        return Ok(());
    }
    let found = &head.host;
    Err(Denial::new(
        DenialCode::HostDiffers,
        format!("the connection is for `{expected}:{port}`, but its HTTP request for `{found}`"),
    ))
}

#[cfg(test)]
mod tests;
