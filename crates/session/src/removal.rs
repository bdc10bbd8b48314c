//! Removing a session: its name goes first, in one step, then what is left of it.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::beneath::{self, open_below};
use crate::error::SessionError;
use crate::id::SessionId;
use crate::{AreaKind, ENDED, Life, Listed, SCRATCH, Sessions, Use};

/// A session without its name.
#[derive(Debug)]
pub(crate) struct Remains {
    name: String,
    _locked: OwnedFd,
}

impl Sessions {
    /// Whether a session can go that nobody is in. One that cannot be read stays.
    pub(crate) fn is_unneeded(&self, session: &Listed) -> bool {
        match session.life {
            _ if session.ending => true,
            Life::Kept => false,
            Life::OneRun => true,
            Life::IfChanged => self.is_reviewed(&session.id).is_ok_and(|is_reviewed| is_reviewed),
        }
    }

    /// Whether nothing is left in its workspaces that somebody may want: changes, an apply that can be taken back or
    /// that is going on.
    fn is_reviewed(&self, id: &SessionId) -> Result<bool, SessionError> {
        for area in self.areas(id)?.iter().filter(|area| area.kind() == AreaKind::Workspace) {
            let is_free = area.occupy(Use::Alone).is_ok();
            if !is_free || area.has_changes()? || area.has_recent_undo()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether anything would be lost with a session.
    pub fn holds_something(&self, id: &SessionId) -> Result<bool, SessionError> {
        let directory = self.open_session(id)?;
        let failed = |call| self.failed(call, id.as_str());
        let scratch = open_below(&directory, SCRATCH).map_err(failed("open"))?;
        // A program can have taken the right to look into it away.
        let is_empty = beneath::is_empty(&scratch).unwrap_or(false);
        let has_others = self.areas(id)?.iter().any(|area| area.kind() != AreaKind::Workspace);
        Ok(!is_empty || has_others || !self.is_reviewed(id)?)
    }

    /// Ends a session that nobody is in. Returns whether that was so.
    pub fn end_unused(&self, id: &SessionId) -> Result<bool, SessionError> {
        let lock = self.lock(FlockOperation::LockExclusive)?;
        if !self.look_at(id)?.processes.is_empty() {
            return Ok(false);
        }
        // A review is no user of a session.
        if self.areas(id)?.iter().any(|area| area.occupy(Use::Alone).is_err()) {
            return Ok(false);
        }
        let gone = self.set_aside(id)?;
        drop(lock);
        self.wipe(gone)?;
        Ok(true)
    }

    /// Takes a session's name away from it, under the exclusive lock. What is left is locked until
    /// it is wiped.
    pub(crate) fn set_aside(&self, id: &SessionId) -> Result<Remains, SessionError> {
        let failed = |call| self.failed(call, id.as_str());
        let store = &self.0.directory;
        for number in 0_u32.. {
            let name = format!("{ENDED}{id}-{}-{number}", rustix::process::getpid());
            match rustix::fs::renameat(store, id.as_str(), store, &name) {
                Ok(()) => {
                    let remains = self.lock_remains(&name);
                    return remains?.ok_or_else(|| failed("lock")(Errno::WOULDBLOCK));
                }
                Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(Errno::NOENT) => return Err(SessionError::NotFound(id.clone())),
                Err(errno) => return Err(failed("rename")(errno)),
            }
        }
        Err(failed("rename")(Errno::EXIST))
    }

    pub(crate) fn lock_remains(&self, name: &str) -> Result<Option<Remains>, SessionError> {
        let failed = |call| self.failed(call, name);
        let directory = open_below(&self.0.directory, name).map_err(failed("open"))?;
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Remains { name: name.to_owned(), _locked: directory })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(failed("lock")(errno)),
        }
    }

    pub(crate) fn wipe(&self, remains: Remains) -> Result<(), SessionError> {
        self.wipe_name(&remains.name)
    }

    pub(crate) fn wipe_name(&self, name: &str) -> Result<(), SessionError> {
        let failed = |errno| self.failed("remove", name)(errno);
        let text = CString::new(name).map_err(|_| failed(Errno::INVAL))?;
        sys::wipe::wipe(self.0.directory.as_fd(), &text).map_err(failed)
    }
}
