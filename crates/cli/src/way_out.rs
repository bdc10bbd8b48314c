//! How connections of a cage leave this machine: the user's `[network]`, with what it takes from the
//! caller's environment. Only the user's own configuration says so, never a project's file.

use std::ffi::OsString;
use std::net::SocketAddr;

use gate::settings::{Proxy as GateProxy, Settings};
use plan::{NetworkPlan, Plan};
use policy::{NetworkSettings, Proxy, ProxyAddress};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

#[cfg(test)]
mod tests;

/// What the gatekeeper is told beside the Plan.
#[derive(Debug)]
pub(crate) struct WayOut {
    /// Servers that are asked about names; empty for those of the host.
    pub(crate) resolvers: Vec<SocketAddr>,
    /// The rest.
    pub(crate) settings: Settings,
}

impl WayOut {
    /// Takes the proxy of the environment where the user wants that one.
    pub(crate) fn new(
        configured: &NetworkSettings,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Failure> {
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

    /// Tells who looks at a cage with network what else decides about its connections.
    pub(crate) fn tell(&self, plan: &Plan, messages: Messages) {
        if plan.network == NetworkPlan::Loopback {
            return;
        }
        if let Some(proxy) = &self.settings.proxy {
            let (host, port) = (&proxy.host, proxy.port);
            messages.note(&format!("connections leave through the proxy `{host}`, port {port}"));
        }
        if !self.resolvers.is_empty() {
            let resolvers: Vec<String> =
                self.resolvers.iter().map(|address| format!("`{address}`")).collect();
            messages.note(&format!("names are asked of {}", resolvers.join(", ")));
        }
    }
}

/// The variables in the order in which most programs take them for connections to anywhere. The one
/// in lower case comes first, because it cannot be set by an HTTP header (as `HTTP_PROXY` could be in
/// a CGI program).
fn of_environment(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<ProxyAddress>, Failure> {
    let set = VARIABLES.iter().find_map(|name| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let Some((name, value)) = set else { return Ok(None) };
    // The value may hold a password, so it is not repeated.
    let refused = |problem: String| {
        Failure::new(Exit::BadPolicy, format!("`{name}` cannot be used as the proxy: {problem}"))
            .help("your configuration has `proxy = \"environment\"` in `[network]`")
    };
    let text = value.to_str().ok_or_else(|| refused("it is not text".to_owned()))?;
    ProxyAddress::parse(text).map(Some).map_err(|problem| refused(problem.to_string()))
}

const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];
