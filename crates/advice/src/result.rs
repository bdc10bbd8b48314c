//! What a run came to, as data for a program: the same fields in the result of `run` and in the
//! answers of the daemon.

use std::time::Duration;

use aftermath::quarantine::Finding;
use cage::{
    ChangeCounts, DeniedCall, NetworkEnd, NetworkOutcome, Observations, PathDenial, Usage,
    WorkspaceOutcome,
};
use gate::account::DeniedTarget;
use gate::event::Route;
use serde::Serialize;

/// A refused system call.
#[derive(Clone, Debug, Serialize)]
pub struct DeniedCallResult {
    syscall: String,
    count: u64,
    killed: bool,
}

/// A path that the program did not get, or several.
#[derive(Clone, Debug, Serialize)]
pub struct PathResult {
    problem: &'static str,
    path: String,
    example: String,
    paths: usize,
    count: u64,
    because: String,
    secret: Option<&'static str>,
    flag: Option<String>,
    explanation: String,
}

impl PathResult {
    /// All that is known of the paths that a program did not get.
    pub fn all(observations: &Observations) -> Vec<Self> {
        observations.denials.iter().map(Self::from).collect()
    }
}

impl From<&PathDenial> for PathResult {
    fn from(denial: &PathDenial) -> Self {
        let PathDenial { path, example, paths, count, problem, because, secret, flag } = denial;
        Self {
            problem: problem.word(),
            path: path.to_string(),
            example: example.to_string(),
            paths: *paths,
            count: *count,
            because: because.clone(),
            secret: *secret,
            flag: flag.clone(),
            explanation: crate::paths::sentence(denial),
        }
    }
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
    /// Connections and questions for which the gatekeeper had no descriptor left.
    out_of_descriptors: u64,
    /// Which resolvers did not answer.
    upstream_unreachable: Option<String>,
    /// Whether the gatekeeper ended before the cage, which had no network from then on.
    gatekeeper_gone: bool,
    /// Whether the gatekeeper has not said in time what went through, of which nothing is known then.
    gatekeeper_silent: bool,
}

#[derive(Clone, Debug, Serialize)]
struct DeniedTargetResult {
    target: String,
    port: Option<u16>,
    count: u64,
    code: Option<String>,
    rule: Option<String>,
    reason: String,
    way: Option<Route>,
}

/// What a program has used, in the result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct UsageResult {
    /// Bytes.
    memory_peak: Option<u64>,
    /// Bytes.
    memory_limit: Option<u64>,
    /// Processes that the kernel killed for want of memory.
    oom_kills: u64,
    /// Processes and threads that were refused.
    pids_refused: u64,
    /// Processor time, in microseconds.
    cpu_us: Option<u64>,
    /// How long the program had to wait because its processor time was used up, in microseconds.
    throttled_us: u64,
}

/// What a program has changed in its view of one directory, in the result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct WorkspaceResult {
    /// The directory on the host, which is as it was.
    path: String,
    /// The session that keeps the changes, if there are any.
    session: String,
    added: u64,
    changed: u64,
    renamed: u64,
    deleted: u64,
    /// What can never be brought to the host.
    refused: u64,
    /// Why it is not known what was changed, if it is not.
    problem: Option<String>,
}

impl From<&WorkspaceOutcome> for WorkspaceResult {
    fn from(outcome: &WorkspaceOutcome) -> Self {
        let counts = outcome.changes.as_ref().copied().unwrap_or_default();
        let ChangeCounts { added, changed, renamed, deleted, refused } = counts;
        let problem = outcome.changes.as_ref().err().cloned();
        let (path, session) = (outcome.of.to_string(), outcome.session.clone());
        Self { path, session, added, changed, renamed, deleted, refused, problem }
    }
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
            out_of_descriptors: account.out_of_descriptors,
            upstream_unreachable: upstream_unreachable.clone(),
            gatekeeper_gone: *end == NetworkEnd::GatekeeperGone,
            gatekeeper_silent: *end == NetworkEnd::Unreported,
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
        let (path, moved_to) = finding.place();
        Self {
            path: path.to_string(),
            moved_to: moved_to.map(ToString::to_string),
            what: finding.to_string(),
        }
    }
}

impl From<&Usage> for UsageResult {
    fn from(usage: &Usage) -> Self {
        let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            memory_peak: usage.memory_peak,
            memory_limit: usage.memory_limit,
            oom_kills: usage.oom_kills,
            pids_refused: usage.pids_refused,
            cpu_us: usage.cpu.map(microseconds),
            throttled_us: microseconds(usage.throttled),
        }
    }
}
