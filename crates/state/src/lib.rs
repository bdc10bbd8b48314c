//! The state directory: where the record, sessions and approvals of one user lie. Made for its owner
//! alone; refused where somebody else could have written to it, or where it is a link to another
//! place. What is inside belongs to those who keep it there.
#![forbid(unsafe_code)]

mod locations;
pub mod runs;

pub use locations::{Account, LocationWarning, Locations};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use plan::HostPath;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// The opened state directory. Holding one proves that it is the caller's alone.
#[derive(Debug)]
pub struct Directory {
    path: HostPath,
    descriptor: OwnedFd,
}

/// Why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Nothing says where it is.
    #[error("there is no place for a state directory: neither HOME nor XDG_STATE_HOME is set")]
    NoPlace,
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
    /// Somebody else owns it, or may write to it, or it is a link.
    #[error("the state directory `{}` cannot be trusted: {why}; fix it with `{fix}`", path.display())]
    Untrustworthy {
        /// Which directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// The command that puts it right.
        fix: String,
    },
}

impl Directory {
    /// The one of this process's user, made if it is missing: `stockade` in `$XDG_STATE_HOME`, else
    /// in `~/.local/state`; for root `/var/lib/stockade` unless the variable is set.
    pub fn of_this_process() -> Result<Self, StateError> {
        Self::open(&Locations::of_this_process().state.ok_or(StateError::NoPlace)?)
    }

    /// The one at this path, made if it is missing.
    pub fn open(path: &HostPath) -> Result<Self, StateError> {
        let place = path.as_path();
        let descriptor = match open(place) {
            Err(Errno::NOENT) => {
                make(place)?;
                open(place)
            }
            opened => opened,
        };
        let descriptor = descriptor.map_err(|errno| match errno {
            // What the kernel says of a link that it may not follow, and of a file.
            Errno::LOOP | Errno::NOTDIR => not_a_directory(place),
            source => StateError::Kernel { call: "open", path: place.to_owned(), source },
        })?;
        check(&descriptor, place)?;
        Ok(Self { path: path.clone(), descriptor })
    }

    /// Where it is.
    pub fn path(&self) -> &HostPath {
        &self.path
    }

    /// The directory of the record, which need not exist yet.
    pub fn audit(&self) -> PathBuf {
        self.path.as_path().join("audit")
    }

    /// The directory of sessions, which need not exist yet.
    pub fn sessions(&self) -> PathBuf {
        self.path.as_path().join("sessions")
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Makes a directory and the missing ones above it, each for its owner alone.
fn make(path: &Path) -> Result<(), StateError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| StateError::Kernel {
        call: "mkdir",
        path: path.to_owned(),
        source: Errno::from_io_error(&error).unwrap_or(Errno::IO),
    })
}

/// What others may only read is closed to them; what they may write to may hold anything by now.
fn check(descriptor: &OwnedFd, path: &Path) -> Result<(), StateError> {
    let failed = |call| move |source| StateError::Kernel { call, path: path.to_owned(), source };
    let status = rustix::fs::fstat(descriptor).map_err(failed("fstat"))?;
    let own = rustix::process::geteuid().as_raw();
    let refused = |why, fix| StateError::Untrustworthy { path: path.to_owned(), why, fix };
    if status.st_uid != own {
        let why = format!("it belongs to user {} and you are user {own}", status.st_uid);
        return Err(refused(why, format!("chown {own} {}", path.display())));
    }
    if status.st_mode & WRITABLE_BY_OTHERS != 0 {
        let why = "others may write to it".to_owned();
        return Err(refused(why, format!("chmod 700 {}", path.display())));
    }
    if status.st_mode & OPEN_TO_OTHERS != 0 {
        rustix::fs::fchmod(descriptor, Mode::RWXU).map_err(failed("chmod"))?;
    }
    Ok(())
}

fn not_a_directory(path: &Path) -> StateError {
    StateError::Untrustworthy {
        path: path.to_owned(),
        why: "it is not a directory but a link or a file".to_owned(),
        fix: format!("mv {0} {0}.old", path.display()),
    }
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const OPEN_TO_OTHERS: u32 = 0o077;
