//! Cages that may write to a directory, and applies that make their files in it: one holds the other off, by locks
//! on the directory itself that the kernel gives back whatever happens to their holder. An apply whose files are made
//! in the area needs none, because no cage has that.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use plan::HostPath;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use crate::beneath::Root;
use crate::error::WorkspaceError;
use crate::object::{Object, Stamp};

/// A cage may write to directories. Dropping it says that it is gone.
#[derive(Debug)]
pub struct Writing {
    _locked: Vec<OwnedFd>,
}

impl Writing {
    /// Says so of a cage before its start. No apply makes files in these directories, or below them, meanwhile. Each takes
    /// a descriptor, for which this process's soft limit is raised where it has to be.
    pub fn begin(directories: &[HostPath]) -> Result<Self, WorkspaceError> {
        make_room(directories.len()).map_err(WorkspaceError::area("setrlimit"))?;
        let mut locked = Vec::with_capacity(directories.len());
        for directory in directories {
            let flags = LISTED | OFlags::NOFOLLOW;
            let opened = rustix::fs::openat(CWD, directory.as_path(), flags, Mode::empty());
            let opened = match opened {
                Ok(opened) => opened,
                // What the caller cannot read is nobody's to apply to, and what is gone by now nobody's to write to.
                Err(Errno::ACCESS | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => return Err(WorkspaceError::area("open")(errno)),
            };
            match lock(&opened, FlockOperation::NonBlockingLockShared) {
                Ok(()) => locked.push(opened),
                Err(Errno::WOULDBLOCK) => {
                    return Err(WorkspaceError::ApplyAtWork(directory.clone()));
                }
                // A file system without locks: an apply there brings nothing that runs code.
                Err(_) => {}
            }
        }
        Ok(Self { _locked: locked })
    }
}

fn make_room(descriptors: usize) -> Result<(), Errno> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let wanted = u64::try_from(descriptors).unwrap_or(u64::MAX).saturating_add(OTHERS);
    if limit.current.is_none_or(|soft| soft >= wanted) {
        return Ok(());
    }
    let soft = limit.maximum.map_or(wanted, |hard| hard.min(wanted));
    let more = Rlimit { current: Some(soft), maximum: limit.maximum };
    rustix::process::setrlimit(Resource::Nofile, more)
}

/// Whether what is made may be code that runs on the host by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsCode {
    No,
    Perhaps,
}

/// No cage that is given this very directory begins. Dropping it lets them.
#[derive(Debug)]
pub(crate) struct HeldOff {
    _locked: OwnedFd,
}

impl HeldOff {
    /// Refused while there is a cage that may write to the directory, which it may by a grant of one above it too. Those
    /// above are only asked: other applies below them must not wait for this one.
    pub(crate) fn begin(host: &Root, runs_code: RunsCode) -> Result<Self, WorkspaceError> {
        let open = |from: BorrowedFd<'_>, name: &str| {
            rustix::fs::openat(from, name, LISTED, Mode::empty())
        };
        let locked = open(host.as_fd(), ".").map_err(WorkspaceError::area("openat"))?;
        take(&locked, runs_code)?;
        let mut below = stamp(&locked)?;
        let mut next = open(locked.as_fd(), "..");
        // What the caller cannot read, nobody grants in its name.
        while let Ok(directory) = next {
            let found = stamp(&directory)?;
            if found.is_same_object(&below) {
                break;
            }
            take(&directory, runs_code)?;
            below = found;
            next = open(directory.as_fd(), "..");
        }
        Ok(Self { _locked: locked })
    }
}

fn stamp(directory: &OwnedFd) -> Result<Stamp, WorkspaceError> {
    Object::of(directory).map(|found| found.stamp).map_err(WorkspaceError::area("statx"))
}

/// Locks a directory against everybody, as long as it is open.
fn take(directory: &OwnedFd, runs_code: RunsCode) -> Result<(), WorkspaceError> {
    match lock(directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(WorkspaceError::WritableInCage),
        Err(errno) if runs_code == RunsCode::Perhaps => Err(WorkspaceError::area("flock")(errno)),
        // A file system without locks.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Another apply on the same tree holds a directory for a moment: it is given that.
fn lock(directory: impl AsFd, how: FlockOperation) -> Result<(), Errno> {
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&directory, how) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if begun.elapsed() < LONGEST_WAIT => {
                std::thread::sleep(BETWEEN_TRIES);
            }
            other => return other,
        }
    }
}

const LISTED: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What a process may have open besides.
const OTHERS: u64 = 256;
const LONGEST_WAIT: Duration = Duration::from_millis(300);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
