//! The session's own small files: each is replaced as a whole and durable when the call returns. Never touches
//! what a program wrote.

use std::io::{BufReader, BufWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::beneath;
use crate::error::WorkspaceError;
use crate::failpoint;

/// Reads a file of the session; none if there is none.
pub(crate) fn read<T: DeserializeOwned>(
    directory: BorrowedFd<'_>,
    name: &'static str,
) -> Result<Option<T>, WorkspaceError> {
    let file = match beneath::open_file(directory, name.as_bytes()) {
        Ok((file, _)) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(WorkspaceError::area("openat2")(errno)),
    };
    let reader = BufReader::with_capacity(BUFFER, std::fs::File::from(file));
    match serde_json::from_reader(reader) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(WorkspaceError::Malformed { file: name, why: error.to_string() }),
    }
}

/// Writes a file of the session: whole or not at all.
pub(crate) fn write<T: Serialize>(
    directory: BorrowedFd<'_>,
    name: &'static str,
    value: &T,
) -> Result<(), WorkspaceError> {
    let failed = WorkspaceError::area;
    let new = format!("{name}.new");
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW;
    failpoint::reached().map_err(failed("openat"))?;
    let file = rustix::fs::openat(directory, &new, flags | OFlags::CLOEXEC, OWN_FILE)
        .map_err(failed("openat"))?;
    let mut writer = BufWriter::with_capacity(BUFFER, std::fs::File::from(file));
    failpoint::reached().map_err(failed("write"))?;
    serde_json::to_writer(&mut writer, value)
        .map_err(|error| failed("write")(errno_of(&error.into())))?;
    let flushed = writer.flush().and_then(|()| writer.get_ref().sync_all());
    flushed.map_err(|error| failed("write")(errno_of(&error)))?;
    failpoint::reached().map_err(failed("renameat"))?;
    rustix::fs::renameat(directory, &new, directory, name).map_err(failed("renameat"))?;
    sync(directory)
}

/// Removes a file of the session, if it is there.
pub(crate) fn remove(directory: BorrowedFd<'_>, name: &str) -> Result<(), WorkspaceError> {
    failpoint::reached().map_err(WorkspaceError::area("unlinkat"))?;
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(WorkspaceError::area("unlinkat")(errno)),
    }
}

/// Makes names in a directory durable.
pub(crate) fn sync(directory: BorrowedFd<'_>) -> Result<(), WorkspaceError> {
    failpoint::reached().map_err(WorkspaceError::area("fsync"))?;
    rustix::fs::fsync(directory).map_err(WorkspaceError::area("fsync"))
}

/// Makes a directory of our own, unless it is there.
pub(crate) fn make_directory(parent: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    failpoint::reached()?;
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes and opens a directory of our own.
pub(crate) fn directory(
    parent: BorrowedFd<'_>,
    name: &str,
) -> Result<std::os::fd::OwnedFd, WorkspaceError> {
    make_directory(parent, name).map_err(WorkspaceError::area("mkdirat"))?;
    let opened = beneath::open_directory(parent, name.as_bytes());
    opened.map_err(WorkspaceError::area("openat2"))
}

/// Whether the session has a file of this name.
pub(crate) fn exists(directory: BorrowedFd<'_>, name: &str) -> Result<bool, WorkspaceError> {
    match rustix::fs::statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(WorkspaceError::area("statat")(errno)),
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

const OWN_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

const BUFFER: usize = 128 * 1024;
