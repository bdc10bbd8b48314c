//! One start in the record: what is written about it, and when. The intent is durable before the
//! program's first instruction; what follows is durable when the end is.
//!
//! Texts that a program could have chosen are bounded and escaped by the log; how many records a
//! program can cause is bounded here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use audit::{AuditError, Event, Limit, LimitValue, Log, Name, Position, UncagedReason};
use gate::account::DeniedTarget;
use gate::event::EventKind;
use jail::End;
use limits::{Degradation, Usage};
use plan::{HostPath, LimitsPlan, Plan};
use walls::Wall;

use crate::gatekeeper::{NetworkEnd, NetworkOutcome};
use crate::kind::{Kind, with_causes};
use crate::outcome::{DeniedCall, EndReason, Outcome, SpawnError};
use crate::project::Locations;
use crate::session::Session;
use crate::state::{Directory, StateError};
use crate::sweep::{Swept, record_swept};

mod cage;
mod network;
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

/// Why there is no record of a start, which therefore does not happen.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no place to keep it.
    #[error("the record cannot be kept")]
    State(#[from] StateError),
    /// It cannot be written.
    #[error("the record cannot be written")]
    Audit(#[from] AuditError),
}

impl From<AuditError> for SpawnError {
    fn from(error: AuditError) -> Self {
        Self::Record(error.into())
    }
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
    log: Arc<Log>,
    invocation: Name,
    labels: Labels,
    cage_hash: OnceLock<Name>,
    network_records: AtomicU64,
}

/// How a program ended, as far as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct RecordedEnd<'a> {
    /// How the program ended.
    pub end: End,
    /// Why.
    pub reason: EndReason,
    /// From its first instruction to its end.
    pub duration: Duration,
    /// What it was held to.
    pub limits: LimitsPlan,
    /// What it has used, if that was counted.
    pub usage: Option<&'a Usage>,
    /// System calls that were refused.
    pub denials: &'a [DeniedCall],
    /// What became of its network, if it had one.
    pub network: Option<&'a NetworkOutcome>,
    /// Gatekeepers of this program alone that have ended before it.
    pub gatekeepers_lost: u64,
}

impl<'a> RecordedEnd<'a> {
    /// The end of a program of which nobody counted anything.
    pub(crate) fn uncounted(
        end: End,
        reason: EndReason,
        duration: Duration,
        limits: LimitsPlan,
    ) -> Self {
        let (usage, network, gatekeepers_lost) = (None, None, 0);
        Self { end, reason, duration, limits, usage, denials: &[], network, gatekeepers_lost }
    }

    /// The end of a cage.
    pub fn of(plan: &Plan, outcome: &'a Outcome) -> Self {
        Self {
            end: outcome.end,
            reason: outcome.reason,
            duration: outcome.duration,
            limits: plan.limits,
            usage: outcome.usage.as_ref(),
            denials: &outcome.denials,
            network: outcome.network.as_ref(),
            gatekeepers_lost: match &outcome.network {
                Some(network) if network.end == NetworkEnd::GatekeeperGone => 1,
                _ => 0,
            },
        }
    }
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

    /// Records that a start came to nothing. Where that cannot be recorded, the error says enough.
    pub fn failed(&self, invocation: &str, error: &SpawnError) {
        if error.may_have_begun() || !error.kind().is_recorded() {
            return;
        }
        if let Ok(recorder) = self.of_start(invocation) {
            let _unrecorded = recorder.failed(error.kind(), &with_causes(error));
        }
    }

    /// Records that a policy made no cage, in the same way.
    pub fn not_compiled(&self, invocation: &str, kind: Kind, details: &str) {
        if let Ok(recorder) = self.of_start(invocation) {
            let _unrecorded = recorder.not_compiled(kind, details);
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
        Self {
            log,
            invocation: invocation.into(),
            labels,
            cage_hash: OnceLock::new(),
            network_records: AtomicU64::new(0),
        }
    }

    /// What was removed before the start.
    pub(crate) fn swept(&self, swept: &[Swept]) -> Result<(), AuditError> {
        record_swept(&self.log, swept)
    }

    /// A session has begun, if it has.
    pub fn session_begun(&self, session: &Session) -> Result<(), AuditError> {
        if !session.is_new() {
            return Ok(());
        }
        let session_id = session.id().as_str().into();
        let project_id = self.labels.project_id.as_str().into();
        self.append(&Event::SessionBegun { session_id, project_id })
    }

    /// Whom the program is for.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// A program is about to start in a cage. Durable when this returns.
    pub(crate) fn intent(&self, plan: &Plan) -> Result<(), AuditError> {
        let hash = self.hash_of(plan);
        let described = self.log.append_once(&hash, || cage::description(&hash, plan))?;
        let position = self.log.append(&self.intent_of(plan))?;
        if !walls::stands(Wall::DurableRecord) {
            return Ok(());
        }
        self.log.make_durable(position)?;
        if let Some(described) = described {
            // One that is not noted is recorded again.
            let _unnoted = self.log.keep(&described);
        }
        Ok(())
    }

    fn intent_of(&self, plan: &Plan) -> Event {
        let argv0 = plan.argv.first().map(|word| word.as_bytes()).unwrap_or_default();
        Event::SubagentIntent {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: Some(plan.cage.as_str().into()),
            effective_cage_hash: Some(self.hash_of(plan)),
            argv0: argv0.into(),
            caged: true,
        }
    }

    /// A program is about to start without a cage. Durable when this returns.
    pub(crate) fn intent_uncaged(&self, argv0: &std::ffi::OsStr) -> Result<(), AuditError> {
        self.log.record(&Event::SubagentIntent {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: None,
            effective_cage_hash: None,
            argv0: argv0.into(),
            caged: false,
        })?;
        Ok(())
    }

    /// States how far the log is durable. Not needed for a program to start, so it is done while one
    /// does.
    pub fn checkpoint(&self) -> Result<(), AuditError> {
        self.log.checkpoint()
    }

    /// The program has started in its cage.
    pub(crate) fn spawned(&self, plan: &Plan, pid: rustix::process::Pid) -> Result<(), AuditError> {
        self.append(&Event::SubagentSpawn {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            cage: plan.cage.as_str().into(),
            cage_summary: plan.summary.line.as_str().into(),
            effective_cage_hash: self.hash_of(plan),
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            reduced_isolation: match plan.summary.reduced_isolation.as_slice() {
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
        self.log.record(&Event::SubagentSpawnUncaged {
            invocation_id: self.invocation.clone(),
            project_id: self.labels.project_id.as_str().into(),
            session_id: self.session(),
            subagent_name: self.subagent(),
            reason,
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
        })?;
        Ok(())
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
        self.log.record(&failed).map(drop)
    }

    /// The policy made no cage. Durable when this returns. K180
    pub fn not_compiled(&self, kind: Kind, details: &str) -> Result<(), AuditError> {
        let (error_code, details) = (kind.word().into(), details.into());
        let invocation_id = self.invocation.clone();
        let failed = Event::SandboxCompileError { invocation_id, error_code, details };
        self.log.record(&failed).map(drop)
    }

    /// What the gatekeeper has told. After so many of these for one start they are only counted.
    pub(crate) fn network(&self, kind: EventKind) -> Result<(), AuditError> {
        if self.network_records.fetch_add(1, Ordering::Relaxed) >= MOST_NETWORK_RECORDS {
            return Ok(());
        }
        self.append(&network::event(self.invocation.clone(), kind))
    }

    /// The program has ended. Durable when this returns, and stated to be, so that nobody can cut it
    /// off. K178
    pub fn ended(&self, ended: &RecordedEnd<'_>) -> Result<(), AuditError> {
        self.append_end(ended)?;
        self.checkpoint()
    }

    /// The program has ended. Becomes durable with the record that the position names.
    pub fn append_end(&self, ended: &RecordedEnd<'_>) -> Result<Position, AuditError> {
        for event in self.before_end(ended) {
            self.append(&event)?;
        }
        self.log.append(&self.exit(ended))
    }

    /// What is recorded before the end itself.
    fn before_end(&self, ended: &RecordedEnd<'_>) -> Vec<Event> {
        let mut events = self.violations(ended);
        match ended.network {
            Some(network) if network.end == NetworkEnd::NeverBegun => {
                events.extend(network.account.denials.iter().map(|denied| self.asked(denied)));
            }
            Some(network) => events.push(self.account(network)),
            None => {}
        }
        if ended.gatekeepers_lost > 0 {
            let (details, cages) = ("it ended before the cage".into(), ended.gatekeepers_lost);
            events.push(Event::GatekeeperLost { details, cages });
        }
        if was_killed(ended.reason) {
            let (invocation_id, reason) = (self.invocation.clone(), ended.reason.into());
            events.push(Event::SubagentKilled { invocation_id, reason });
        }
        events
    }

    fn exit(&self, ended: &RecordedEnd<'_>) -> Event {
        let (exit_code, signal) = match ended.end {
            End::Exited(code) => (code, None),
            End::Signalled(signal) => (signal.saturating_add(SIGNAL_BASE), Some(signal)),
        };
        Event::SubagentExit {
            invocation_id: self.invocation.clone(),
            exit_code,
            signal,
            reason: ended.reason.into(),
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            usage: ended.usage.map(used).unwrap_or_default(),
        }
    }

    fn violations(&self, ended: &RecordedEnd<'_>) -> Vec<Event> {
        let mut violations = Vec::new();
        let mut add = |limit, value, count| {
            let invocation_id = self.invocation.clone();
            violations.push(Event::PolicyViolation { invocation_id, limit, value, count });
        };
        if let (EndReason::WalltimeExceeded, Some(seconds)) =
            (ended.reason, ended.limits.walltime_sec)
        {
            add(Limit::Walltime, LimitValue::Number(seconds), 1);
        }
        if let Some(usage) = ended.usage {
            if usage.is_out_of_memory() {
                let bytes = usage.memory_limit.unwrap_or_default();
                add(Limit::Memory, LimitValue::Number(bytes), usage.oom_kills);
            }
            if let (Some(most), 1..) = (ended.limits.pids, usage.pids_refused) {
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

    fn append(&self, event: &Event) -> Result<(), AuditError> {
        self.log.append(event).map(drop)
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

const SIGNAL_BASE: i32 = 128;

/// Records of a cage's network beyond which it is only counted: some megabytes.
const MOST_NETWORK_RECORDS: u64 = 10_000;

/// Kinds of refused system calls that have a record each.
const MOST_DENIALS: usize = 64;
