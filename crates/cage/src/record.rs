//! One start in the record: what is written about it, and when. The intent is durable before the
//! program's first instruction; what follows is durable when the end is.
//!
//! Texts that a program could have chosen are bounded and escaped by the log; how many records a
//! program can cause is bounded here.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aftermath::{Findings, Swept, record_swept};
use audit::{AuditError, Event, Limit, LimitValue, Log, Name, UncagedReason};
use gate::account::DeniedTarget;
use gate::event::EventKind;
use limits::{Degradation, Usage};
use plan::{HostPath, LimitsPlan, Plan};
use policy::Kind;
use session::{Life, Session, SessionId};
use state::{Directory, Locations, StateError};
use walls::Wall;

use crate::mounts::LostMount;
use crate::outcome::{
    ChangeCounts, EndReason, Ended, NetworkEnd, NetworkOutcome, RecordError, WorkspaceOutcome,
};

mod cage;
mod network;

pub(crate) use network::refused;
#[cfg(test)]
mod tests;

/// Whom a program is for, in words of the caller's that the record repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The project.
    pub project_id: String,
    /// The session, if it belongs to one.
    pub session_id: Option<String>,
    /// The agent of the policy file, if one was named.
    pub subagent_name: Option<String>,
}

/// Where a start is recorded, and for whom it is.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The state directory; none where nothing says where it is.
    pub state: Option<HostPath>,
    /// Whom the program is for.
    pub labels: Labels,
}

/// Writes about one start.
#[derive(Debug)]
pub struct Recorder {
    /// None for a trial of our own, which is on no record.
    log: Option<Arc<Log>>,
    invocation: Name,
    labels: Labels,
    cage_hash: OnceLock<Name>,
    network_records: AtomicU64,
}

impl Recording {
    /// Where this user's starts are recorded, for nobody yet.
    pub fn of_nobody(locations: &Locations) -> Self {
        Self { state: locations.state.clone(), labels: Labels::default() }
    }

    /// Opens the log, which is made if it is missing.
    pub fn open(&self) -> Result<Log, RecordError> {
        let path = self.state.as_ref().ok_or(StateError::NoPlace)?;
        let state = Directory::open(path)?;
        Ok(Log::open(&state.audit())?)
    }

    /// Opens the log for one start.
    pub fn of_start(&self, invocation: &str) -> Result<Recorder, RecordError> {
        Ok(Recorder::new(Arc::new(self.open()?), invocation, self.labels.clone()))
    }

    /// Records that a policy made no cage, in a session that may have just begun. Where that cannot be
    /// recorded, the failure says enough.
    pub fn not_compiled(
        &self,
        invocation: &str,
        session: Option<&Session>,
        kind: Kind,
        details: &str,
    ) {
        if let Ok(recorder) = self.of_start(invocation) {
            let _unrecorded = recorder.not_compiled(session, kind, details);
        }
    }

    /// The directory of the log, for messages.
    pub fn directory(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|state| state.as_path().join("audit"))
    }
}

impl Recorder {
    /// Writes about a start to a log that is open already.
    pub fn new(log: Arc<Log>, invocation: &str, labels: Labels) -> Self {
        Self { log: Some(log), labels, ..Self::of_trial(invocation) }
    }

    /// Writes nothing: for a cage that only tells whether cages can be built here.
    pub(crate) fn of_trial(invocation: &str) -> Self {
        Self {
            log: None,
            invocation: invocation.into(),
            labels: Labels::default(),
            cage_hash: OnceLock::new(),
            network_records: AtomicU64::new(0),
        }
    }

    /// Where the log is; none of a trial.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.log.as_ref().map(|log| log.directory())
    }

    /// What was removed before the start.
    pub(crate) fn swept(&self, swept: &[Swept]) -> Result<(), AuditError> {
        self.log.as_ref().map_or(Ok(()), |log| record_swept(log, swept))
    }

    /// A session has begun, if it has.
    pub(crate) fn session_begun(&self, session: &Session) -> Result<(), AuditError> {
        if !session.is_new() {
            return Ok(());
        }
        let session_id = session.id().as_str().into();
        let project_id = self.labels.project_id.as_str().into();
        self.append(&Event::SessionBegun { session_id, project_id })
    }

    /// A session has ended with the program. What cannot be recorded refuses the next start.
    pub(crate) fn session_ended(&self, id: &SessionId) {
        let ended = Event::SessionEnded { session_id: id.as_str().into(), killed: 0 };
        let _unrecorded = self.append(&ended);
    }

    /// The gatekeeper that served this program alone has ended before it.
    pub(crate) fn gatekeeper_lost(&self) -> Result<(), AuditError> {
        let (details, cages) = ("it ended before the cage".into(), 1);
        self.append(&Event::GatekeeperLost { details, cages })
    }

    /// A mount of the program is not served any more.
    pub(crate) fn mount_lost(&self, lost: LostMount) -> Result<(), AuditError> {
        let LostMount { at, reason } = lost;
        let (invocation_id, at) = (self.invocation.clone(), at.to_string().into());
        self.append(&Event::SandboxMountLost { invocation_id, at, reason: reason.into() })
    }

    /// Whom the program is for.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// A program is about to start in a cage. Durable when this returns.
    pub(crate) fn intent(&self, plan: &Plan) -> Result<(), AuditError> {
        let Some(log) = &self.log else { return Ok(()) };
        let hash = self.hash_of(plan);
        let described = log.append_once(&hash, || cage::description(&hash, plan))?;
        let position = log.append(&self.intent_of(plan))?;
        if !walls::stands(Wall::DurableRecord) {
            return Ok(());
        }
        log.make_durable(position)?;
        if let Some(described) = described {
            // One that is not noted is recorded again.
            let _unnoted = log.keep(&described);
        }
        Ok(())
    }

    fn intent_of(&self, plan: &Plan) -> Event {
        let argv0 = plan.start.argv.first().map(|word| word.as_bytes()).unwrap_or_default();
        Event::SubagentIntent {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: Some(plan.walls.cage.as_str().into()),
            effective_cage_hash: Some(self.hash_of(plan)),
            argv0: argv0.into(),
            caged: true,
        }
    }

    /// A program is about to start without a cage. Durable when this returns.
    pub(crate) fn intent_uncaged(&self, argv0: &std::ffi::OsStr) -> Result<(), AuditError> {
        self.record(&Event::SubagentIntent {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: None,
            effective_cage_hash: None,
            argv0: argv0.into(),
            caged: false,
        })
    }

    /// The directory that the log is in.
    pub(crate) fn state(&self) -> Option<&Path> {
        self.log.as_ref()?.directory().parent()
    }

    /// States how far the log is durable. Not needed for a program to start, so it is done while one
    /// does.
    pub fn checkpoint(&self) -> Result<(), AuditError> {
        self.log.as_ref().map_or(Ok(()), |log| log.checkpoint())
    }

    /// The program has started in its cage.
    pub(crate) fn spawned(&self, plan: &Plan, pid: rustix::process::Pid) -> Result<(), AuditError> {
        self.append(&Event::SubagentSpawn {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: plan.walls.cage.as_str().into(),
            cage_summary: plan.start.summary.as_str().into(),
            effective_cage_hash: self.hash_of(plan),
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            reduced_isolation: match plan.walls.reduced_isolation.as_slice() {
                [] => None,
                sentences => Some(sentences.join("; ").as_str().into()),
            },
        })
    }

    /// The program has started without a cage. Durable when this returns. K160
    pub(crate) fn spawned_uncaged(
        &self,
        reason: UncagedReason,
        pid: rustix::process::Pid,
    ) -> Result<(), AuditError> {
        self.record(&Event::SubagentSpawnUncaged {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            reason,
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
        })
    }

    /// The cage starts without limits that its policy asks for. K150
    pub(crate) fn limits_skipped(&self, degradation: &Degradation) -> Result<(), AuditError> {
        self.append(&Event::SubagentSpawnLimitsSkipped {
            invocation_id: self.invocation.clone(),
            reason: degradation.reason.as_str().into(),
        })
    }

    /// The program has not started after all. Durable when this returns.
    pub fn failed(&self, kind: Kind, details: &str) -> Result<(), AuditError> {
        let (error_code, details) = (kind.word().into(), details.into());
        let invocation_id = self.invocation.clone();
        let failed = Event::SubagentSpawnFailed { invocation_id, error_code, details };
        self.record(&failed)
    }

    /// The policy made no cage. Durable when this returns. K180
    pub fn not_compiled(
        &self,
        session: Option<&Session>,
        kind: Kind,
        details: &str,
    ) -> Result<(), AuditError> {
        // Any other ends before anything was in it.
        if let Some(session) = session.filter(|session| session.life() == Life::Kept) {
            self.session_begun(session)?;
        }
        let (error_code, details) = (kind.word().into(), details.into());
        let invocation_id = self.invocation.clone();
        let failed = Event::SandboxCompileError { invocation_id, error_code, details };
        self.record(&failed)
    }

    /// What the gatekeeper has told. After so many of these for one start they are only counted.
    pub(crate) fn network(&self, kind: EventKind) -> Result<(), AuditError> {
        if self.network_records.fetch_add(1, Ordering::Relaxed) >= MOST_NETWORK_RECORDS {
            return Ok(());
        }
        self.append(&network::event(self.invocation.clone(), kind))
    }

    /// The program has ended. Becomes durable with the next checkpoint. K178
    pub(crate) fn ended(&self, ended: &Ended, limits: &LimitsPlan) -> Result<(), AuditError> {
        for event in self.before_end(ended, limits) {
            self.append(&event)?;
        }
        self.append(&self.exit(ended))
    }

    /// What the program has changed in its workspaces. Where nothing is kept nothing is said.
    pub(crate) fn changed(&self, workspaces: &[WorkspaceOutcome]) -> Result<(), AuditError> {
        for workspace in workspaces {
            let counts = workspace.changes.as_ref().copied().unwrap_or_default();
            if workspace.changes.is_ok() && counts.total() == 0 {
                continue;
            }
            let ChangeCounts { added, changed, renamed, deleted, refused } = counts;
            self.append(&Event::WorkspaceChanged {
                invocation_id: self.invocation.clone(),
                session_id: workspace.session.as_str().into(),
                path: workspace.of.as_bytes().into(),
                added,
                changed,
                renamed,
                deleted,
                refused,
                problem: workspace.changes.as_ref().err().map(|problem| problem.as_str().into()),
            })?;
        }
        Ok(())
    }

    /// What the program has left on the host.
    pub(crate) fn found(&self, findings: &Findings) -> Result<(), AuditError> {
        for finding in &findings.found {
            let (path, moved_to) = finding.place();
            self.append(&Event::QuarantineFinding {
                invocation_id: self.invocation.clone(),
                path: path.as_bytes().into(),
                moved_to: moved_to.map(|moved_to| moved_to.as_bytes().into()),
                details: finding.to_string().as_str().into(),
            })?;
        }
        Ok(())
    }

    /// What is recorded before the end itself.
    fn before_end(&self, ended: &Ended, limits: &LimitsPlan) -> Vec<Event> {
        let mut events = self.violations(ended, limits);
        match &ended.network {
            Some(network) if network.end == NetworkEnd::NeverBegun => {
                events.extend(network.account.denials.iter().map(|denied| self.asked(denied)));
            }
            Some(network) => events.push(self.account(network)),
            None => {}
        }
        if was_killed(ended.reason) {
            let (invocation_id, reason) = (self.invocation.clone(), ended.reason.into());
            events.push(Event::SubagentKilled { invocation_id, reason });
        }
        events
    }

    fn exit(&self, ended: &Ended) -> Event {
        Event::SubagentExit {
            invocation_id: self.invocation.clone(),
            exit_code: ended.exit_code(),
            signal: ended.signal(),
            reason: ended.reason.into(),
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            usage: ended.usage.as_ref().map(used).unwrap_or_default(),
        }
    }

    fn violations(&self, ended: &Ended, limits: &LimitsPlan) -> Vec<Event> {
        let mut violations = Vec::new();
        let mut add = |limit, value, count| {
            let invocation_id = self.invocation.clone();
            violations.push(Event::PolicyViolation { invocation_id, limit, value, count });
        };
        if let (EndReason::WalltimeExceeded, Some(seconds)) = (ended.reason, limits.walltime_sec) {
            add(Limit::Walltime, LimitValue::Number(seconds), 1);
        }
        if let (EndReason::WorkspaceFull, Some(most)) = (ended.reason, limits.workspace_mb) {
            add(Limit::Workspace, LimitValue::Number(most.saturating_mul(1 << 20)), 1);
        }
        if let Some(usage) = &ended.usage {
            if usage.is_out_of_memory() {
                let bytes = usage.memory_limit.unwrap_or_default();
                add(Limit::Memory, LimitValue::Number(bytes), usage.oom_kills);
            }
            if let (Some(most), 1..) = (limits.pids, usage.pids_refused) {
                add(Limit::Pids, LimitValue::Number(most.into()), usage.pids_refused);
            }
        }
        for denial in ended.denials.iter().take(MOST_DENIALS) {
            add(Limit::Seccomp, LimitValue::Name(denial.name.as_str().into()), denial.count);
        }
        violations
    }

    /// A name that a cage without any network asked about.
    fn asked(&self, denied: &DeniedTarget) -> Event {
        Event::GatekeeperDnsDenied {
            invocation_id: self.invocation.clone(),
            hostname: denied.target.as_str().into(),
            rule: None,
            code: denied.code.as_deref().unwrap_or_default().into(),
            reason: denied.reason.as_str().into(),
        }
    }

    fn account(&self, network: &NetworkOutcome) -> Event {
        let counters = network.account.counters;
        let unrecorded =
            self.network_records.load(Ordering::Relaxed).saturating_sub(MOST_NETWORK_RECORDS);
        Event::GatekeeperAccount {
            invocation_id: self.invocation.clone(),
            dns_allowed: counters.dns_allowed,
            dns_denied: counters.dns_denied,
            tcp_allowed: counters.tcp_allowed,
            tcp_denied: counters.tcp_denied,
            udp_denied: counters.udp_denied,
            bytes_in: counters.bytes_in,
            bytes_out: counters.bytes_out,
            events_lost: network.account.events_lost.saturating_add(unrecorded),
        }
    }

    /// Adds a record, which becomes durable with the next one that does.
    fn append(&self, event: &Event) -> Result<(), AuditError> {
        self.log.as_ref().map_or(Ok(()), |log| log.append(event).map(drop))
    }

    /// Durable when this returns.
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.log.as_ref().map_or(Ok(()), |log| log.record(event).map(drop))
    }

    /// The hash of the cage. Found out once: it costs as much as compiling the cage.
    pub(crate) fn hash_of(&self, plan: &Plan) -> Name {
        self.cage_hash.get_or_init(|| plan.hash().as_str().into()).clone()
    }

    fn session(&self) -> Option<Name> {
        self.labels.session_id.as_deref().map(Name::from)
    }

    fn subagent(&self) -> Option<Name> {
        self.labels.subagent_name.as_deref().map(Name::from)
    }
}

impl From<EndReason> for audit::Reason {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Exited => Self::Exited,
            EndReason::Signalled => Self::Signalled,
            EndReason::Seccomp => Self::Seccomp,
            EndReason::WalltimeExceeded => Self::WalltimeExceeded,
            EndReason::Oom => Self::Oom,
            EndReason::WorkspaceFull => Self::WorkspaceFull,
            EndReason::SessionEnded => Self::SessionEnded,
            EndReason::Cancelled => Self::Cancelled,
            EndReason::SupervisorLost => Self::SupervisorLost,
        }
    }
}

/// Whether somebody else than the program itself ended it. K196
fn was_killed(reason: EndReason) -> bool {
    match reason {
        EndReason::Exited | EndReason::Signalled => false,
        EndReason::Seccomp
        | EndReason::WalltimeExceeded
        | EndReason::Oom
        | EndReason::WorkspaceFull
        | EndReason::SessionEnded
        | EndReason::Cancelled
        | EndReason::SupervisorLost => true,
    }
}

fn used(usage: &Usage) -> audit::Usage {
    let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    audit::Usage {
        memory_peak: usage.memory_peak,
        memory_limit: usage.memory_limit,
        oom_kills: Some(usage.oom_kills),
        pids_refused: Some(usage.pids_refused),
        cpu_us: usage.cpu.map(microseconds),
        throttled_us: Some(microseconds(usage.throttled)),
    }
}

/// Records of a cage's network beyond which it is only counted: some megabytes.
const MOST_NETWORK_RECORDS: u64 = 10_000;

/// Kinds of refused system calls that have a record each.
const MOST_DENIALS: usize = 64;
