//! What a person is told about how connections of a cage leave this machine.

use plan::{NetworkPlan, Plan};

use crate::message::Messages;

pub(crate) use cage::Egress;

/// Tells who looks at a cage with network what else decides about its connections.
pub(crate) fn tell(egress: &Egress, plan: &Plan, messages: Messages) {
    if plan.walls.network == NetworkPlan::Loopback {
        return;
    }
    if let Some(proxy) = &egress.settings.proxy {
        let (host, port) = (&proxy.host, proxy.port);
        messages.note(&format!("connections leave through the proxy `{host}`, port {port}"));
    }
    if !egress.resolvers.is_empty() {
        let resolvers: Vec<String> =
            egress.resolvers.iter().map(|address| format!("`{address}`")).collect();
        messages.note(&format!("names are asked of {}", resolvers.join(", ")));
    }
}
