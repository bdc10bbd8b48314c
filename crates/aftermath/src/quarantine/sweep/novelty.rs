//! Whether a directory was there before the run. One that was moved brings what is in it along, and none of that
//! has a new time; but directories keep their numbers, and those at the top of a grant were noted at the
//! start. Deeper ones can only be suspected. Reads times, and names for them.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use plan::HostPath;
use rustix::fs::FileType;

use super::{Dating, Listing, Name, Sweep, open_to_list, times};
use crate::quarantine::{AtStart, Listed};

/// What is known of a directory, or of a name in it; more of it comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Novelty {
    /// It was there, as far as its names and times tell: what is in it is judged by its own.
    Known,
    /// It has changed and so has the one above it: it may have been moved there.
    Perhaps,
    /// Whatever was there at the start is covered; what is not has appeared.
    UnlessCovered,
    /// It was not there.
    Certain,
}

/// The directories of the start, by their paths.
pub(super) fn listed(at_start: &AtStart) -> HashMap<&HostPath, HashMap<&[u8], u64>> {
    at_start.directories.iter().map(|listed| (&listed.path, numbers_in(listed))).collect()
}

fn numbers_in(listed: &Listed) -> HashMap<&[u8], u64> {
    listed.inside.iter().map(|(name, inode)| (name.as_slice(), *inode)).collect()
}

impl Sweep<'_> {
    /// What is known of a directory by its name in another.
    pub(super) fn novelty_inside(&self, listing: &Listing<'_>, name: &Name) -> Novelty {
        let above = listing.directory.novelty;
        if above >= Novelty::UnlessCovered {
            return above;
        }
        if let Some(inside) = self.listed_at_start.get(&listing.directory.path) {
            let number = inside.get(name.bytes.as_slice());
            // Where files are not dated well, they are not always numbered well either.
            let is_numbered = self.dating != Dating::Unknown;
            let was_there = number.is_some_and(|number| !is_numbered || *number == name.inode);
            return if was_there { Novelty::Known } else { Novelty::Certain };
        }
        let has_changed = || {
            let times = times(listing.descriptor, &name.bytes);
            times.map_or(true, |times| self.dating.is_recent(times.stx_ctime))
        };
        if above == Novelty::Perhaps || (listing.changed && has_changed()) {
            Novelty::Perhaps
        } else {
            Novelty::Known
        }
    }

    /// Whether a name is as it was, with all that is in it, as its dates tell.
    pub(super) fn is_unchanged(&mut self, listing: &Listing<'_>, name: &Name) -> bool {
        let dating = self.dating;
        let is_old = |directory: &OwnedFd, name: &[u8]| {
            times(directory, name).is_ok_and(|times| !dating.is_recent(times.stx_ctime))
        };
        if !is_old(listing.descriptor, &name.bytes) {
            return false;
        }
        if name.file_type != FileType::Directory {
            return true;
        }
        let Ok(inner) = open_to_list(listing.descriptor, &name.bytes) else { return false };
        let names = self.list(&inner);
        names.is_ok_and(|names| names.iter().all(|name| is_old(&inner, &name.bytes)))
    }

    /// The same for what Git obeys in a directory that is a repository now: one that was read at the start
    /// and was a repository then has covers over it.
    pub(super) fn novelty_of_repository(&self, listing: &Listing<'_>) -> Novelty {
        if self.listed_at_start.contains_key(&listing.directory.path) {
            Novelty::UnlessCovered
        } else if listing.changed {
            Novelty::Perhaps
        } else {
            Novelty::Known
        }
    }
}
