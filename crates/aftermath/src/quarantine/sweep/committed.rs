//! What the commits of the start say about what a run has left: a protected name that has appeared, or a directory
//! with one, stays if a commit held just that by just this path, as after a checkout or in a new work tree. And
//! commits that have come are looked at for files that run code. Reads files and objects; changes nothing.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use plan::HostPath;
use policy::protected::Change;
use resolve::commits::{Answer, CommitTree, History, Repository, Version, hash_blob, head, tips};
use resolve::protected_names::git;
use resolve::protected_names::reader::Reader;
use rustix::fs::{FileType, Mode, OFlags};

use super::judge::Suspect;
use super::{Listing, Sweep, open_to_list};
use crate::quarantine::{Finding, Unreviewed};

/// The repositories of the start, as they are asked.
pub(super) struct Commits<'a> {
    repositories: &'a [Repository],
    /// Opened when they are asked first; none where they cannot be.
    histories: HashMap<usize, Option<History>>,
    /// Work trees that have come, by their tops, with the repository that they belong to.
    new_trees: HashMap<HostPath, Option<usize>>,
    /// Versions that only programs in cages have committed.
    distrusted: Option<&'a Unreviewed>,
    /// When nothing more is read; known from the first question on.
    until: Option<Instant>,
}

/// What is in a work tree.
pub(super) struct Place {
    pub(super) repository: usize,
    pub(super) top: HostPath,
    pub(super) relative: Vec<u8>,
}

impl<'a> Commits<'a> {
    pub(super) fn of(repositories: &'a [Repository]) -> Self {
        let (histories, new_trees) = Default::default();
        Self { repositories, histories, new_trees, distrusted: None, until: None }
    }

    /// The work tree that a path lies in, and which repository's.
    pub(super) fn place(&mut self, path: &HostPath, reader: &mut Reader) -> Option<Place> {
        if self.repositories.is_empty() {
            return None;
        }
        let (repository, top) = self.work_tree(path, reader)?;
        let below = path.as_bytes().strip_prefix(top.as_bytes())?;
        let relative = below.strip_prefix(b"/").unwrap_or(below).to_vec();
        Some(Place { repository, top, relative })
    }

    fn work_tree(&mut self, path: &HostPath, reader: &mut Reader) -> Option<(usize, HostPath)> {
        for above in std::iter::successors(path.parent(), HostPath::parent) {
            let mut all = self.repositories.iter().enumerate();
            let known = all.find(|(_, repository)| {
                repository.work_trees.iter().any(|tree| tree.path == above)
            });
            if let Some((position, _)) = known {
                return Some((position, above));
            }
            if let Some(position) = self.new_tree(&above, reader) {
                return Some((position, above));
            }
        }
        None
    }

    /// The repository that a directory is a new work tree of.
    fn new_tree(&mut self, top: &HostPath, reader: &mut Reader) -> Option<usize> {
        if let Some(known) = self.new_trees.get(top) {
            return *known;
        }
        let pointer = top.join(".git").ok()?;
        let is_file = pointer.as_path().symlink_metadata().is_ok_and(|found| found.is_file());
        let found = is_file.then(|| git::pointed_to(&pointer, reader)).and_then(|all| {
            let common = git::real(all.last()?)?;
            self.repositories.iter().position(|repository| repository.common == common)
        });
        self.new_trees.insert(top.clone(), found);
        found
    }

    /// Whether a commit of the start held a version by this path.
    pub(super) fn held(
        &mut self,
        path: &HostPath,
        version: Version,
        reader: &mut Reader,
    ) -> Answer {
        if self.distrusted.is_some_and(|distrusted| distrusted.holds(version.contents)) {
            return Answer::No;
        }
        let Some(place) = self.place(path, reader) else { return Answer::No };
        match self.history(place.repository) {
            Some(history) => history.held(&place.relative, version),
            None => Answer::Unknown,
        }
    }

    pub(super) fn history(&mut self, repository: usize) -> Option<&mut History> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + MOST_TIME);
        let known = self.repositories.get(repository)?;
        let opened = self.histories.entry(repository);
        opened.or_insert_with(|| History::of(known, until)).as_mut()
    }

    /// Whether the commit that is checked out by now has nothing by this path. One that cannot be read has.
    pub(super) fn is_without(&self, place: &Place, reader: &mut Reader) -> bool {
        let mut lacks = || {
            let common = &self.repositories.get(place.repository)?.common;
            let own = place.top.join(".git").ok()?;
            let is_directory = own.as_path().symlink_metadata().ok()?.is_dir();
            let repository = match is_directory {
                true => own,
                false => git::pointed_to(&own, reader).into_iter().next()?,
            };
            let mut tree = CommitTree::of(common, head(&repository, common)?)?;
            Some(tree.held(&place.relative).is_none())
        };
        lacks().unwrap_or(false)
    }

    /// The commit that a work tree had checked out.
    pub(super) fn head(&self, place: &Place) -> Option<String> {
        let trees = &self.repositories.get(place.repository)?.work_trees;
        let tree = trees.iter().find(|tree| tree.path == place.top)?;
        Some(tree.head?.short())
    }
}

impl<'a> Sweep<'a> {
    /// Takes commits of earlier runs for none.
    pub(in crate::quarantine) fn distrust(&mut self, unreviewed: &'a Unreviewed) {
        self.commits.distrusted = Some(unreviewed);
    }

    /// Whether commits of the start held what is there, by its path. A directory stays where something in it is
    /// such, or is allowed by its name: the rest is judged one by one.
    pub(super) fn is_of_commits(&mut self, listing: &Listing<'_>, suspect: &Suspect<'_>) -> bool {
        let Suspect { name, path, entry, .. } = *suspect;
        let is_directory = name.file_type == FileType::Directory;
        if is_directory && self.named.iter().any(|named| named.is_within(path)) {
            return true;
        }
        if entry.change == Change::Never {
            return false;
        }
        match is_directory {
            true => {
                let mut left = MOST_NAMES;
                let opened = open_to_list(listing.descriptor, &name.bytes);
                opened.is_ok_and(|inside| self.has_committed(&inside, path, &mut left))
            }
            false => {
                let version = version_of(listing.descriptor, &name.bytes);
                let is_known = version.is_some_and(|version| {
                    self.commits.held(path, version, &mut self.reader) == Answer::Yes
                });
                if is_known {
                    self.note_checked_out(path);
                }
                is_known
            }
        }
    }

    /// Whether something in a directory is what a commit held.
    fn has_committed(&mut self, directory: &OwnedFd, path: &HostPath, left: &mut usize) -> bool {
        let Ok(names) = self.list(directory) else { return false };
        names.iter().any(|name| {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            let Ok(path) = path.join(&name.bytes) else { return false };
            if self.watched.contains_key(&path) {
                return true;
            }
            if name.file_type == FileType::Directory {
                let inside = open_to_list(directory, &name.bytes);
                return inside.is_ok_and(|inside| self.has_committed(&inside, &path, left));
            }
            let version = version_of(directory, &name.bytes);
            version.is_some_and(|version| {
                self.commits.held(&path, version, &mut self.reader) == Answer::Yes
            })
        })
    }

    /// Tells what commits have come that hold protected names.
    pub(super) fn tell_of_commits(&mut self, root: &HostPath) {
        for position in 0..self.commits.repositories.len() {
            let Some(repository) = self.commits.repositories.get(position) else { continue };
            if !repository.common.is_within(root) {
                continue;
            }
            let now = tips(&repository.common);
            if now.as_ref() == Some(&repository.tips) {
                continue;
            }
            let work_tree = repository.work_trees.first().map(|tree| tree.path.clone());
            let common = repository.common.clone();
            let asked = now.zip(self.commits.history(position));
            let Some((made, is_whole)) = asked.map(|(now, history)| history.made_since(&now))
            else {
                self.report(Finding::CommitsUnknown { path: common });
                continue;
            };
            if !is_whole {
                self.report(Finding::CommitsUnknown { path: common.clone() });
            }
            self.made.extend(made.iter().map(|one| one.version.contents));
            let Some(first) = made.first() else { continue };
            let top = work_tree.as_ref().unwrap_or(&common);
            let Some(path) = git::resolve(top, &first.path) else { continue };
            let (commit, count) = (first.commit.short(), made.len());
            self.report(Finding::Committed { repository: common, commit, path, count });
        }
    }
}

/// What commits would know of a file or a link.
pub(super) fn version_of(directory: &OwnedFd, name: &[u8]) -> Option<Version> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(target) = rustix::fs::readlinkat(directory, name, Vec::new()) {
        let contents = hash_blob(target.as_bytes());
        return Some(Version { contents, is_link: true, is_executable: false });
    }
    let file = rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?;
    let (contents, mode) = contents_of(&file)?;
    let is_executable = mode & 0o111 != 0;
    Some(Version { contents: hash_blob(&contents), is_link: false, is_executable })
}

/// What a regular file holds, if it is no larger than one that is told from others, and its permission bits.
pub(super) fn contents_of(file: &OwnedFd) -> Option<(Vec<u8>, u32)> {
    let status = rustix::fs::fstat(file).ok()?;
    let length = usize::try_from(status.st_size).ok()?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if !is_file || length > MOST_FILE_BYTES {
        return None;
    }
    let mut contents = vec![0; length];
    let mut filled = 0;
    while let Some(space) = contents.get_mut(filled..).filter(|space| !space.is_empty()) {
        match rustix::io::pread(file, space, filled as u64).ok()? {
            0 => return None,
            read => filled += read,
        }
    }
    Some((contents, status.st_mode & 0o7777))
}

/// How long commits are read after a run, for all that is asked of them.
const MOST_TIME: Duration = Duration::from_secs(3);
/// How many names of one directory are asked for.
const MOST_NAMES: usize = 1024;
const MOST_FILE_BYTES: usize = 8 << 20;
