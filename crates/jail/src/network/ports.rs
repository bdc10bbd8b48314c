//! The ports that are listened on where there are no packet rules. Pure: a list of rules becomes a
//! list of ports, or the reason why it cannot.

use plan::GatekeeperPlan;
use plan::destination::Hosts;
use plan::network::{HTTP_PROXY_PORT, SOCKS_PORT, TRANSPARENT_PORT};

#[cfg(test)]
mod tests;

/// Ports of loopback on which the gatekeeper itself is reached.
pub(super) const OF_THE_GATEKEEPER: [u16; 4] =
    [DNS_PORT, SOCKS_PORT, HTTP_PROXY_PORT, TRANSPARENT_PORT];

/// Every port that some rule allows, ascending. A listener takes the port of every address, so each
/// rule must name few ports, and none that means something else on loopback.
pub(super) fn listened(plan: &GatekeeperPlan) -> Result<Vec<u16>, String> {
    let mut listened = Vec::new();
    for rule in &plan.allow {
        let ports = rule.ports();
        if ports.last() - ports.first() >= MOST_PORTS_OF_A_RULE {
            return Err(format!(
                "without it `{rule}` cannot be held: name its ports, as in `{}`",
                with_port(rule.hosts())
            ));
        }
        listened.extend(ports.first()..=ports.last());
    }
    listened.sort_unstable();
    listened.dedup();
    let taken = |port: &&u16| OF_THE_GATEKEEPER.contains(port) || plan.host_ports.contains(port);
    if let Some(port) = listened.iter().find(taken) {
        return Err(format!(
            "without it port {port} cannot be both a destination's and one of the cage's loopback"
        ));
    }
    if listened.len() > MOST_PORTS {
        return Err(format!(
            "without it {} ports are too many: {MOST_PORTS} can be held",
            listened.len()
        ));
    }
    Ok(listened)
}

/// The rule's hosts with the port that is most often meant.
fn with_port(hosts: &Hosts) -> String {
    match hosts {
        Hosts::Network(network) if network.network().is_ipv6() => format!("[{hosts}]:443"),
        _ => format!("{hosts}:443"),
    }
}

const DNS_PORT: u16 = 53;
const MOST_PORTS_OF_A_RULE: u16 = 64;
/// One packet takes all sockets, each port has two, and 4 fewer than half are for the others.
const MOST_PORTS: usize = 100;
