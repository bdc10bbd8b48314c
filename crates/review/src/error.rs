//! Why a review did not happen.

use std::path::PathBuf;

use audit::AuditError;
use plan::HostPath;
use policy::shown::shown;
use rustix::io::Errno;
use session::{SessionError, SessionId};
use workspace::WorkspaceError;

/// Why a review, an apply, an undo or a discard did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// About the session itself.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session has no copy-on-write view of anything.
    #[error("session `{0}` has no workspace: its runs had no `cow` grant")]
    NoWorkspace(SessionId),
    /// No session has a view of the directory or of one above it.
    #[error("no session has a workspace for `{}`", shown(.directory))]
    NothingCovers {
        /// Which directory.
        directory: HostPath,
        /// The directories for which sessions have one.
        others: Vec<(SessionId, HostPath)>,
    },
    /// The directory of the host is not there any more.
    #[error("`{}`, which session `{session}` worked on, cannot be opened", shown(.path))]
    Host {
        /// The session.
        session: SessionId,
        /// The directory.
        path: HostPath,
        /// The kernel's answer.
        source: Errno,
    },
    /// A program or another command uses the workspace.
    #[error(
        "session `{session}` is in use{}: its changes of `{}` can be brought to the host or thrown away when that has \
         ended",
        by(.processes),
        shown(.path)
    )]
    InUse {
        /// The session.
        session: SessionId,
        /// The directory.
        path: HostPath,
        /// The processes that are in the session.
        processes: Vec<i32>,
    },
    /// A path outside of all workspaces.
    #[error("`{}` lies in no workspace of the session", shown(.0.display()))]
    Outside(PathBuf),
    /// A path that no name can have.
    #[error("`{}` cannot be a path in a workspace: {why}", shown(.path.display()))]
    BadPath {
        /// What was given.
        path: PathBuf,
        /// What is wrong with it.
        why: workspace::TreePathError,
    },
    /// The workspace itself says no.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// It cannot be recorded, so it was not done.
    #[error("it cannot be recorded, so nothing was changed")]
    Record(#[source] AuditError),
}

fn by(processes: &[i32]) -> String {
    let shown: Vec<String> = processes.iter().map(ToString::to_string).collect();
    match shown.as_slice() {
        [] => String::new(),
        [one] => format!(" by process {one}"),
        several => format!(" by processes {}", several.join(", ")),
    }
}
