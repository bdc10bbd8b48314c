//! Whether something with a protected name has appeared during the run, by its dates where those are worth
//! something, and by what was there at the start. Decides; what it decides is carried out in `set_aside`.

use plan::HostPath;
use policy::protected::Entry;
use resolve::protected_names::git::Role;
use rustix::fs::{FileType, Statx, StatxFlags};
use rustix::io::Errno;

use super::directory::Directory;
use super::novelty::Novelty;
use super::{Dating, Listing, Name, Sweep, times};
use crate::quarantine::Finding;

/// Something that is judged.
#[derive(Clone, Copy)]
pub(super) struct Suspect<'a> {
    pub(super) name: &'a Name,
    pub(super) path: &'a HostPath,
    pub(super) entry: &'static Entry,
    pub(super) novelty: Novelty,
    /// What Git does with it, where it is named and not known by its own name.
    pub(super) role: Option<Role>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Moved,
    Stays,
}

/// What the dates of an object say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It is as it was.
    Old,
    /// It may have been made or changed since the start, or moved.
    New,
    /// Nothing, and it lies deeper than a start looks.
    Unknown,
}

impl Sweep<'_> {
    /// Decides about an object whose name is in the table.
    ///
    /// New is what was made since the start. What is older may have been renamed to this name since
    /// then, which a change of its directory gives away; times of change, unlike those of
    /// modification, cannot be set by a program. What came with its directory has kept its times.
    pub(super) fn judge(&mut self, listing: &Listing<'_>, suspect: &Suspect<'_>) -> Judged {
        let Suspect { name, path, entry, novelty, .. } = *suspect;
        let times = match times(listing.descriptor, &name.bytes) {
            Ok(times) => times,
            Err(Errno::NOENT) => return Judged::Stays,
            Err(errno) => {
                self.report(Finding::NotMoved { path: path.clone(), entry, errno });
                return Judged::Stays;
            }
        };
        // What it is by the end is compared with what it was.
        if self.is_watched(suspect) {
            return Judged::Stays;
        }
        let is_certain = novelty >= Novelty::UnlessCovered;
        if !is_certain {
            match self.age(listing, &times) {
                Age::New => {}
                Age::Old => return self.leave_old(listing, suspect),
                Age::Unknown => return self.leave_undated(listing, path),
            }
        }
        let is_as_before =
            novelty != Novelty::Certain && self.is_link_as_before(listing, name, path);
        if is_as_before
            || self.is_harmless_rebase(listing, suspect)
            || self.starts_nothing(listing, suspect)
        {
            return Judged::Stays;
        }
        if self.is_named(listing, path) {
            self.note_change(name, path, entry);
            return Judged::Stays;
        }
        if self.is_of_commits(listing, suspect) {
            return Judged::Stays;
        }
        if self.dating == Dating::Unknown && self.read_only_at_start.contains(path) {
            return Judged::Stays;
        }
        let mask = StatxFlags::from_bits_retain(times.stx_mask);
        let is_older = mask.contains(StatxFlags::BTIME) && !self.dating.is_recent(times.stx_btime);
        // Configuration that starts something is not left to be looked at: whatever asks for the state of a
        // repository obeys it.
        if is_older && !listing.changed && !is_certain && !entry.is_git_configuration() {
            self.note_change(name, path, entry);
            return Judged::Stays;
        }
        // Old, recently changed, and in a directory whose names have changed: it may have got its
        // name just now. A harmless one that is renamed can be renamed back.
        self.set_aside(listing, suspect)
    }

    /// How old an object is. Without dates there is still what a start has seen: in a directory that was
    /// read then, every protected name got a cover, so one without has appeared.
    pub(super) fn age(&self, listing: &Listing<'_>, times: &Statx) -> Age {
        if self.dating == Dating::Unknown {
            let Directory { path, among_packages, .. } = listing.directory;
            // What packages have brought is not covered.
            let was_covered = self.listed_at_start.contains_key(path) && !among_packages;
            return if was_covered { Age::New } else { Age::Unknown };
        }
        if self.dating.is_recent(times.stx_ctime) { Age::New } else { Age::Old }
    }

    fn leave_old(&mut self, listing: &Listing<'_>, suspect: &Suspect<'_>) -> Judged {
        if suspect.novelty == Novelty::Perhaps && listing.directory.inside.is_none() {
            let (path, entry) = (suspect.path.clone(), suspect.entry);
            self.report(Finding::PerhapsMoved { path, entry });
        }
        Judged::Stays
    }

    /// Counts what may be old, to be told all at once: there can be many, after every run the same.
    pub(super) fn leave_undated(&mut self, listing: &Listing<'_>, path: &HostPath) -> Judged {
        if listing.directory.inside.is_none() {
            self.undated.get_or_insert_with(|| (path.clone(), 0)).1 += 1;
        }
        Judged::Stays
    }

    /// Whether the user has said that a protected path may be changed.
    pub(super) fn is_named(&self, listing: &Listing<'_>, path: &HostPath) -> bool {
        listing.directory.is_named || self.named.contains(path)
    }

    /// Of a directory only the list of names has changed: what is new in it comes next. Without dates
    /// nothing says that there was a change.
    fn note_change(&mut self, name: &Name, path: &HostPath, entry: &'static Entry) {
        if name.file_type != FileType::Directory && self.dating != Dating::Unknown {
            self.report(Finding::Modified { path: path.clone(), entry });
        }
    }

    /// Whether a link leads where it led before the run. One that was made in the moment before a
    /// start is as recent as one that the program made.
    pub(super) fn is_link_as_before(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> bool {
        let Some(target) = self.links_at_start.get(path) else { return false };
        let now = rustix::fs::readlinkat(listing.descriptor, &*name.bytes, Vec::new());
        now.is_ok_and(|now| now.as_bytes() == target.as_bytes())
    }
}
