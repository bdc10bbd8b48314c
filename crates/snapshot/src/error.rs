//! Why a tree could not be copied, in words for a person.

use rustix::io::Errno;
use store::StoreError;

/// Why a tree is not where it was to be.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An operation on a file of an engine failed.
    #[error("cannot {action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file of the tree.
        path: String,
        /// Why not.
        source: vfs::Error,
    },
    /// A call on the host failed.
    #[error("{call} `{path}`")]
    Host {
        /// The call.
        call: &'static str,
        /// On which file.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// The archive could not be read or written.
    #[error("cannot {action} the archive")]
    Archive {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The archive is none, or is cut.
    #[error("the archive is not valid at byte {at}: {why}")]
    Invalid {
        /// Where.
        at: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The archive has something that is not taken.
    #[error("the archive has `{path}`, {why}: it is refused")]
    Refused {
        /// Its name.
        path: String,
        /// What it is.
        why: &'static str,
    },
    /// The archive has more than may be.
    #[error("the archive has more than {most} {what}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much may be.
        most: u64,
    },
}

pub(crate) fn on_file<'a>(
    action: &'static str,
    path: &'a [u8],
) -> impl Fn(vfs::Error) -> SnapshotError + 'a {
    move |source| SnapshotError::File { action, path: text(path), source }
}

pub(crate) fn on_host<'a>(
    call: &'static str,
    path: &'a [u8],
) -> impl Fn(Errno) -> SnapshotError + 'a {
    move |source| SnapshotError::Host { call, path: text(path), source }
}

/// A name as a message shows it: nothing in it moves a cursor.
pub(crate) fn text(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect()
}
