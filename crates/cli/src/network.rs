//! What became of a cage's network, for a person in a few lines.

use std::net::IpAddr;

use cage::{NetworkEnd, NetworkOutcome};
use gate::account::DeniedTarget;
use policy::shown::shown;

use crate::message::Messages;

/// Tells a person what was refused, and what would allow it.
pub(crate) fn tell(outcome: &NetworkOutcome, messages: Messages) {
    match outcome.end {
        NetworkEnd::NeverBegun | NetworkEnd::WithCage => {}
        NetworkEnd::Unreported => messages.warning(
            "the network's gatekeeper has not said in time what went through and what was refused",
        ),
        NetworkEnd::GatekeeperGone => messages.warning(
            "the network's gatekeeper ended before the program did, which had no network from then on",
        ),
    }
    if let Some(tried) = &outcome.upstream_unreachable {
        messages.warning(&format!("names could not be looked up: {}", shown(tried)));
    }
    let account = &outcome.account;
    if account.out_of_descriptors > 0 {
        messages.warning(&format!(
            "{} connections or names had to wait or came to nothing: each open connection takes two \
             descriptors of the gatekeeper, and there were no more for this cage; raise the hard limit \
             (`ulimit -Hn`)",
            account.out_of_descriptors
        ));
    }
    for denied in account.denials.iter().take(MOST_TOLD) {
        messages.note(&line(denied));
    }
    let untold = account.denials.len().saturating_sub(MOST_TOLD);
    if untold > 0 || account.unlisted_denials > 0 {
        let targets = match (untold, account.unlisted_denials) {
            (1, 0) => "1 other target on the network was".to_owned(),
            (_, 0) => format!("{untold} other targets on the network were"),
            _ => format!("more than {untold} other targets on the network were"),
        };
        messages.note(&format!("{targets} refused too; `--json` lists them"));
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
