//! Whether the host's objects are still those that a cage began with. A host object that changed since is told by
//! its date of change, which no program can set; what an apply left there itself is known and does not count.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::change::Conflict;
use crate::error::WorkspaceError;
use crate::kept;
use crate::object::{Moment, Object, Stamp};
use crate::path::TreePath;

/// The moments at which runs began, and what was left by us since.
#[derive(Debug)]
pub(crate) struct Since {
    /// Of the first run.
    first: Moment,
    /// Of later ones in the same workspace, sorted.
    later: Vec<Moment>,
    known: HashMap<TreePath, Stamp>,
}

/// Marks that a run begins in a workspace; to be called before anything of the run can write.
pub fn mark_run(area: BorrowedFd<'_>) -> Result<(), WorkspaceError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let make = |directory: BorrowedFd<'_>, name: &str| {
        rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map(drop)
    };
    match make(area, START) {
        Err(Errno::EXIST) => {}
        other => return other.map_err(WorkspaceError::area("create")),
    }
    kept::make_directory(area, STARTS).map_err(WorkspaceError::area("mkdir"))?;
    let starts = beneath::open_directory(area, STARTS.as_bytes())
        .map_err(WorkspaceError::area("openat2"))?;
    for number in 1..MOST_STARTS {
        match make(starts.as_fd(), &number.to_string()) {
            Err(Errno::EXIST) => {}
            other => return other.map_err(WorkspaceError::area("create")),
        }
    }
    // Without a mark of its own a run counts from an earlier one, which finds more conflicts and not fewer.
    Ok(())
}

impl Since {
    pub(crate) fn read(area: BorrowedFd<'_>) -> Result<Self, WorkspaceError> {
        let start =
            Object::at(area, START.as_bytes()).map_err(WorkspaceError::area("statx"))?.ok_or_else(
                || WorkspaceError::Malformed { file: START, why: "it is missing".to_owned() },
            )?;
        let mut later = Vec::new();
        match beneath::open_directory(area, STARTS.as_bytes()) {
            Ok(starts) => beneath::each_name(starts.as_fd(), |name| {
                later.extend(Object::at(&starts, name)?.map(|start| start.stamp.changed));
                Ok(())
            })
            .map_err(WorkspaceError::area("getdents64"))?,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(WorkspaceError::area("openat2")(errno)),
        }
        later.sort_unstable();
        let known: Known = kept::read(area, KNOWN)?.unwrap_or_default();
        Ok(Self { first: start.stamp.changed, later, known: known.left.into_iter().collect() })
    }

    /// Notes what we left on the host ourselves, durably.
    pub(crate) fn remember(
        area: BorrowedFd<'_>,
        left: impl IntoIterator<Item = (TreePath, Option<Stamp>)>,
    ) -> Result<(), WorkspaceError> {
        let known: Known = kept::read(area, KNOWN)?.unwrap_or_default();
        let mut all: HashMap<TreePath, Stamp> = known.left.into_iter().collect();
        for (path, stamp) in left {
            match stamp {
                Some(stamp) => all.insert(path, stamp),
                None => all.remove(&path),
            };
        }
        let mut left: Vec<(TreePath, Stamp)> = all.into_iter().collect();
        left.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        kept::write(area, KNOWN, &Known { left })
    }

    /// Whether the host's object is another one, or in another state, than the program saw when it made an object
    /// of the upper layer.
    pub(crate) fn judge(&self, path: &TreePath, host: &Object, upper: &Object) -> Option<Conflict> {
        // A directory changes with the names in it, each of which is judged by itself.
        let is_known = |known: &Stamp| {
            *known == host.stamp || host.is_directory() && known.is_same_object(&host.stamp)
        };
        if self.known.get(path).is_some_and(is_known) {
            return None;
        }
        let began = self.began(upper);
        if host.born.is_some_and(|born| is_since(born, began)) {
            return Some(Conflict::Made);
        }
        let counts = !host.is_directory() || host.born.is_none();
        (counts && is_since(host.stamp.changed, began)).then_some(Conflict::Changed)
    }

    /// Whether names came or went in a directory of the host since an object of the upper layer could be made.
    pub(crate) fn names_changed(&self, path: &TreePath, host: &Object, upper: &Object) -> bool {
        let is_known = self.known.get(path) == Some(&host.stamp);
        !is_known && is_since(host.stamp.changed, self.began(upper))
    }

    /// What was made in a later run was made from what the host had when that run began.
    fn began(&self, upper: &Object) -> Moment {
        let began = upper.born.and_then(|born| self.later.iter().rfind(|start| **start < born));
        *began.unwrap_or(&self.first)
    }

    pub(crate) fn first(&self) -> Moment {
        self.first
    }

    pub(crate) fn last(&self) -> Moment {
        self.later.last().copied().unwrap_or(self.first)
    }
}

/// A date in full seconds may be that of a file system without parts of one, where a later change looks earlier.
fn is_since(date: Moment, began: Moment) -> bool {
    if date.1 == 0 { date.0 >= began.0 } else { date >= began }
}

/// What an apply or an undo left on the host.
#[derive(Default, Serialize, Deserialize)]
struct Known {
    left: Vec<(TreePath, Stamp)>,
}

const START: &str = "start";
const STARTS: &str = "starts";
const KNOWN: &str = "known";
const MOST_STARTS: u32 = 100_000;
