//! A hint, a grant or an argument that names a host, from its text to destinations: a name, a
//! pattern, or a URL of which the host and the port are taken. Never looks a name up.

use std::num::NonZeroU16;

use policy::host_names;
use policy::net::{Destination, DestinationError, Ports};

/// Reads what a capability of this mode may reach: one destination, or one for each of its ports.
pub fn read(mode: &str, written: &str) -> Result<Vec<Destination>, HostError> {
    let (scheme, host) = split_scheme(written)?;
    let destination = host_names::destination(host).map_err(HostError::Destination)?;
    if destination.is_every_address() {
        return Err(HostError::Destination(DestinationError::EveryHost));
    }
    if mode == "https" && scheme == Some(HTTP) {
        return Err(HostError::NotHttps);
    }
    if destination.ports() != Ports::ALL {
        return Ok(vec![destination]);
    }
    let ports = scheme.map_or_else(|| default_ports(mode), |port| Some(vec![port]));
    let ports = ports.ok_or(HostError::NoPort)?;
    Ok(on_ports(&destination, &ports))
}

/// Every name on the ports that this mode has without any hint.
pub fn whole_network(mode: &str) -> Vec<Destination> {
    let ports = default_ports(mode).unwrap_or_default();
    on_ports(&Destination::every_name(), &ports)
}

/// Why a text names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It is no entry of the network's grammar.
    #[error("{0}")]
    Destination(DestinationError),
    /// Another scheme than the two.
    #[error("only `http` and `https` are taken as schemes")]
    Scheme,
    /// A URL of `http` for `network:https`.
    #[error("`network:https` has no plain `http`")]
    NotHttps,
    /// `network:tcp` without a port.
    #[error("the port is missing")]
    NoPort,
}

impl HostError {
    /// What to write instead, where that is known.
    pub fn help(&self) -> String {
        match self {
            Self::Destination(DestinationError::EveryHost) => {
                "for the whole network declare `network:*` without hints; the caller has to grant it"
                    .to_owned()
            }
            Self::Destination(error) => error.hint().unwrap_or_default(),
            Self::Scheme | Self::NotHttps => {
                "write the host and its port, such as `example.com:22`".to_owned()
            }
            Self::NoPort => "write it as in `example.com:22`".to_owned(),
        }
    }
}

/// The port that the scheme stands for, and the host with its own port.
fn split_scheme(written: &str) -> Result<(Option<NonZeroU16>, &str), HostError> {
    let Some((scheme, rest)) = written.split_once("://") else { return Ok((None, written)) };
    let port = match scheme.to_ascii_lowercase().as_str() {
        "http" => HTTP,
        "https" => HTTPS,
        _ => return Err(HostError::Scheme),
    };
    // A backslash is a slash to some readers of URLs, and part of the host to others.
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (host, after) = rest.split_at(end);
    if after.starts_with('\\') {
        return Err(HostError::Destination(DestinationError::Url));
    }
    Ok((Some(port), host))
}

/// None where a port has to be named; an empty list stands for all.
fn default_ports(mode: &str) -> Option<Vec<NonZeroU16>> {
    match mode {
        "http" => Some(vec![HTTP, HTTPS]),
        "https" => Some(vec![HTTPS]),
        "*" => Some(Vec::new()),
        _ => None,
    }
}

fn on_ports(destination: &Destination, ports: &[NonZeroU16]) -> Vec<Destination> {
    match ports {
        [] => vec![destination.clone()],
        ports => ports.iter().map(|port| destination.on_port(*port)).collect(),
    }
}

const HTTP: NonZeroU16 = NonZeroU16::new(80).unwrap();
const HTTPS: NonZeroU16 = NonZeroU16::new(443).unwrap();

#[cfg(test)]
mod tests;
