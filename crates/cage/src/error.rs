//! Why a program did not start. Whatever was begun for it has been undone when a caller sees one of
//! these. K185

use audit::AuditError;
use jail::StartError;
use limits::LimitsError;
use plan::Plan;
use policy::Kind;
use policy::with_causes;
use prepare::{PrepareError, SelectionError};
use rustix::io::Errno;
use workspace::WorkspaceError;

use crate::outcome::{RecordError, SpawnError};
use crate::record::Recorder;
use aftermath::{Aftermath, Findings};

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No policy holds.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The policy makes no cage here, or grants what does not exist. K180, K184
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The cage, its network, its limits or its record cannot be had, or the program not be started. K181,
    /// K182, K183, K240
    #[error(transparent)]
    Spawn(SpawnError),
    /// A writable grant is taken.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// This runner starts nothing without a cage.
    #[error("programs without a cage are not allowed here")]
    UncagedNotAllowed,
    /// Another start of this runner has the same name.
    #[error("there is a cage `{invocation_id}` already")]
    Duplicate {
        /// The name.
        invocation_id: String,
    },
    /// The request makes no sense.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The kernel refused what a supervisor needs.
    #[error("cannot {call}: {}", std::io::Error::from(*errno))]
    Kernel {
        /// What for.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The launcher process is gone: this runner starts nothing any more.
    #[error("the launcher process is gone, so this supervisor can start no more cages")]
    LauncherGone,
    /// The runner is being closed.
    #[error("the supervisor is closing")]
    Closing,
    /// The program may have run before this went wrong.
    #[error("{}", with_causes(error))]
    Begun {
        /// What went wrong.
        error: Box<SpawnError>,
        /// What the program has left.
        findings: Findings,
    },
}

impl RunError {
    /// Whether the program may have run, and have left what it made.
    pub fn may_have_begun(&self) -> bool {
        match self {
            Self::Spawn(error) => error.may_have_begun(),
            Self::Begun { .. } => true,
            _ => false,
        }
    }

    /// Whether somebody else changed what the cage covers while it was built: another try may find it as it
    /// stays.
    pub fn is_of_changed_tree(&self) -> bool {
        matches!(self, Self::Spawn(SpawnError::TreeChanged { .. }))
    }

    /// The same with what the program has left, if it may have run. That is on record where it can be.
    pub(crate) fn of_begun(
        self,
        aftermath: Option<&Aftermath>,
        recorder: Option<&Recorder>,
    ) -> Self {
        match self {
            Self::Spawn(error) if error.may_have_begun() => {
                let state = recorder.and_then(Recorder::state);
                let findings = aftermath.map(|aftermath| aftermath.look(state)).unwrap_or_default();
                let _unrecorded = recorder
                    .map(|recorder| recorder.found(&findings).and_then(|()| recorder.checkpoint()));
                Self::Begun { error: Box::new(error), findings }
            }
            other => other,
        }
    }

    pub(crate) fn with_reason(self, plan: &Plan) -> Self {
        match self {
            Self::Spawn(error) => Self::Spawn(error.with_reason(plan)),
            other => other,
        }
    }
}

impl From<SpawnError> for RunError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Start(StartError::LauncherGone) => Self::LauncherGone,
            error => Self::Spawn(error),
        }
    }
}

impl From<LimitsError> for RunError {
    fn from(error: LimitsError) -> Self {
        SpawnError::from(error).into()
    }
}

impl From<RecordError> for RunError {
    fn from(error: RecordError) -> Self {
        SpawnError::from(error).into()
    }
}

impl From<AuditError> for RunError {
    fn from(error: AuditError) -> Self {
        SpawnError::from(error).into()
    }
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> Self {
        SpawnError::from(error).into()
    }
}

/// For [`Result::map_err`]: the call that a kernel refused.
pub(crate) fn kernel(call: &'static str) -> impl Fn(Errno) -> RunError {
    move |errno| RunError::Kernel { call, errno }
}

impl RunError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Selection(error) => error.kind(),
            Self::Prepare(error) => error.kind(),
            Self::Spawn(error) => error.kind(),
            Self::Begun { error, .. } => error.kind(),
            Self::Workspace(_) => Kind::WorkspaceInUse,
            Self::UncagedNotAllowed => Kind::UncagedNotAllowed,
            Self::Duplicate { .. } => Kind::Duplicate,
            Self::Unsupported(_) => Kind::Usage,
            Self::Kernel { .. } | Self::LauncherGone => Kind::CannotBuild,
            Self::Closing => Kind::Closing,
        }
    }
}
