//! Why a store cannot be opened or used, in words for a person. What a guest sees of it is a number.

use std::path::PathBuf;

use rusqlite::ErrorCode;
use rustix::io::Errno;

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A call about its file failed.
    #[error("cannot {action} the store `{}`", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// There is none.
    #[error("there is no store at `{}`", .0.display())]
    Missing(PathBuf),
    /// There is one already.
    #[error("there is something at `{}` already", .0.display())]
    Exists(PathBuf),
    /// Another process has it open.
    #[error("the store `{}` is in use by another process", .0.display())]
    InUse(PathBuf),
    /// It is something else.
    #[error("`{}` is no store", .0.display())]
    NotAStore(PathBuf),
    /// A later version wrote it.
    #[error("the store `{}` has format {found}, and this version reads format {known}", path.display())]
    Format {
        /// Its file.
        path: PathBuf,
        /// What it has.
        found: i64,
        /// What can be read.
        known: i64,
    },
    /// What is in it contradicts itself.
    #[error("the store `{}` is damaged: {what}", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The database refused.
    #[error("the database of the store `{}` refused", path.display())]
    Database {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// An operation on its files failed.
    #[error("cannot {action} `{subject}`")]
    Operation {
        /// What was tried.
        action: &'static str,
        /// With what.
        subject: String,
        /// Why not.
        source: vfs::Error,
    },
}

/// A failure of the database, apart from what a guest was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the database said.
    pub text: String,
    /// What the guest was told.
    pub errno: Errno,
}

/// What a guest is told of a failure of the database.
pub(crate) fn errno(error: &rusqlite::Error) -> Errno {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Errno::NOSPC,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Errno::AGAIN,
        Some(ErrorCode::ReadOnly) => Errno::ROFS,
        Some(ErrorCode::OutOfMemory) => Errno::NOMEM,
        _ => Errno::IO,
    }
}

/// A failure of the database, for whoever opened it.
pub(crate) fn of_database(path: &std::path::Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore(path),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, what: source.to_string() },
        _ => StoreError::Database { path, source },
    }
}
