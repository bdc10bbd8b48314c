//! What a session keeps, for whoever copies it: read while nobody is in the session, and filled whole before the
//! session has its name.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode};
use rustix::io::Errno;

use crate::areas::{Area, Use};
use crate::beneath::{make_directory, make_file, open_below};
use crate::error::SessionError;
use crate::id::SessionId;
use crate::{KEPT, NEW, SCRATCH, Sessions, USERS};

/// What a session keeps. As long as this lives nobody begins to use a workspace, cache or home of it.
#[derive(Debug)]
pub struct Contents {
    directory: OwnedFd,
    _held: Vec<Area>,
}

/// What becomes of a session that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// There must be none.
    None,
    /// It goes, if nobody is in it.
    Replaced,
}

impl Contents {
    /// The names in a session's directory that are kept; all others are about this host and its processes.
    pub const NAMES: [&str; 2] = [SCRATCH, "areas"];

    /// Whether a path in it is what overlayfs or a host's command works in, which means nothing afterwards.
    pub fn is_work(path: &[u8]) -> bool {
        let mut names = path.split(|byte| *byte == b'/');
        let is_area = names.next() == Some(b"areas") && names.next().is_some();
        is_area && matches!(names.next(), Some(b"work" | b"upper.new" | b"staging"))
    }
}

impl AsFd for Contents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Sessions {
    /// What a session keeps, if nobody is in it.
    pub fn contents(&self, id: &SessionId) -> Result<Contents, SessionError> {
        let _lock = self.lock(FlockOperation::LockExclusive)?;
        self.check_unused(id)?;
        let held = self.areas(id)?;
        held.iter().try_for_each(|area| area.occupy(Use::Alone))?;
        Ok(Contents { directory: self.open_session(id)?, _held: held })
    }

    /// Makes a session that is kept, with what is put into its directory. It is there whole or not at all; one that it
    /// replaces stays if anything fails.
    pub fn make_with<E: From<SessionError>>(
        &self,
        id: &SessionId,
        before: Before,
        fill: impl FnOnce(OwnedFd) -> Result<(), E>,
    ) -> Result<(), E> {
        if before == Before::None && self.look(id).is_ok() {
            return Err(SessionError::Exists(id.clone()).into());
        }
        let unlike_all = SessionId::generate().map_err(self.failed("getrandom", ""))?;
        let name = format!("{NEW}{unlike_all}");
        let made = self.make_unnamed(&name).map_err(E::from).and_then(|(new, locked)| {
            fill(new)?;
            self.finish(&name, id, before)?;
            drop(locked);
            Ok(())
        });
        if made.is_err() {
            // What stays is removed by the next sweep.
            let _left = self.wipe_name(&name);
        }
        made
    }

    /// A session without a name. As long as it is locked no sweep removes it.
    fn make_unnamed(&self, name: &str) -> Result<(OwnedFd, OwnedFd), SessionError> {
        let store = &self.0.directory;
        rustix::fs::mkdirat(store, name, Mode::RWXU).map_err(self.failed("mkdir", name))?;
        let locked = open_below(store, name).map_err(self.failed("open", name))?;
        rustix::fs::flock(&locked, FlockOperation::NonBlockingLockExclusive)
            .map_err(self.failed("lock", name))?;
        Ok((open_below(store, name).map_err(self.failed("open", name))?, locked))
    }

    /// Gives a filled one its name.
    fn finish(&self, name: &str, id: &SessionId, before: Before) -> Result<(), SessionError> {
        let store = &self.0.directory;
        let new = open_below(store, name).map_err(self.failed("open", name))?;
        let complete = || -> Result<(), Errno> {
            make_directory(&new, SCRATCH)?;
            rustix::fs::mkdirat(&new, USERS, Mode::RWXU)?;
            make_file(&new, KEPT)
        };
        complete().map_err(self.failed("make", name))?;
        let lock = self.lock(FlockOperation::LockExclusive)?;
        let is_there = rustix::fs::statat(store, id.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let gone = match (is_there, before) {
            (false, _) => None,
            (true, Before::None) => return Err(SessionError::Exists(id.clone())),
            (true, Before::Replaced) => {
                self.check_unused(id)?;
                self.areas(id)?.iter().try_for_each(|area| area.occupy(Use::Alone))?;
                Some(self.set_aside(id)?)
            }
        };
        rustix::fs::renameat(store, name, store, id.as_str())
            .map_err(self.failed("rename", name))?;
        drop(lock);
        gone.map_or(Ok(()), |gone| self.wipe(gone))
    }

    fn check_unused(&self, id: &SessionId) -> Result<(), SessionError> {
        let users = self.look_at(id)?.processes;
        if users.is_empty() {
            return Ok(());
        }
        let processes = users.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        Err(SessionError::InUse { id: id.clone(), processes })
    }
}
