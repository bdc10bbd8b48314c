//! The address of a provider: scheme, host, port and the path that everything at it begins with. Never holds a user or
//! a password: keys come from elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

/// Where a provider is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Empty, or begins with a slash and does not end with one.
    pub(crate) path: String,
}

/// Why an address is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is no address of a model: {why}")]
pub struct UrlError {
    text: String,
    why: &'static str,
}

impl UrlError {
    pub(crate) fn new(text: &str, why: &'static str) -> Self {
        Self { text: text.chars().take(200).collect(), why }
    }

    /// The same of an address that is no model's.
    pub fn why_no_page(&self) -> String {
        format!("`{}` is no address: {}", self.text.escape_debug(), self.why)
    }
}

impl BaseUrl {
    /// Whether it is this machine itself.
    pub fn is_loopback(&self) -> bool {
        let plain = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host == "localhost"
            || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The path of something at it. A base that ends in `/v1` already is not given another one.
    pub(crate) fn path_of(&self, path: &str) -> String {
        let path = match self.path.ends_with("/v1") {
            true => path.strip_prefix("/v1").unwrap_or(path),
            false => path,
        };
        format!("{}{path}", self.path)
    }

    /// What a request calls it.
    pub(crate) fn authority(&self) -> String {
        match (self.is_tls, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    /// The host as a look-up takes it.
    pub(crate) fn plain_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl FromStr for BaseUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let error = |why| UrlError { text: text.chars().take(200).collect(), why };
        let (is_tls, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(error("it begins with neither `https://` nor `http://`")),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(error("it names a user; keys are given by `--key`"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (
                host,
                port.parse()
                    .ok()
                    .filter(|port| *port != 0)
                    .ok_or_else(|| error("its port is no number"))?,
            ),
            _ => (authority, if is_tls { 443 } else { 80 }),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match in_brackets {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.len() <= 253 && host.bytes().all(is_name),
        };
        if !is_host {
            return Err(error("its host is no name and no address"));
        }
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%:@".contains(&byte);
        if !path.bytes().all(is_path) || path.split('/').any(|part| part == "..") {
            return Err(error("its path has characters that it may not have"));
        }
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self { is_tls, host: host.to_ascii_lowercase(), port, path })
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests;
