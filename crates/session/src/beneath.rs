//! Directories and files of ours, reached from an open directory. Never follows a link, never leaves the file system.

use std::io::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use plan::HostPath;
use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use crate::error::SessionError;

/// A directory right below another one, whatever somebody might have put in its place.
pub(crate) fn open_below(directory: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
    rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve)
}

pub(crate) fn make_file(directory: impl AsFd, name: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map(drop)
}

pub(crate) fn has(directory: impl AsFd, name: &str) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

pub(crate) fn check_ownership(directory: &OwnedFd, path: &HostPath) -> Result<(), SessionError> {
    let status =
        rustix::fs::fstat(directory).map_err(SessionError::kernel("fstat", path.as_path()))?;
    let own = rustix::process::geteuid().as_raw();
    let shown = path.as_path().display();
    let (why, fix) = if status.st_uid != own {
        (format!("user {} owns it", status.st_uid), format!("chown {own} {shown}"))
    } else if status.st_mode & 0o077 != 0 {
        ("others may look into it".to_owned(), format!("chmod 700 {shown}"))
    } else {
        return Ok(());
    };
    Err(SessionError::Untrustworthy { path: path.as_path().to_owned(), why, fix })
}

/// Makes a directory of the user's own, unless it is there.
pub(crate) fn make_directory(parent: impl AsFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Writes a small file that does not exist yet.
pub(crate) fn write_new(directory: impl AsFd, name: &str, contents: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    let written = std::fs::File::from(file).write_all(contents);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// What a small file holds; one that is longer is refused.
pub(crate) fn read(directory: impl AsFd, name: &str, most: usize) -> Result<Vec<u8>, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve)?;
    let mut contents = Vec::with_capacity(most.saturating_add(1));
    while contents.len() <= most {
        match rustix::io::read(&file, spare_capacity(&mut contents)) {
            Ok(0) => return Ok(contents),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::FBIG)
}

/// The names in a directory that are text.
pub(crate) fn names(directory: impl AsFd) -> Result<Vec<String>, Errno> {
    // A descriptor of its own: where it stands is nobody else's concern.
    let directory = open_below(directory, ".")?;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

/// Whether a directory has nothing in it.
pub(crate) fn is_empty(directory: impl AsFd) -> Result<bool, Errno> {
    let directory = open_below(directory, ".")?;
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(&directory, &mut buffer);
    while let Some(entry) = entries.next() {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) const DIRECTORY_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
