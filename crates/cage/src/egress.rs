//! How connections of a cage leave this machine: the user's `[network]`, with what it takes from the
//! caller's environment. Only the user's own configuration says so, never a project's file.

use std::ffi::OsString;
use std::net::SocketAddr;

use gate::settings::{Proxy as GateProxy, Settings};
use policy::{NetworkSettings, Proxy, ProxyAddress};

#[cfg(test)]
mod tests;

/// What the gatekeeper is told beside the Plan.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// Servers that are asked about names; empty for those of the host.
    pub resolvers: Vec<SocketAddr>,
    /// The rest.
    pub settings: Settings,
}

/// The environment names a proxy that cannot be used. Its value may hold a password, so it is not
/// repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{variable}` cannot be used as the proxy: {problem}")]
pub struct EgressError {
    /// The variable.
    pub variable: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl Egress {
    /// Takes the proxy of the environment where the user wants that one.
    pub fn new(
        configured: &NetworkSettings,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, EgressError> {
        let NetworkSettings { resolvers, proxy, log_allowed_per_million } = configured;
        let proxy = match proxy {
            Proxy::None => None,
            Proxy::At(address) => Some(address.clone()),
            Proxy::Environment => of_environment(variable)?,
        };
        let proxy = proxy.map(|address| GateProxy {
            host: address.host.to_string(),
            port: address.port,
            authorization: address.authorization(),
        });
        let log_allowed = f64::from(*log_allowed_per_million) / 1e6;
        Ok(Self { resolvers: resolvers.clone(), settings: Settings { proxy, log_allowed } })
    }
}

/// The variables in the order in which most programs take them for connections to anywhere. The one
/// in lower case comes first, because it cannot be set by an HTTP header (as `HTTP_PROXY` could be in
/// a CGI program).
fn of_environment(
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<ProxyAddress>, EgressError> {
    let set = VARIABLES.into_iter().find_map(|name| {
        let value = lookup(name).filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let Some((variable, value)) = set else { return Ok(None) };
    let refused = |problem: String| EgressError { variable, problem };
    let text = value.to_str().ok_or_else(|| refused("it is not text".to_owned()))?;
    ProxyAddress::parse(text).map(Some).map_err(|problem| refused(problem.to_string()))
}

const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];
