//! What is at the roots of a call on this host, and directories to write to that do not exist yet. Makes
//! one level, in a directory of the caller's own, and nothing else.

use std::os::fd::OwnedFd;
use std::path::Path;

use manifest::Found;
use plan::HostPath;
use policy::shown::shown;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// What is at a path, links followed.
pub(crate) fn found(path: &HostPath) -> Found {
    match std::fs::metadata(path.as_path()) {
        Ok(metadata) if metadata.is_dir() => Found::Directory,
        Ok(_) => Found::Other,
        Err(_) => Found::Missing,
    }
}

/// Makes a directory to write to, below no link but those that lead to the caller's home. M35
pub(crate) fn create(path: &HostPath, home: Option<&HostPath>) -> Result<(), String> {
    let wrong = |why: &dyn std::fmt::Display| {
        let path = shown(path);
        format!(
            "the directory `{path}` to write to does not exist and is not made: {why}; make it yourself"
        )
    };
    let kernel = |errno: Errno| wrong(&std::io::Error::from(errno));
    let (Some(parent), Some(name)) = (path.parent(), path.as_path().file_name()) else {
        return Err(wrong(&"it has no parent"));
    };
    let above = open(&parent, home).map_err(|errno| match errno {
        Errno::LOOP | Errno::NOTDIR => {
            wrong(&"a link leads to its parent, or that is no directory")
        }
        errno => kernel(errno),
    })?;
    let status = rustix::fs::fstat(&above).map_err(kernel)?;
    if status.st_uid != rustix::process::geteuid().as_raw() {
        return Err(wrong(&"its parent belongs to somebody else"));
    }
    match rustix::fs::mkdirat(&above, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(kernel(errno)),
    }
}

fn open(parent: &HostPath, home: Option<&HostPath>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = HostPath::root();
    let start = home.filter(|home| parent.is_within(home)).unwrap_or(&root);
    let below = parent.as_path().strip_prefix(start.as_path()).unwrap_or(parent.as_path());
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let start = rustix::fs::open(start.as_path(), flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(start, below, flags, Mode::empty(), resolve)
}
