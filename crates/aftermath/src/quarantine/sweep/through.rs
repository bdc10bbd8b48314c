//! Links in the places of directories that the table looks into: `.cargo` for `.cargo/config.toml`. A new one
//! gives names to files that may be old, and is set aside where it does; behind an old one new files are
//! found. Follows such links and no others; what lies outside the grant is never renamed.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;

use plan::HostPath;
use policy::protected::{Entry, Object};
use resolve::protected_names::Begun;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::directory::below;
use super::judge::{Age, Suspect};
use super::novelty::Novelty;
use super::{Directory, Interest, Listing, Name, Sweep, is_git, times};

impl Sweep<'_> {
    /// Looks at what a link leads to, if that is a directory.
    pub(super) fn look_through(
        &mut self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
        begun: &Begun,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Ok(target) = open_through(listing.descriptor, &name.bytes) else { return };
        let times = times(listing.descriptor, &name.bytes);
        let age = times.map_or(Age::New, |times| self.age(listing, &times));
        let is_as_before = self.is_link_as_before(listing, name, path);
        let is_certain = listing.directory.novelty == Novelty::Certain;
        if is_certain || (age == Age::New && !is_as_before) {
            let completed = self.completed_in(&target, begun, MOST_LEVELS);
            if let Some(why) = self.allowance.is_over() {
                self.tell_over(path.clone(), why);
            }
            if let Some(entry) = completed {
                let novelty = Novelty::Certain;
                let suspect = Suspect { name, path, entry, novelty, role: None };
                if !self.is_of_commits(listing, &suspect) {
                    self.set_aside(listing, &suspect);
                }
            }
            return;
        }
        if age == Age::Unknown {
            self.leave_undated(listing, path);
        }
        let Some((relative, place)) = self.place_in_grant(&target) else { return };
        if !self.looked_through.insert((place.clone(), begun.clone())) {
            return;
        }
        let above = listing.directory;
        waiting.push_back(Directory {
            relative,
            path: place,
            depth: above.depth + 1,
            begun: begun.clone(),
            inside: None,
            inside_repository: above.inside_repository || is_git(&name.bytes),
            inside_bare: above.inside_bare,
            among_packages: above.among_packages,
            interest: Interest::Begun,
            novelty: if is_as_before { Novelty::UnlessCovered } else { Novelty::Known },
            is_named: above.is_named,
        });
    }

    /// What completes a pattern of the table in a directory or below.
    fn completed_in(
        &mut self,
        directory: &OwnedFd,
        begun: &Begun,
        levels: usize,
    ) -> Option<&'static Entry> {
        for name in self.list(directory).ok()? {
            let object = match name.file_type {
                FileType::Directory => Object::Directory,
                FileType::Symlink => Object::Any,
                _ => Object::File,
            };
            let step = self.names.complete(begun, &name.bytes, object);
            if step.entry.is_some() {
                return step.entry;
            }
            if step.below.is_empty() || object == Object::File || levels == 0 {
                continue;
            }
            if let Ok(inner) = open_through(directory, &name.bytes)
                && let Some(entry) = self.completed_in(&inner, &step.below, levels - 1)
            {
                return Some(entry);
            }
        }
        None
    }

    /// Where an open directory is, if that is strictly below the grant's root.
    fn place_in_grant(&self, directory: &OwnedFd) -> Option<(Vec<u8>, HostPath)> {
        let place = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()?;
        let place = HostPath::new(place.into_os_string().into_vec()).ok()?;
        let relative = below(&self.root, &place)?.to_vec();
        Some((relative, place))
    }
}

/// Opens the directory that a name leads to, through links.
fn open_through(directory: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve)
}

/// As many as the longest pattern has components.
const MOST_LEVELS: usize = 6;
