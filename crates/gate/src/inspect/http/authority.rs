//! `host` or `host:port` as HTTP writes it. Refuses a user name, an empty host and every port that is
//! not a plain number; the host itself is normalised where all hosts are.

use std::fmt;

use super::HttpError;
use crate::decision::Target;

/// A host and, if it was given, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The host.
    pub target: Target,
    /// The port, if it was written.
    pub port: Option<u16>,
}

impl Authority {
    /// Reads an authority. An IPv6 address has to be in brackets.
    pub fn parse(text: &[u8]) -> Result<Self, HttpError> {
        let end_of_host = if text.first() == Some(&b'[') {
            text.iter().position(|byte| *byte == b']').map_or(text.len(), |end| end + 1)
        } else {
            text.iter().position(|byte| *byte == b':').unwrap_or(text.len())
        };
        let (host, rest) = text.split_at_checked(end_of_host).unwrap_or((text, &[]));
        let port = match rest.split_first() {
            None => None,
            Some((b':', digits)) => Some(port(digits)?),
            Some(_) => return Err(bad("something follows the address")),
        };
        let target = Target::parse(host).map_err(|denial| HttpError::BadHost(denial.reason))?;
        Ok(Self { target, port })
    }

    /// The port, or the one that is meant where none is written.
    pub fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Address(address) if address.is_ipv6() => write!(formatter, "[{address}]")?,
            target => write!(formatter, "{target}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

fn port(digits: &[u8]) -> Result<u16, HttpError> {
    let plain = (1..=5).contains(&digits.len())
        && digits.iter().all(u8::is_ascii_digit)
        && digits.first() != Some(&b'0');
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| bad("the port is not a number from 1 to 65535"))
}

fn bad(why: &str) -> HttpError {
    HttpError::BadHost(why.to_owned())
}
