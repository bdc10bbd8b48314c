//! Why a call of a tool failed, in words that a model can act on: what happened, and what to do instead.

use rustix::io::Errno;
use thiserror::Error;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("error: {text}")]
pub struct ToolError {
    /// What kind of failure it is, for programs.
    pub kind: ErrorKind,
    /// For the model.
    pub text: String,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments are wrong.
    Arguments,
    /// Nothing is there.
    Missing,
    /// It is of another type than the tool takes.
    Type,
    /// A path leads out of what the tools may see.
    Outside,
    /// The kernel refuses.
    Refused,
    /// What is asked for can mean several things.
    Ambiguous,
    /// There is too much.
    TooLarge,
    /// It took too long.
    TimedOut,
    /// Whoever asked does not want it any more.
    Cancelled,
    /// Something else failed.
    Failed,
}

impl ToolError {
    /// A failure with its words.
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// What the kernel said about a path.
    pub(crate) fn of_path(call: &str, path: &str, errno: Errno) -> Self {
        let (kind, text) = match errno {
            Errno::NOENT => (
                ErrorKind::Missing,
                format!(
                    "nothing is at `{path}`; `list` shows what is in a directory, `find` looks for names"
                ),
            ),
            Errno::NOTDIR => {
                (ErrorKind::Type, format!("`{path}` leads through something that is no directory"))
            }
            Errno::ISDIR => {
                (ErrorKind::Type, format!("`{path}` is a directory; `list` shows what is in it"))
            }
            Errno::XDEV | Errno::LOOP => (
                ErrorKind::Outside,
                format!("`{path}` leads out of the workspace, or through links that lead nowhere"),
            ),
            Errno::ACCESS | Errno::PERM => (
                ErrorKind::Refused,
                format!("`{path}` may not be used for this ({call}: permission denied)"),
            ),
            Errno::ROFS => (
                ErrorKind::Refused,
                format!("`{path}` is read-only here; write below the working directory or `/tmp`"),
            ),
            Errno::NOSPC | Errno::DQUOT => {
                (ErrorKind::Refused, format!("no space is left where `{path}` is"))
            }
            Errno::NAMETOOLONG => {
                (ErrorKind::Arguments, format!("`{path}` is too long for a path"))
            }
            other => (ErrorKind::Failed, format!("`{path}` cannot be used ({call}: {other})")),
        };
        Self { kind, text }
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the call was cancelled")
    }
}
