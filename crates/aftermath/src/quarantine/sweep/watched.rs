//! The protected files that a program could change, because a commit held them: by the end each is what it was, or
//! what a commit of the start held, or it becomes what it was again and the program's is set aside. Writes beneath
//! the grant's root and over no link, and replaces nothing of anybody's.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::{Change, Entry, table};
use resolve::commits::{Answer, Watched};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

use super::committed::{contents_of, version_of};
use super::directory::{below, refer_to};
use super::judge::Suspect;
use super::set_aside::quarantined_name;
use super::{Directory, Listing, Name, Sweep};
use crate::quarantine::Finding;

impl Sweep<'_> {
    /// Whether it is compared with what it was by the end, and not judged by its dates.
    pub(super) fn is_watched(&self, suspect: &Suspect<'_>) -> bool {
        suspect.entry.change == Change::ToCommitted
            && suspect.name.file_type != FileType::Directory
            && self.watched.contains_key(suspect.path)
    }

    /// Remembers what Git has changed.
    pub(super) fn note_checked_out(&mut self, path: &HostPath) {
        if self.checked_out.len() < MOST_CHECKED_OUT {
            self.checked_out.insert(path.clone());
        }
    }

    /// Settles what has become of each, and tells what Git has changed.
    pub(super) fn settle_watched(&mut self, top: &OwnedFd, root: &HostPath) {
        let mut watched: Vec<&Watched> = self.watched.values().copied().collect();
        watched.sort_by(|one, other| one.path.cmp(&other.path));
        for watched in watched.into_iter().filter(|watched| watched.path.is_within(root)) {
            self.settle(top, root, watched);
        }
        let mut by_tree: BTreeMap<HostPath, (Option<String>, Vec<HostPath>)> = BTreeMap::new();
        for path in std::mem::take(&mut self.checked_out) {
            let Some(place) = self.commits.place(&path, &mut self.reader) else { continue };
            let before = self.commits.head(&place);
            let (_, paths) = by_tree.entry(place.top).or_insert((before, Vec::new()));
            paths.push(path);
        }
        for (work_tree, (before, paths)) in by_tree {
            // A work tree that has come is looked at as a whole.
            if before.is_none() {
                continue;
            }
            let mut paths = paths.into_iter();
            let Some(path) = paths.next() else { continue };
            let others = paths.collect();
            self.report(Finding::CheckedOut { work_tree, before, path, others });
        }
    }

    fn settle(&mut self, top: &OwnedFd, root: &HostPath, watched: &Watched) {
        let Some(entry) = entry_of(watched) else { return };
        let path = &watched.path;
        let Some(relative) = below(root, path) else { return };
        let Some(place) = self.commits.place(path, &mut self.reader) else { return };
        let (above, name) = split(relative);
        let parent = open_above(top, above);
        let is_there = parent.as_ref().is_ok_and(|parent| {
            rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        });
        let stays = match &parent {
            Ok(parent) if is_there => {
                if is_same(parent, name, watched) {
                    return;
                }
                let version = version_of(parent, name);
                version.is_some_and(|version| {
                    self.commits.held(path, version, &mut self.reader) == Answer::Yes
                })
            }
            _ => {
                self.commits.is_without(&place, &mut self.reader)
                    && self
                        .commits
                        .history(place.repository)
                        .is_some_and(|history| history.lacked(&place.relative) == Answer::Yes)
            }
        };
        if stays {
            self.note_checked_out(path);
            if !watched.is_committed {
                self.keep(top, root, watched);
            }
            return;
        }
        if is_there && self.is_harmless_list_of_modules(top, relative, path) {
            return self.report(Finding::Modified { path: path.clone(), entry });
        }
        self.put_back(top, relative, watched, entry);
    }

    /// Keeps what a file held that was in no commit, beside where it was.
    fn keep(&mut self, top: &OwnedFd, root: &HostPath, watched: &Watched) {
        let mut directory = watched.path.parent();
        while let Some(at) = directory {
            let relative = below(root, &at).unwrap_or_default();
            if let (Ok(parent), Some(name)) = (open_above(top, relative), watched.path.file_name())
            {
                let name = quarantined_name(name, self.suffix, 0);
                if write_new(&parent, &name, watched).is_ok()
                    && let Ok(moved_to) = at.join(name)
                {
                    let path = watched.path.clone();
                    self.report(Finding::Kept { path, moved_to });
                }
                return;
            }
            directory = at.parent().filter(|above| above.is_within(root));
        }
    }

    fn put_back(
        &mut self,
        top: &OwnedFd,
        relative: &[u8],
        watched: &Watched,
        entry: &'static Entry,
    ) {
        let path = watched.path.clone();
        match self.try_to_put_back(top, relative, watched) {
            Ok(moved_to) => self.report(Finding::PutBack { path, moved_to, entry }),
            Err(errno) => self.report(Finding::NotMoved { path, entry, errno }),
        }
    }

    fn try_to_put_back(
        &mut self,
        top: &OwnedFd,
        relative: &[u8],
        watched: &Watched,
    ) -> Result<Option<HostPath>, Errno> {
        let (above, name) = split(relative);
        let parent = make_above(top, above, watched)?;
        let mut moved_to = None;
        if let Ok(status) = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            let place = watched.path.parent().ok_or(Errno::INVAL)?;
            let directory = Directory::plain(above.to_vec(), place);
            let listing = Listing { directory: &directory, descriptor: &parent, changed: true };
            let file_type = FileType::from_raw_mode(status.st_mode);
            let name = Name { bytes: name.to_vec(), file_type, inode: status.st_ino };
            moved_to = Some(self.rename(&listing, &name, &watched.path)?);
        }
        write_new(&parent, name, watched)?;
        Ok(moved_to)
    }

    /// Whether it is a `.gitmodules` whose settings start nothing: `git submodule add` writes it.
    fn is_harmless_list_of_modules(
        &mut self,
        top: &OwnedFd,
        relative: &[u8],
        path: &HostPath,
    ) -> bool {
        path.file_name() == Some(b".gitmodules".as_slice())
            && refer_to(top, relative)
                .is_ok_and(|object| self.is_harmless_configuration(path, &object))
    }
}

fn entry_of(watched: &Watched) -> Option<&'static Entry> {
    table().iter().find(|entry| entry.pattern == watched.known_as)
}

fn split(relative: &[u8]) -> (&[u8], &[u8]) {
    let slash = relative.iter().rposition(|byte| *byte == b'/');
    let name = slash.and_then(|slash| relative.get(slash + 1..)).unwrap_or(relative);
    (slash.and_then(|slash| relative.get(..slash)).unwrap_or_default(), name)
}

fn open_above(top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
    super::open_to_list(top, relative)
}

/// Opens a directory, and makes what is missing of it.
fn make_above(top: &OwnedFd, relative: &[u8], watched: &Watched) -> Result<OwnedFd, Errno> {
    let mut at = open_above(top, b"")?;
    for name in relative.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let open = || rustix::fs::openat2(&at, name, flags, Mode::empty(), resolve);
        at = match open() {
            Err(Errno::NOENT) => {
                rustix::fs::mkdirat(&at, name, Mode::RWXU | Mode::RGRP | Mode::XGRP)?;
                let made = open()?;
                give(&made, watched)?;
                made
            }
            opened => opened?,
        };
    }
    Ok(at)
}

/// Writes what a file held by a name that is free.
fn write_new(directory: &OwnedFd, name: &[u8], watched: &Watched) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    let mut rest = watched.contents.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    give(&file, watched)?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(watched.mode & 0o777))
}

/// What root writes belongs to whom the file belonged.
fn give(object: &OwnedFd, watched: &Watched) -> Result<(), Errno> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (uid, gid) = watched.owner;
    rustix::fs::fchown(object, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
}

/// Whether a file is what it was, with whether it can be executed.
fn is_same(directory: &OwnedFd, name: &[u8], watched: &Watched) -> bool {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(directory, name, flags, Mode::empty()) else { return false };
    contents_of(&file).is_some_and(|(contents, mode)| {
        contents == watched.contents && (mode & 0o111 != 0) == (watched.mode & 0o111 != 0)
    })
}

/// Nobody reads more.
const MOST_CHECKED_OUT: usize = 4096;
