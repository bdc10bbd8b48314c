//! What the user's configuration says about the way out. Never part of a Plan, and never taken from
//! a project's file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the gatekeeper reaches the world on behalf of one cage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// A proxy that everything goes through. It looks names up by itself.
    pub proxy: Option<Proxy>,
    /// Which share of allowed connections and names is told as an event, from 0 to 1.
    pub log_allowed: f64,
}

/// An HTTP proxy outside.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The authorization is a password.
        write!(formatter, "Proxy({}:{})", self.host, self.port)
    }
}
