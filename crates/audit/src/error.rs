//! Why the log cannot be written or read. Says whose fault it is: somebody who may not touch the log,
//! the storage, or a log that is no longer what was written.

use std::path::PathBuf;

use rustix::io::Errno;

/// Why the log did not take a record, or cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
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
    /// Somebody else owns a part of the log, or may write to it.
    #[error("the log in `{}` cannot be trusted: {why}; fix it with `{fix}`", path.display())]
    Untrustworthy {
        /// Which part.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// The command that puts it right.
        fix: String,
    },
    /// What was durable is not there any more, or not as it was written. Nothing is added to such a
    /// log: it would cover up what happened.
    #[error(
        "the log in `{}` was changed: {problem}; `stockade audit verify` tells more, and a new log \
         begins once whatever keeps this one open is stopped and it is moved away",
        path.display()
    )]
    Damaged {
        /// The log's directory.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// The directory is not at its path any more. Whoever reads the log there would not find what is
    /// written to this one.
    #[error(
        "the log that was opened in `{}` is not there any more: {problem}; whatever writes to it has \
         to be started again",
        path.display()
    )]
    Moved {
        /// Where it was.
        path: PathBuf,
        /// What is there instead.
        problem: &'static str,
    },
    /// Another process holds the log and does not let go of it.
    #[error("another process has held the log in `{}` for {seconds} s", path.display())]
    Busy {
        /// The log's directory.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The storage did not keep what was written before, so nobody knows what it has kept.
    #[error(
        "the storage of the log in `{}` has failed before; it takes no more records until it is \
         opened again",
        path.display()
    )]
    StorageFailed {
        /// The log's directory.
        path: PathBuf,
        /// The kernel's answer at that time.
        source: Errno,
    },
    /// The key that signs checkpoints cannot be used.
    #[error("the log's key `{}` {problem}", path.display())]
    Key {
        /// The key's file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Only the log itself records its own events.
    #[error("an event of the log itself cannot be appended")]
    Reserved,
    /// The event has more in it than a record may hold.
    #[error("a record of {bytes} bytes is longer than {} bytes", crate::line::LONGEST_LINE)]
    TooLong {
        /// How long it would be.
        bytes: usize,
    },
    /// The event cannot be written as text.
    #[error("the event has no text form: {0}")]
    Unwritable(String),
}

impl AuditError {
    /// Whether there is no room left for the log.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::Kernel { source: Errno::NOSPC | Errno::DQUOT, .. }
                | Self::StorageFailed { source: Errno::NOSPC | Errno::DQUOT, .. }
        )
    }
}
