//! How a program ended, or why none ran, in words that a person or a program can use. Holds no handle on anything.

use std::time::Duration;

use aftermath::Findings;
use audit::AuditError;
use gate::account::{Account, DeniedTarget};
use gate::decision::DenialCode;
use gate::limits::DENIED_TARGETS;
use jail::{Denial, End, Layers, Lookup, SetupFailure, StartError, Step};
use limits::{LimitsError, Usage};
use plan::seccomp::{Arch, syscall_name};
use plan::{HostPath, Plan};
use policy::Kind;
use policy::shown::shown;
use rustix::io::Errno;

use crate::observations::Observations;
use state::StateError;

/// The end of a program, of which nothing runs any more.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How the program ended.
    pub end: End,
    /// Why.
    pub reason: EndReason,
    /// From its first instruction to its end.
    pub duration: Duration,
    /// Which of the layers that a kernel may lack were around it; none where this library built no cage.
    pub layers: Option<Layers>,
    /// System calls that were refused, most frequent first.
    pub denials: Vec<DeniedCall>,
    /// What of its calls was noted, where something was to be.
    pub observations: Observations,
    /// What became of its network, if it had one.
    pub network: Option<NetworkOutcome>,
    /// What it has used, if it had limits other than that of time.
    pub usage: Option<Usage>,
    /// What it has changed in its views of directories, one for each.
    pub workspaces: Vec<WorkspaceOutcome>,
    /// What it has left on the host that runs code there, and what else is to be known of its end.
    pub findings: Findings,
    /// Why its end is not on record, if it is not.
    pub unrecorded: Option<String>,
}

impl Ended {
    /// The status as a shell tells it: the program's own, or 128 and the number of the signal that
    /// ended it.
    pub fn exit_code(&self) -> i32 {
        match self.end {
            End::Exited(status) => status,
            End::Signalled(signal) => signal.saturating_add(SIGNAL_BASE),
        }
    }

    /// The signal that ended the program, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.end {
            End::Exited(_) => None,
            End::Signalled(signal) => Some(signal),
        }
    }

    /// Whether the program ended by itself with status zero. K186
    pub fn is_success(&self) -> bool {
        self.end == End::Exited(0) && self.reason == EndReason::Exited
    }
}

const SIGNAL_BASE: i32 = 128;

/// What became of one directory that a program saw with a layer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceOutcome {
    /// The directory on the host, which is as it was.
    pub of: HostPath,
    /// The session that keeps the changes.
    pub session: String,
    /// What differs; none where that cannot be told.
    pub changes: Result<ChangeCounts, String>,
}

/// How much differs from the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Files and directories that the host has not.
    pub added: u64,
    /// Those of which content, kind, owner's rights or attributes differ.
    pub changed: u64,
    /// Those that have another name.
    pub renamed: u64,
    /// Those that are gone.
    pub deleted: u64,
    /// What can never be brought to the host, such as sockets.
    pub refused: u64,
}

impl ChangeCounts {
    /// How much there is to be reviewed.
    pub fn total(&self) -> u64 {
        let Self { added, changed, renamed, deleted, refused } = self;
        [*added, *changed, *renamed, *deleted, *refused].iter().sum()
    }
}
/// What became of a cage's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOutcome {
    /// How its network ended.
    pub end: NetworkEnd,
    /// What went through and what did not. Where the gatekeeper ended first, the counters as it last told
    /// them.
    pub account: Account,
    /// That no resolver answered, and which were tried.
    pub upstream_unreachable: Option<String>,
}

impl NetworkOutcome {
    /// What a cage without any network asked about, if it did. K49
    pub(crate) fn of_lookups(lookups: &[Lookup]) -> Option<Self> {
        let mut account = Account::default();
        // Pid 1 lives in the cage: what it says is bounded here as well.
        for (index, Lookup { name, count }) in lookups.iter().enumerate() {
            let (told, unlisted) =
                (&mut account.counters.dns_denied, &mut account.unlisted_denials);
            *told = told.saturating_add(*count);
            let Some(name) = name.as_ref().filter(|_| index < DENIED_TARGETS) else {
                *unlisted = unlisted.saturating_add(*count);
                continue;
            };
            account.denials.push(DeniedTarget {
                target: name.clone(),
                port: None,
                rule: None,
                code: Some(DenialCode::NotAllowed.as_str().to_owned()),
                reason: "the cage has no network".to_owned(),
                way: None,
                count: *count,
            });
        }
        let end = NetworkEnd::NeverBegun;
        (!lookups.is_empty()).then_some(Self { end, account, upstream_unreachable: None })
    }
}

/// How a cage's network ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEnd {
    /// It had none, and asked about names all the same.
    NeverBegun,
    /// With the cage.
    WithCage,
    /// With the cage, but the gatekeeper has not said in time what went through.
    Unreported,
    /// Before it, because the gatekeeper ended.
    GatekeeperGone,
}

/// Why a program that ran has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// By itself.
    Exited,
    /// By a signal, of its own or from outside.
    Signalled,
    /// By the system call filter.
    Seccomp,
    /// Its time was over.
    WalltimeExceeded,
    /// It ran into its limit of memory.
    Oom,
    /// It wrote more to its layers than it may.
    WorkspaceFull,
    /// Its session was ended.
    SessionEnded,
    /// Somebody wanted it to end.
    Cancelled,
    /// Whoever held its cage died.
    SupervisorLost,
}

impl EndReason {
    /// What the end itself and the refused calls tell.
    pub(crate) fn of(end: End, denials: &[DeniedCall]) -> Self {
        match end {
            End::Exited(_) => Self::Exited,
            End::Signalled(_) if denials.iter().any(|denial| denial.killed) => Self::Seccomp,
            End::Signalled(_) => Self::Signalled,
        }
    }

    /// The word for a program to compare, as the record has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Signalled => "signalled",
            Self::Seccomp => "seccomp",
            Self::WalltimeExceeded => "walltime_exceeded",
            Self::Oom => "oom",
            Self::WorkspaceFull => "workspace_full",
            Self::SessionEnded => "session_ended",
            Self::Cancelled => "cancelled",
            Self::SupervisorLost => "supervisor_lost",
        }
    }
}

/// A refused system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedCall {
    /// Its name, or its number where the table has none.
    pub name: String,
    /// How often.
    pub count: u64,
    /// Whether the caller was killed for it.
    pub killed: bool,
}

impl From<&Denial> for DeniedCall {
    fn from(denial: &Denial) -> Self {
        let name = syscall_name(Arch::NATIVE, denial.number);
        let name = name.map_or_else(|| format!("call {}", denial.number), str::to_owned);
        Self { name, count: denial.count, killed: denial.killed }
    }
}

/// Why no program ran.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program is not in the cage.
    #[error("`{}` is not in the cage", shown(.program))]
    NotFound {
        /// The program as it was asked for.
        program: String,
    },
    /// The program, which was to run without a cage, is not on the host.
    #[error("`{}` is in no directory of `PATH`, or does not exist", shown(.program))]
    NotFoundUncaged {
        /// The program as it was asked for.
        program: String,
    },
    /// The program is there and cannot be started.
    #[error("cannot start `{}`: {}", shown(.program), std::io::Error::from(*errno))]
    NotExecutable {
        /// The program as it was asked for.
        program: String,
        /// The kernel's answer.
        errno: Errno,
    },
    /// Standard input, output or error cannot be given to a cage.
    #[error("{stream} {problem}")]
    Stream {
        /// Which one.
        stream: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The cage could not be built.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What the cage covers inside a writable grant was changed by somebody else while the cage was built.
    #[error("`{}` was renamed, removed or replaced while the cage was being built", shown(.path))]
    TreeChanged {
        /// What was changed.
        path: String,
    },
    /// The cage cannot be held to its limits, so it did not start.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// The cage ran into its limit of memory while it was built.
    #[error("a memory limit of {limit_mb} MiB is not enough to build the cage")]
    TooLittleMemory {
        /// The limit.
        limit_mb: u64,
    },
    /// The start cannot be recorded, so it did not happen.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The program was started, and ended because what it does cannot be recorded any more. K240
    #[error("the program had been started, and was ended because its record cannot be kept up")]
    RecordLost(#[source] RecordError),
    /// The supervisor lost hold of the cage, which has been ended.
    #[error("cannot supervise the cage: {}", std::io::Error::from(*.0))]
    Supervise(Errno),
    /// The gatekeeper does not hold the cage to its rules, so the cage did not start.
    #[error("the network's gatekeeper does not serve the cage: {problem}")]
    Gatekeeper {
        /// Why.
        problem: String,
    },
    /// The cage may use the model service, and nothing serves it, so the cage did not start.
    #[error("the model service does not serve the cage: {problem}")]
    Model {
        /// Why.
        problem: String,
    },
    /// A port of the host's loopback cannot be offered.
    #[error("cannot publish port {port} on the host's loopback: {}", std::io::Error::from(*errno))]
    Published {
        /// The port.
        port: u16,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A mount is not served, so the cage did not start.
    #[error("the mount on `{}` is not served: {}", shown(.at), shown(.problem))]
    Mount {
        /// Where.
        at: String,
        /// Why.
        problem: String,
    },
    /// Another program that was needed could not be used.
    #[error("cannot run `{program}`: {problem}")]
    Helper {
        /// The program.
        program: &'static str,
        /// What is wrong.
        problem: String,
    },
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

impl SpawnError {
    /// The same failure of a record, of a program that runs already.
    pub(crate) fn of_running(error: impl Into<RecordError>) -> Self {
        Self::RecordLost(error.into())
    }

    /// The same failure with its reason, where that is a path below a writable grant of the Plan.
    pub(crate) fn with_reason(self, plan: &Plan) -> Self {
        let is_below = |subject: &str, grant: &HostPath| {
            subject.strip_prefix(&grant.to_string()).is_some_and(|below| below.starts_with('/'))
        };
        match self {
            Self::Start(StartError::Setup(failure))
                if failure.is_of_changed_path()
                    && plan.walls.watched.iter().any(|grant| is_below(&failure.subject, grant)) =>
            {
                Self::TreeChanged { path: failure.subject }
            }
            other => other,
        }
    }

    /// Whoever starts the cage has no model service.
    pub(crate) fn no_model() -> Self {
        Self::Model { problem: "cages that are started here have none".to_owned() }
    }

    /// Whether the program may have run, and have left what it made.
    pub fn may_have_begun(&self) -> bool {
        matches!(self, Self::RecordLost(_) | Self::Supervise(_))
    }
}

impl From<SetupFailure> for SpawnError {
    fn from(failure: SetupFailure) -> Self {
        match (failure.step, failure.errno()) {
            (Step::Execute, Some(Errno::NOENT | Errno::NOTDIR)) => {
                Self::NotFound { program: failure.subject }
            }
            (Step::Execute, Some(errno)) => Self::NotExecutable { program: failure.subject, errno },
            _ => Self::Start(StartError::Setup(failure)),
        }
    }
}

impl SpawnError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } | Self::NotFoundUncaged { .. } => Kind::ProgramNotFound,
            Self::NotExecutable { .. } => Kind::ProgramNotExecutable,
            Self::Stream { .. } => Kind::Usage,
            Self::Limits(_) => Kind::LimitsUnavailable,
            Self::TooLittleMemory { .. } => Kind::TooLittleMemory,
            Self::Record(_) => Kind::RecordUnavailable,
            Self::RecordLost(_) => Kind::RecordLost,
            Self::Gatekeeper { .. } | Self::Model { .. } => Kind::NetworkError,
            Self::Published { .. } => Kind::PortTaken,
            Self::TreeChanged { .. } => Kind::TreeChanged,
            Self::Start(_) | Self::Supervise(_) | Self::Helper { .. } => Kind::CannotBuild,
            Self::Mount { .. } => Kind::CannotBuild,
        }
    }
}
