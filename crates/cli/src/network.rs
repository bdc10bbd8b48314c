//! What became of a cage's network, for a person in a few lines and for a program as data.

use std::net::IpAddr;

use cage::{NetworkEnd, NetworkOutcome};
use gate::account::DeniedTarget;
use gate::event::Way;
use policy::shown::shown;
use serde::Serialize;

use crate::message::Messages;

/// The network in the result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct NetworkResult {
    /// Connections made.
    allowed: u64,
    /// Connections, questions about names and datagrams refused.
    denied: u64,
    bytes_in: u64,
    bytes_out: u64,
    /// By target, most frequent first.
    denials: Vec<Denied>,
    /// Refusals of targets that are not listed, because there were too many.
    unlisted_denials: u64,
    /// Which resolvers did not answer.
    upstream_unreachable: Option<String>,
    /// Whether the gatekeeper ended before the cage, which had no network from then on.
    gatekeeper_gone: bool,
}

#[derive(Debug, Serialize)]
struct Denied {
    target: String,
    port: Option<u16>,
    count: u64,
    code: Option<String>,
    rule: Option<String>,
    reason: String,
    way: Option<Way>,
}

impl From<&NetworkOutcome> for NetworkResult {
    fn from(outcome: &NetworkOutcome) -> Self {
        let NetworkOutcome { end, account, upstream_unreachable } = outcome;
        let counters = account.counters;
        Self {
            allowed: counters.tcp_allowed,
            denied: counters.tcp_denied + counters.dns_denied + counters.udp_denied,
            bytes_in: counters.bytes_in,
            bytes_out: counters.bytes_out,
            denials: account.denials.iter().map(Denied::from).collect(),
            unlisted_denials: account.unlisted_denials,
            upstream_unreachable: upstream_unreachable.clone(),
            gatekeeper_gone: *end == NetworkEnd::GatekeeperGone,
        }
    }
}

impl From<&DeniedTarget> for Denied {
    fn from(denied: &DeniedTarget) -> Self {
        let DeniedTarget { target, port, rule, code, reason, way, count } = denied.clone();
        Self { target, port, count, code, rule, reason, way }
    }
}

/// Tells a person what was refused, and what would allow it.
pub(crate) fn tell(outcome: &NetworkOutcome, messages: Messages) {
    if outcome.end == NetworkEnd::GatekeeperGone {
        messages.warning(
            "the network's gatekeeper ended before the program did, which had no network from then on",
        );
    }
    if let Some(tried) = &outcome.upstream_unreachable {
        messages.warning(&format!("names could not be looked up: {}", shown(tried)));
    }
    let account = &outcome.account;
    for denied in account.denials.iter().take(MOST_TOLD) {
        messages.note(&line(denied));
    }
    let untold = account.denials.len().saturating_sub(MOST_TOLD);
    if untold > 0 || account.unlisted_denials > 0 {
        let more = if account.unlisted_denials > 0 { "more than " } else { "" };
        messages.note(&format!(
            "{more}{untold} other targets on the network were refused too; `--json` lists them"
        ));
    }
}

/// One target in one line.
fn line(denied: &DeniedTarget) -> String {
    let target = shown(with_port(&denied.target, denied.port));
    let reason = shown(&denied.reason);
    let allowing = match (&denied.rule, denied.code.as_deref(), denied.port) {
        (None, Some("not_allowed" | "port_not_allowed"), Some(port)) if is_own(&denied.target) => {
            format!("; `--host-port {port}` leads to that port of the host")
        }
        (None, Some("not_allowed" | "port_not_allowed"), _) => {
            format!("; `--net {target}` would allow it")
        }
        _ => String::new(),
    };
    format!("refused `{target}` ×{}: {reason}{allowing}", denied.count)
}

/// Whether a target is the loopback of whoever names it, which no entry can lead out of a cage.
fn is_own(target: &str) -> bool {
    let is_loopback = target.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || target == "localhost" || target.ends_with(".localhost")
}

fn with_port(target: &str, port: Option<u16>) -> String {
    match port {
        Some(port) if target.contains(':') => format!("[{target}]:{port}"),
        Some(port) if port > 0 => format!("{target}:{port}"),
        _ => target.to_owned(),
    }
}

const MOST_TOLD: usize = 5;

#[cfg(test)]
mod tests;
