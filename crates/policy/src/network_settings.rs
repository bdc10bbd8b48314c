//! How this machine reaches the network, as the user's own configuration says it: plain data for
//! whoever starts the gatekeeper. Never part of a Plan, and nothing that a project's file could say.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::host_names;
use crate::net::Name;

/// `[network]` of the user's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Servers that are asked about names, in this order; empty for those of the host.
    pub resolvers: Vec<SocketAddr>,
    /// How connections leave.
    pub proxy: Proxy,
    /// How many of a million allowed connections are recorded; all refused ones are.
    pub log_allowed_per_million: u32,
}

/// How connections leave this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxy {
    /// Directly.
    #[default]
    None,
    /// As `HTTPS_PROXY` or `HTTP_PROXY` of the caller say.
    Environment,
    /// Through this one.
    At(ProxyAddress),
}

/// An HTTP proxy that takes `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAddress {
    /// Where it is.
    pub host: ProxyHost,
    /// Its port.
    pub port: u16,
    /// User name and password, where it wants them.
    pub credentials: Option<(String, String)>,
}

/// Where a proxy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyHost {
    /// At an address.
    Address(IpAddr),
    /// At whatever address the name has.
    Name(Name),
}

/// Why a text is not the address of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// `https://`, `socks5://` and the like.
    #[error("only an `http://` proxy can be used")]
    Scheme,
    /// No port.
    #[error("the proxy's port is missing")]
    NoPort,
    /// A port that is none.
    #[error("the proxy's port is not a number from 1 to 65535")]
    BadPort,
    /// Neither a name nor an address.
    #[error("the proxy's host is neither a name nor an address")]
    BadHost,
    /// A user name without a password, a control character, or a wrong `%`.
    #[error("the user name and the password cannot be read")]
    BadCredentials,
    /// Something after the port.
    #[error("the proxy's address goes on after its port")]
    Trailing,
}

impl ProxyAddress {
    /// Reads `http://[USER:PASSWORD@]HOST:PORT`, with or without the scheme and a final slash, as
    /// variables such as `HTTPS_PROXY` have it.
    pub fn parse(text: &str) -> Result<Self, ProxyError> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(ProxyError::Scheme),
            None => text,
        };
        let (credentials, place) = match rest.rsplit_once('@') {
            Some((credentials, place)) => (Some(read_credentials(credentials)?), place),
            None => (None, rest),
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '?', '#']) {
            return Err(ProxyError::Trailing);
        }
        let (host, port) = place.rsplit_once(':').ok_or(ProxyError::NoPort)?;
        let decimal = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| decimal).ok_or(ProxyError::BadPort)?;
        Ok(Self { host: read_host(host)?, port, credentials })
    }

    /// The value of `Proxy-Authorization`, where the proxy wants one (RFC 7617).
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = self.credentials.as_ref()?;
        Some(format!("Basic {}", base64(format!("{user}:{password}").as_bytes())))
    }
}

impl fmt::Display for ProxyHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(formatter),
            Self::Name(name) => name.fmt(formatter),
        }
    }
}

fn read_host(text: &str) -> Result<ProxyHost, ProxyError> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let inner = bracketed.strip_suffix(']').and_then(|inner| inner.parse().ok());
        return inner.map(|v6| ProxyHost::Address(IpAddr::V6(v6))).ok_or(ProxyError::BadHost);
    }
    if let Ok(address) = text.parse() {
        return Ok(ProxyHost::Address(IpAddr::V4(address)));
    }
    host_names::name(text).map(ProxyHost::Name).map_err(|_| ProxyError::BadHost)
}

fn read_credentials(text: &str) -> Result<(String, String), ProxyError> {
    let (user, password) = text.split_once(':').ok_or(ProxyError::BadCredentials)?;
    Ok((percent_decoded(user)?, percent_decoded(password)?))
}

/// A part of a URL as it is meant. Control characters would end the header that it is sent in.
fn percent_decoded(text: &str) -> Result<String, ProxyError> {
    let bad = ProxyError::BadCredentials;
    let mut decoded = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    decoded.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or(bad)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad);
        }
        decoded.push(u8::from_str_radix(digits, 16).map_err(|_| bad)?);
        decoded.extend_from_slice(rest.as_bytes());
    }
    let decoded = String::from_utf8(decoded).map_err(|_| bad)?;
    if decoded.chars().any(char::is_control) { Err(bad) } else { Ok(decoded) }
}

/// Three bytes as four characters (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            let index = (group >> (18 - 6 * position)) & 63;
            let letter = usize::try_from(index).ok().and_then(|index| BASE64.get(index));
            text.push(if position <= chunk.len() {
                letter.map_or('=', |it| char::from(*it))
            } else {
                '='
            });
        }
    }
    text
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl fmt::Display for ProxyAddress {
    /// Without user name and password: it is shown to people and written to logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ProxyHost::Address(IpAddr::V6(address)) => {
                write!(formatter, "[{address}]:{}", self.port)
            }
            host => write!(formatter, "{host}:{}", self.port),
        }
    }
}

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = self.credentials.as_ref().map(|_| "(not shown)");
        formatter
            .debug_struct("ProxyAddress")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("credentials", &credentials)
            .finish()
    }
}

#[cfg(test)]
mod tests;
