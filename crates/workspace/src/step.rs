//! The steps by which the host is changed, each of them one rename. A step can be done again and taken back: which
//! object lies where tells whether it was done, so a process can die anywhere between two steps or inside of one.
//! Old objects are never destroyed here; they end up in the staging directory.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::beneath::Root;
use crate::copy::Attributes;
use crate::error::{Layer, WorkspaceError};
use crate::failpoint;
use crate::object::{Moment, Object, Stamp};
use crate::path::TreePath;

/// One change of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// A staged object takes a place, and what was there takes its place among the staged ones.
    Put {
        path: TreePath,
        slot: u64,
        new: Stamp,
        modified: Moment,
        old: Option<Expected>,
        holds: Holds,
    },
    /// An object goes among the staged ones, with everything in it.
    Take { path: TreePath, slot: u64, old: Expected },
    /// A directory gets other attributes.
    SetAttributes { path: TreePath, before: Attributes, after: Attributes },
}

/// What must be there before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expected {
    /// An object in exactly this state.
    Exactly(Stamp),
    /// A file of several names, in this state but for what the kernel changes when one of them goes.
    Linked {
        /// Which one.
        stamp: Stamp,
        /// Of its content.
        modified: Moment,
        /// In bytes.
        size: u64,
    },
    /// A directory with nothing in it any more.
    Emptied(Stamp),
}

/// What a staged object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holds {
    /// A file or a link.
    Content,
    /// A directory that is filled by later steps.
    Nothing,
    /// A directory with everything in it.
    Tree,
}

/// Where steps happen.
pub(crate) struct Site<'workspace> {
    pub(crate) host: &'workspace Root,
    pub(crate) staging: OwnedFd,
}

/// What a step left at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Left {
    Nothing,
    Object {
        stamp: Stamp,
        modified: Moment,
        size: u64,
        mode: u32,
    },
    /// Somebody put something else there at once.
    Unknown,
}

impl Left {
    pub(crate) fn stamp(&self) -> Option<&Stamp> {
        match self {
            Self::Object { stamp, .. } => Some(stamp),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// Whether it is still there as it was left. The date of change does not count: an undo that was taken back has
    /// moved it there and back.
    pub(crate) fn is_unchanged(&self, now: Option<&Object>) -> bool {
        match (self, now) {
            (Self::Nothing, None) => true,
            (Self::Object { stamp, .. }, Some(now)) if now.is_directory() => {
                now.stamp.is_same_object(stamp)
            }
            (Self::Object { stamp, modified, size, mode }, Some(now)) => {
                let same = (*modified, *size, *mode) == (now.modified, now.size, now.mode);
                same && now.stamp.is_same_object(stamp)
            }
            (Self::Nothing | Self::Object { .. } | Self::Unknown, _) => false,
        }
    }

    fn is_object(&self, object: &Stamp) -> bool {
        self.stamp().is_some_and(|stamp| stamp.is_same_object(object))
    }
}

impl Site<'_> {
    fn staged(&self, slot: u64) -> Result<Option<Object>, Failure> {
        let staged = Object::at(&self.staging, slot_name(slot).as_bytes());
        staged.map_err(WorkspaceError::area("statx"))
    }
}

/// Why a step did not happen.
type Failure = WorkspaceError;

impl Step {
    pub(crate) fn path(&self) -> &TreePath {
        match self {
            Self::Put { path, .. } | Self::Take { path, .. } | Self::SetAttributes { path, .. } => {
                path
            }
        }
    }

    /// Whether it is a step that took something away and is done: the directory above may be gone by a later one.
    fn is_taken(&self, site: &Site<'_>) -> Result<bool, Failure> {
        match self {
            Self::Take { slot, .. } => Ok(site.staged(*slot)?.is_some()),
            Self::Put { .. } | Self::SetAttributes { .. } => Ok(false),
        }
    }

    /// Where the directory above is gone, so is what was put there; what was taken from there is kept.
    fn without_directory(&self, site: &Site<'_>) -> Result<Reversal, Failure> {
        let (slot, old) = match self {
            Self::Put { slot, old: Some(old), .. } | Self::Take { slot, old, .. } => (slot, old),
            Self::Put { old: None, .. } | Self::SetAttributes { .. } => {
                return Ok(Reversal::Untouched);
            }
        };
        let staged = site.staged(*slot)?;
        let is_kept = staged.is_some_and(|staged| staged.stamp.is_same_object(old.stamp()));
        Ok(if is_kept { Reversal::Blocked } else { Reversal::Untouched })
    }

    /// What the step has left at its path, given what is there: never what somebody else put there since.
    pub(crate) fn left(&self, now: Option<Object>) -> Left {
        let now = now.map(|now| Left::Object {
            stamp: now.stamp,
            modified: now.modified,
            size: now.size,
            mode: now.mode,
        });
        match (self, now) {
            (Self::Take { .. }, _) => Left::Nothing,
            (Self::Put { new, .. }, Some(now)) if now.is_object(new) => now,
            (Self::Put { .. }, _) => Left::Unknown,
            (Self::SetAttributes { .. }, now) => now.unwrap_or(Left::Nothing),
        }
    }

    pub(crate) fn puts_a_tree(&self) -> bool {
        matches!(self, Self::Put { holds: Holds::Tree, .. })
    }

    /// Does the step, unless it is done.
    pub(crate) fn forward(&self, site: &Site<'_>) -> Result<(), Failure> {
        let path = self.path();
        let failed = |call| WorkspaceError::kernel(call, path, Layer::Host);
        if let Self::SetAttributes { before, after, .. } = self {
            return set(site, path, before, after);
        }
        let (parent, name) = match site.host.parent(path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if self.is_taken(site)? => {
                return Ok(());
            }
            other => other.map_err(failed("openat2"))?,
        };
        let place = Place { site, parent, name, path };
        match self {
            Self::Put { slot, new, old: None, .. } => place.put_new(*slot, new),
            Self::Put { slot, new, old: Some(old), .. } => place.replace(*slot, new, old),
            Self::Take { slot, old, .. } => place.take(*slot, old),
            Self::SetAttributes { .. } => Ok(()),
        }
    }

    /// Takes the step back, if it was done. Says whether something else was in the way and was left alone.
    pub(crate) fn back(&self, site: &Site<'_>) -> Result<Reversal, Failure> {
        let path = self.path();
        let failed = |call| WorkspaceError::kernel(call, path, Layer::Host);
        if let Self::SetAttributes { before, after, .. } = self {
            return set(site, path, after, before).map(|()| Reversal::Untouched);
        }
        let (parent, name) = match site.host.parent(path) {
            Ok(parent) => parent,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return self.without_directory(site),
            Err(errno) => return Err(failed("openat2")(errno)),
        };
        let place = Place { site, parent, name, path };
        match self {
            Self::Put { slot, new, modified, old, holds, .. } => {
                place.put_back(*slot, new, *modified, old.as_ref(), *holds)
            }
            Self::Take { slot, .. } => match place.staged(*slot)? {
                None => Ok(Reversal::Untouched),
                Some(_) => place.give_back(*slot),
            },
            Self::SetAttributes { .. } => Ok(Reversal::Untouched),
        }
    }
}

impl Expected {
    pub(crate) fn stamp(&self) -> &Stamp {
        match self {
            Self::Exactly(stamp) | Self::Emptied(stamp) | Self::Linked { stamp, .. } => stamp,
        }
    }
}

/// What taking a step back came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reversal {
    /// There was nothing to do.
    Untouched,
    /// What was there before is there again.
    Restored,
    /// Something of the user's own is there now.
    Blocked,
}

/// A name in an open directory of the host.
struct Place<'step> {
    site: &'step Site<'step>,
    parent: OwnedFd,
    name: &'step [u8],
    path: &'step TreePath,
}

impl Place<'_> {
    fn put_new(&self, slot: u64, new: &Stamp) -> Result<(), Failure> {
        if self.staged(slot)?.is_none() {
            // It was put there before, or somebody has removed it since.
            let now = self.current()?;
            let is_there = now.is_some_and(|now| now.stamp.is_same_object(new));
            return if is_there { Ok(()) } else { Err(self.changed()) };
        }
        match self.rename(Direction::Out, slot, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Err(self.changed()),
            other => other.map_err(self.failed("renameat2")),
        }
    }

    fn replace(&self, slot: u64, new: &Stamp, expected: &Expected) -> Result<(), Failure> {
        let staged = self.staged(slot)?.ok_or_else(|| self.changed())?;
        let old = expected.stamp();
        if staged.stamp.is_same_object(old) {
            return Ok(());
        }
        if !staged.stamp.is_same_object(new) || !self.is_as(expected)? {
            return Err(self.changed());
        }
        self.exchange(slot)?;
        // Between the look and the exchange somebody can have put another object there.
        let displaced = self.staged(slot)?.is_some_and(|now| now.stamp.is_same_object(old));
        if !displaced {
            self.exchange(slot)?;
            return Err(self.changed());
        }
        Ok(())
    }

    fn take(&self, slot: u64, expected: &Expected) -> Result<(), Failure> {
        if self.staged(slot)?.is_some() {
            return Ok(());
        }
        let old = expected.stamp();
        if !self.is_as(expected)? {
            return Err(self.changed());
        }
        self.rename(Direction::In, slot, RenameFlags::NOREPLACE)
            .map_err(self.failed("renameat2"))?;
        let is_it = self.staged(slot)?.is_some_and(|now| now.stamp.is_same_object(old));
        if !is_it {
            self.rename(Direction::Out, slot, RenameFlags::NOREPLACE)
                .map_err(self.failed("renameat2"))?;
            return Err(self.changed());
        }
        Ok(())
    }

    fn put_back(
        &self,
        slot: u64,
        new: &Stamp,
        modified: Moment,
        old: Option<&Expected>,
        holds: Holds,
    ) -> Result<Reversal, Failure> {
        let staged = self.staged(slot)?;
        let now = self.current()?;
        let Some(old) = old else {
            if staged.is_some() {
                return Ok(Reversal::Untouched);
            }
            let Some(now) = now.filter(|now| now.stamp.is_same_object(new)) else {
                return Ok(Reversal::Untouched);
            };
            if holds == Holds::Nothing {
                return self.remove_empty();
            }
            if holds == Holds::Content && now.modified != modified {
                return Ok(Reversal::Blocked);
            }
            self.rename(Direction::In, slot, RenameFlags::NOREPLACE)
                .map_err(self.failed("renameat2"))?;
            return Ok(Reversal::Untouched);
        };
        if !staged.is_some_and(|staged| staged.stamp.is_same_object(old.stamp())) {
            return Ok(Reversal::Untouched);
        }
        match now {
            // Somebody has removed it since: what was there before comes back.
            None => self.give_back(slot),
            Some(now) if !now.stamp.is_same_object(new) => Ok(Reversal::Blocked),
            Some(now) if holds == Holds::Content && now.modified != modified => {
                Ok(Reversal::Blocked)
            }
            Some(_) if holds == Holds::Nothing && !self.is_empty()? => Ok(Reversal::Blocked),
            Some(_) => self.exchange(slot).map(|()| Reversal::Restored),
        }
    }

    fn give_back(&self, slot: u64) -> Result<Reversal, Failure> {
        match self.rename(Direction::Out, slot, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(Reversal::Restored),
            Err(Errno::EXIST) => Ok(Reversal::Blocked),
            Err(errno) => Err(self.failed("renameat2")(errno)),
        }
    }

    fn remove_empty(&self) -> Result<Reversal, Failure> {
        failpoint::reached().map_err(self.failed("unlinkat"))?;
        match rustix::fs::unlinkat(&self.parent, self.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Reversal::Untouched),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Reversal::Blocked),
            Err(errno) => Err(self.failed("unlinkat")(errno)),
        }
    }

    /// Whether what is there is what a step expects.
    fn is_as(&self, expected: &Expected) -> Result<bool, Failure> {
        let Some(now) = self.current()? else { return Ok(false) };
        match expected {
            Expected::Exactly(stamp) => Ok(now.stamp == *stamp),
            Expected::Linked { stamp, modified, size } => {
                let is_same = now.stamp.is_same_object(stamp);
                Ok(is_same && (now.modified, now.size) == (*modified, *size))
            }
            Expected::Emptied(stamp) => Ok(now.stamp.is_same_object(stamp) && self.is_empty()?),
        }
    }

    fn is_empty(&self) -> Result<bool, Failure> {
        let directory = crate::beneath::open_directory(self.parent.as_fd(), self.name);
        let names = directory.and_then(|directory| crate::beneath::names(directory.as_fd(), 1));
        match names {
            Ok(names) => Ok(names.is_empty()),
            Err(Errno::TOOBIG) => Ok(false),
            Err(errno) => Err(self.failed("openat2")(errno)),
        }
    }

    fn staged(&self, slot: u64) -> Result<Option<Object>, Failure> {
        self.site.staged(slot)
    }

    fn current(&self) -> Result<Option<Object>, Failure> {
        Object::at(&self.parent, self.name).map_err(self.failed("statx"))
    }

    fn exchange(&self, slot: u64) -> Result<(), Failure> {
        self.rename(Direction::Out, slot, RenameFlags::EXCHANGE).map_err(self.failed("renameat2"))
    }

    fn rename(&self, direction: Direction, slot: u64, flags: RenameFlags) -> Result<(), Errno> {
        failpoint::reached()?;
        let slot = slot_name(slot);
        let (staging, parent): (BorrowedFd<'_>, BorrowedFd<'_>) =
            (self.site.staging.as_fd(), self.parent.as_fd());
        match direction {
            Direction::Out => rustix::fs::renameat_with(staging, slot, parent, self.name, flags),
            Direction::In => rustix::fs::renameat_with(parent, self.name, staging, slot, flags),
        }
    }

    fn failed(&self, call: &'static str) -> impl FnOnce(Errno) -> WorkspaceError + use<> {
        WorkspaceError::kernel(call, self.path, Layer::Host)
    }

    fn changed(&self) -> WorkspaceError {
        WorkspaceError::HostChanged(self.path.clone())
    }
}

#[derive(Clone, Copy)]
enum Direction {
    /// From the staging directory to the host.
    Out,
    In,
}

/// The name of a staged object.
pub(crate) fn slot_name(slot: u64) -> String {
    slot.to_string()
}

/// Gives a directory of the host other attributes. One that is gone needs none.
fn set(
    site: &Site<'_>,
    path: &TreePath,
    before: &Attributes,
    after: &Attributes,
) -> Result<(), Failure> {
    let directory = match site.host.directory(path) {
        Ok(directory) => directory,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(WorkspaceError::kernel("openat2", path, Layer::Host)(errno)),
    };
    after.give(directory.as_fd(), &before.user).map_err(WorkspaceError::kernel(
        "fchmod",
        path,
        Layer::Host,
    ))
}
