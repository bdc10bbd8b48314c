//! Why the command did not do what it was asked.

use rustix::io::Errno;
use session::{SessionError, SessionIdError};
use store::StoreError;

use crate::error::SnapshotError;

/// Why the command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Neither a session nor a store is named.
    #[error("name a session or a store")]
    Nothing,
    /// A name that none can have.
    #[error("`{0}` cannot be the name of a snapshot")]
    Name(String),
    /// The name of a session that none can have.
    #[error(transparent)]
    SessionName(#[from] SessionIdError),
    /// There is one of this name.
    #[error("there is a snapshot `{0}` already")]
    Taken(String),
    /// There is none.
    #[error("there is no snapshot `{0}`")]
    Missing(String),
    /// Something about the session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Something about what is copied.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Something about the archive's file.
    #[error("cannot {action} `{file}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Snapshot(error.into())
    }
}

impl CommandError {
    /// What was asked for is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Session(SessionError::NotFound(_)))
            || matches!(self, Self::Snapshot(SnapshotError::Store(StoreError::Missing(_))))
            || self.errno() == Some(Errno::NOENT)
    }

    /// It was asked for in words that mean nothing.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Nothing | Self::Name(_) | Self::SessionName(_))
    }

    /// It is not done as things are: somebody uses it, or it is not let in.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Taken(_) | Self::File { .. } => true,
            Self::Snapshot(
                SnapshotError::Store(StoreError::InUse(_) | StoreError::Exists(_))
                | SnapshotError::Invalid { .. }
                | SnapshotError::Refused { .. }
                | SnapshotError::TooMuch { .. },
            ) => true,
            Self::Session(error) => !matches!(
                error,
                SessionError::NotFound(_)
                    | SessionError::Untrustworthy { .. }
                    | SessionError::Kernel { .. }
            ),
            _ => matches!(self.errno(), Some(Errno::EXIST | Errno::BUSY)),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Name(_) => "letters, digits, `.`, `-` and `_`, at most 128".to_owned(),
            Self::Taken(name) => {
                format!("choose another name, or remove it: `stockade snapshot rm {name}`")
            }
            Self::Missing(_) => "`stockade snapshot list` shows those there are".to_owned(),
            Self::Session(SessionError::NotFound(_)) => {
                "`stockade session list` shows those there are".to_owned()
            }
            Self::Session(SessionError::InUse { id, .. }) => format!(
                "end its programs, then try again: a later `stockade run --session {id}` goes on with the same files"
            ),
            _ => return None,
        })
    }

    fn errno(&self) -> Option<Errno> {
        match self {
            Self::Snapshot(SnapshotError::Store(StoreError::Operation { source, .. })) => {
                Some(source.errno)
            }
            _ => None,
        }
    }
}
