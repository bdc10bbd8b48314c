//! Review of what a cage changed in a copy-on-write view of a directory: what differs, as text, and bringing it to
//! the host, all or some, with a way back.
//!
//! The view is the kernel's overlayfs: the host's directory below, and above it an upper layer in the session's own
//! directory, its *area*. This crate is everything after the run. It never mounts and starts no program but `git`,
//! for one object of the host's own repository. Whatever lies in the upper layer was written by the program and is
//! hostile: nothing in it is followed, and everything happens beneath descriptors.
//!
//! The workspace must not be mounted while it is changed here; whoever runs cages sees to that.
#![forbid(unsafe_code)]

mod apply;
mod attributes;
mod base;
mod beneath;
mod change;
mod content;
mod copy;
mod diff;
mod error;
mod failpoint;
mod guard;
mod journal;
mod kept;
mod layer;
mod merge;
mod meter;
mod object;
mod path;
mod progress;
mod rename;
mod scan;
mod since;
mod step;
mod undo;
mod usage;
mod writers;

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode};
use rustix::io::Errno;

use beneath::Root;
use object::Object;
use progress::Listener;
use scan::Scan;
use since::Since;

pub use apply::{Applied, Merging, Request, Selection};
pub use attributes::Marking;
pub use base::note_commit;
pub use change::{Change, Changes, Conflict, Refusal, Refused, What};
pub use diff::{
    FileHunks, Hunk, Line, Report, Style, Text, quoted_name, report, write_change, write_diff,
    write_hunk, write_json, write_names, write_notes, write_stat,
};
pub use error::{Advice, Layer, WorkspaceError};
pub use guard::Guarded;
pub use meter::{Amount, Meter, Reading};
pub use object::{Kind, Moment, Object as ObjectInfo, Stamp};
pub use path::{TreePath, TreePathError};
pub use progress::Progress;
pub use since::mark_run;
pub use usage::Usage;
pub use writers::Writing;

/// One directory of the host, and what cages changed in their view of it.
#[derive(Debug)]
pub struct Workspace {
    host: Root,
    area: Root,
    marking: Marking,
    most_names: usize,
    listener: Listener,
    guarded: Guarded,
}

/// Holds other commands off. Dropping it lets them go on.
struct Lock<'workspace>(&'workspace Workspace);

impl Workspace {
    /// Takes the host's directory and the session's area for it. The area is the user's own and closed to everybody
    /// else; it holds the layer `upper` and the mark `start`.
    pub fn new(host: OwnedFd, area: OwnedFd, marking: Marking) -> Self {
        let (host, area) = (Root::new(host), Root::new(area));
        let (listener, guarded) = (Listener::default(), Guarded::default());
        Self { host, area, marking, most_names: MOST_NAMES, listener, guarded }
    }

    /// Looks at no more than so many names.
    pub fn with_most_names(self, most_names: usize) -> Self {
        Self { most_names, ..self }
    }

    /// Knows what the host has that makes code run.
    pub fn with_guarded(self, guarded: Guarded) -> Self {
        Self { guarded, ..self }
    }

    /// Says how far long work has come to this function, often.
    pub fn with_progress(self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { listener: Listener::new(listener), ..self }
    }

    /// Everything that differs from the host. Finishes first what an interrupted call left.
    pub fn changes(&self) -> Result<Changes, WorkspaceError> {
        self.recover()?;
        self.look()
    }

    /// Everything that differs at the moment, for a workspace that a program uses: nothing is finished, and what the
    /// program does meanwhile may be seen in part.
    pub fn changes_in_use(&self) -> Result<Changes, WorkspaceError> {
        self.look()
    }

    /// Finishes or takes back what a call left that was interrupted. Returns whether there was any such thing.
    pub fn recover(&self) -> Result<bool, WorkspaceError> {
        let is_open = journal::is_open(self)?;
        if is_open {
            let _lock = self.lock()?;
            journal::recover(self)?;
        }
        Ok(is_open)
    }

    /// What an apply would do. Changes nothing.
    pub fn preview(&self, changes: &Changes, request: &Request) -> Result<Applied, WorkspaceError> {
        apply::preview(self, changes, request)
    }

    /// Brings selected changes to the host: all of them, or none if something fails. What was reviewed must still be
    /// what is there.
    pub fn apply(&self, changes: &Changes, request: &Request) -> Result<Applied, WorkspaceError> {
        let _lock = self.lock()?;
        journal::recover(self)?;
        apply::apply(self, changes, request)
    }

    /// Takes the last apply back: the host is as before it, and the changes are unapplied again. Refuses where the
    /// host was changed since, unless in these very paths, where what the host has now is given up.
    pub fn undo(&self, overwritten: &[TreePath]) -> Result<Vec<TreePath>, WorkspaceError> {
        let _lock = self.lock()?;
        journal::recover(self)?;
        undo::undo(self, overwritten)
    }

    /// Throws changes away: those named by the paths, or below them.
    pub fn discard(&self, paths: &[TreePath]) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        journal::recover(self)?;
        layer::discard(self, paths)
    }

    /// Throws all changes away, what is never applied as well.
    pub fn discard_all(&self) -> Result<(), WorkspaceError> {
        let _lock = self.lock()?;
        journal::recover(self)?;
        layer::discard_all(self)
    }

    /// Whether a run or another command has the workspace for itself at the moment.
    pub fn is_in_use(&self) -> Result<bool, WorkspaceError> {
        match self.lock() {
            Ok(_lock) => Ok(false),
            Err(WorkspaceError::Busy) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether there is an apply that can be taken back.
    pub fn has_undo(&self) -> Result<bool, WorkspaceError> {
        undo::is_possible(self)
    }

    /// When the last run in it began.
    pub fn last_run(&self) -> Result<Moment, WorkspaceError> {
        Ok(Since::read(self.area.as_fd())?.last())
    }

    /// How much the session holds, and since when.
    pub fn usage(&self) -> Result<Usage, WorkspaceError> {
        usage::usage(self)
    }

    /// Opens the upper layer. A program that changes the mode of its view's root changes that of the layer, and could
    /// shut us out.
    fn upper(&self) -> Result<Root, WorkspaceError> {
        let found =
            Object::at(&self.area, UPPER.as_bytes()).map_err(WorkspaceError::area("statx"))?;
        if let Some(shut) =
            found.filter(|found| found.is_directory() && found.mode & 0o700 != 0o700)
        {
            let mode = Mode::from_raw_mode(shut.mode | 0o700);
            rustix::fs::chmodat(&self.area, UPPER, mode, AtFlags::empty())
                .map_err(WorkspaceError::area("fchmodat"))?;
        }
        let upper = beneath::open_directory(self.area.as_fd(), UPPER.as_bytes());
        upper.map(Root::new).map_err(WorkspaceError::area("openat2"))
    }

    /// What differs, as things are.
    fn look(&self) -> Result<Changes, WorkspaceError> {
        let upper = self.upper()?;
        let device = Object::of(&self.host).map_err(WorkspaceError::area("statx"))?.stamp.device;
        let scan = Scan {
            upper: &upper,
            host: &self.host,
            marking: self.marking,
            since: Since::read(self.area.as_fd())?,
            most: self.most_names,
            device,
            listener: &self.listener,
        };
        let mut changes = scan.run()?;
        rename::find(&mut changes, &self.host, &upper);
        guard::mark(&mut changes, &self.host, &self.guarded);
        Ok(changes)
    }

    fn lock(&self) -> Result<Lock<'_>, WorkspaceError> {
        match rustix::fs::flock(&self.area, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock(self)),
            Err(Errno::WOULDBLOCK) => Err(WorkspaceError::Busy),
            Err(errno) => Err(WorkspaceError::area("flock")(errno)),
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Closing the descriptor would do it too.
        let _ = rustix::fs::flock(&self.0.area, FlockOperation::Unlock);
    }
}

/// The layer that overlayfs writes to.
const UPPER: &str = "upper";

/// More than any project has, and few enough to be held in memory.
const MOST_NAMES: usize = 2_000_000;
