//! What a run came to, as data for a program: the same fields in the result of `run` and in the
//! answers of the daemon.

use cage::quarantine::Finding;
use cage::{DeniedCall, NetworkEnd, NetworkOutcome};
use gate::account::DeniedTarget;
use gate::event::Way;
use serde::Serialize;

/// A refused system call.
#[derive(Clone, Debug, Serialize)]
pub struct DeniedCallResult {
    syscall: String,
    count: u64,
    killed: bool,
}

/// What was found after a run, and where it is now.
#[derive(Clone, Debug, Serialize)]
pub struct Quarantined {
    path: String,
    moved_to: Option<String>,
    what: String,
}

/// The network in the result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkResult {
    /// Connections made.
    allowed: u64,
    /// Connections, questions about names and datagrams refused.
    denied: u64,
    bytes_in: u64,
    bytes_out: u64,
    /// By target, most frequent first.
    denials: Vec<DeniedTargetResult>,
    /// Refusals of targets that are not listed, because there were too many.
    unlisted_denials: u64,
    /// Which resolvers did not answer.
    upstream_unreachable: Option<String>,
    /// Whether the gatekeeper ended before the cage, which had no network from then on.
    gatekeeper_gone: bool,
}

#[derive(Clone, Debug, Serialize)]
struct DeniedTargetResult {
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
            denials: account.denials.iter().map(DeniedTargetResult::from).collect(),
            unlisted_denials: account.unlisted_denials,
            upstream_unreachable: upstream_unreachable.clone(),
            gatekeeper_gone: *end == NetworkEnd::GatekeeperGone,
        }
    }
}

impl From<&DeniedTarget> for DeniedTargetResult {
    fn from(denied: &DeniedTarget) -> Self {
        let DeniedTarget { target, port, rule, code, reason, way, count } = denied.clone();
        Self { target, port, count, code, rule, reason, way }
    }
}

impl From<&DeniedCall> for DeniedCallResult {
    fn from(denial: &DeniedCall) -> Self {
        let DeniedCall { name, count, killed } = denial;
        Self { syscall: name.clone(), count: *count, killed: *killed }
    }
}

impl From<&Finding> for Quarantined {
    fn from(finding: &Finding) -> Self {
        let (path, moved_to) = match finding {
            Finding::Quarantined { path, moved_to, .. } => (path, Some(moved_to)),
            Finding::Modified { path, .. }
            | Finding::NotMoved { path, .. }
            | Finding::NotSearched { path, .. } => (path, None),
        };
        Self {
            path: path.to_string(),
            moved_to: moved_to.map(ToString::to_string),
            what: finding.to_string(),
        }
    }
}
