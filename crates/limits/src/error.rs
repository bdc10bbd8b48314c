//! Why limits are not held, as data: what, why and what to do about it.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::dbus::BusError;
use crate::numbers::{Limit, listed};

/// Why a cage's limits cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// No mechanism of this machine holds these limits for this caller.
    #[error("{} cannot be limited here: {why}; {fix}", listed(.limits))]
    Unusable {
        /// Which ones.
        limits: Vec<Limit>,
        /// What is in the way.
        why: String,
        /// What to do about it, as a command where there is one.
        fix: String,
    },
    /// The kernel refused a step.
    #[error("cannot {action} `{}`: {}", subject.display(), std::io::Error::from(*errno))]
    Kernel {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or directory.
        subject: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// systemd could not be asked.
    #[error("systemd cannot be asked to hold limits: {0}")]
    Bus(BusError),
    /// systemd has not made the scope.
    #[error("systemd has not made `{unit}`: {result}")]
    Scope {
        /// The unit.
        unit: String,
        /// What became of it instead.
        result: String,
    },
    /// A limit is not what was asked for.
    #[error("`{}` is not what was asked for", path.display())]
    NotHeld {
        /// The file that says so.
        path: PathBuf,
    },
    /// An invocation id that cannot be part of a file's name.
    #[error("`{0}` cannot be part of a control group's name")]
    Invocation(String),
    /// A control group could not be emptied.
    #[error("`{}` still has {left} processes, and they do not end", path.display())]
    StillInUse {
        /// The group.
        path: PathBuf,
        /// How many are left.
        left: usize,
    },
}

/// No source of it: its own text has the cause.
impl From<BusError> for LimitsError {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

impl LimitsError {
    pub(crate) fn kernel(action: &'static str, subject: &Path, errno: Errno) -> Self {
        Self::Kernel { action, subject: subject.to_owned(), errno }
    }
}
