//! Why a session cannot be entered, listed or ended.

use std::path::{Path, PathBuf};

use plan::HostPath;
use policy::shown::shown;
use rustix::io::Errno;

use super::id::SessionId;

/// Why something about a session did not happen.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nobody has begun it, or it has ended.
    #[error("there is no session `{0}`")]
    NotFound(SessionId),
    /// There is one of this name.
    #[error("there is a session `{0}` already")]
    Exists(SessionId),
    /// Somebody is ending it.
    #[error("session `{0}` is being ended; `stockade session end {0}` finishes that")]
    Ending(SessionId),
    /// It ends with the run that began it, so no other can be in it.
    #[error("session `{0}` is that of a single run and ends with it")]
    OfOneRun(SessionId),
    /// Its programs do not end.
    #[error("session `{id}` is still in use by {}", listed(.processes))]
    InUse {
        /// The session.
        id: SessionId,
        /// The processes that use it.
        processes: Vec<i32>,
    },
    /// Somebody uses one of its areas: a run that has not ended, or a command that reviews it.
    #[error("the session's changes of `{}` are in use by another run or command", shown(.0))]
    AreaInUse(HostPath),
    /// Somebody else owns a part of the directory, or may write to it.
    #[error("sessions in `{}` cannot be trusted: {why}; fix it with `{fix}`", path.display())]
    Untrustworthy {
        /// Which part.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// The command that puts it right.
        fix: String,
    },
    /// The kernel refused a step.
    #[error("{call} `{}`", path.display())]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: Errno,
    },
}

impl SessionError {
    pub(super) fn kernel(call: &'static str, path: &Path) -> impl FnOnce(Errno) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Kernel { call, path, source }
    }
}

fn listed(processes: &[i32]) -> String {
    let shown: Vec<String> = processes.iter().map(ToString::to_string).collect();
    match shown.as_slice() {
        [] => "a process".to_owned(),
        [one] => format!("process {one}"),
        several => format!("processes {}", several.join(", ")),
    }
}
