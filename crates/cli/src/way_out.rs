//! What a person is told about how connections of a cage leave this machine.

use plan::{NetworkPlan, Plan};

use crate::message::Messages;

pub(crate) use cage::WayOut;

/// Tells who looks at a cage with network what else decides about its connections.
pub(crate) fn tell(way_out: &WayOut, plan: &Plan, messages: Messages) {
    if plan.walls.network == NetworkPlan::Loopback {
        return;
    }
    if let Some(proxy) = &way_out.settings.proxy {
        let (host, port) = (&proxy.host, proxy.port);
        messages.note(&format!("connections leave through the proxy `{host}`, port {port}"));
    }
    if !way_out.resolvers.is_empty() {
        let resolvers: Vec<String> =
            way_out.resolvers.iter().map(|address| format!("`{address}`")).collect();
        messages.note(&format!("names are asked of {}", resolvers.join(", ")));
    }
}
