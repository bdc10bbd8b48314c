//! One walk over the top of a read-write grant. Bounded in depth and in the number of names it
//! reads; where the bound is reached, the remaining directories are asked for the table's names one
//! by one instead of being listed. Never follows a link while it walks.

use std::collections::{HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::{Entry, Object, is_repository, table};
use rustix::fs::{FileType, RawDir};

use super::super::open::kind_of;
use super::{Search, known_as};
use crate::Listed;
use crate::protected_names::{Begun, ProtectedNames, git, is_fetched_or_built, is_git_data};

/// Walks one grant.
pub(super) fn walk(search: &mut Search<'_>, grant: &HostPath) {
    let names = ProtectedNames::shared();
    let mut walk = Walk {
        search,
        names,
        waiting: VecDeque::new(),
        packages: VecDeque::new(),
        names_left: MOST_NAMES,
        directories_left: MOST_DIRECTORIES_BY_NAME,
        split: HashSet::new(),
    };
    walk.waiting.push_back(Directory {
        path: grant.clone(),
        depth: 0,
        begun: names.begun_at(grant),
        inside_repository: false,
        among_packages: false,
    });
    while let Some(directory) = walk.waiting.pop_front() {
        walk.visit(&directory);
    }
    walk.visit_packages();
}

struct Walk<'a, 'search> {
    search: &'a mut Search<'search>,
    names: &'static ProtectedNames,
    waiting: VecDeque<Directory>,
    /// Directories of packages and builds, for later.
    packages: VecDeque<Directory>,
    names_left: usize,
    directories_left: usize,
    /// Directories that repositories share and that were looked at.
    split: HashSet<HostPath>,
}

/// A directory to look into.
struct Directory {
    path: HostPath,
    depth: usize,
    begun: Begun,
    /// Below `.git`, where only what the table names is of interest.
    inside_repository: bool,
    /// Below a directory of packages or builds, where repositories alone are protected: package managers
    /// replace all else, and what they replace is judged after the run.
    among_packages: bool,
}

/// A name in a directory.
pub(super) struct Name {
    pub(super) bytes: Vec<u8>,
    pub(super) file_type: FileType,
    inode: u64,
}

impl Walk<'_, '_> {
    /// Looks at the top of the directories of packages and builds, with what is set apart for them.
    fn visit_packages(&mut self) {
        (self.names_left, self.directories_left) = (MOST_NAMES_AMONG_PACKAGES, 0);
        self.waiting = std::mem::take(&mut self.packages);
        for _ in 0..MOST_PACKAGES {
            let Some(directory) = self.waiting.pop_front() else { return };
            self.visit(&directory);
            self.waiting.append(&mut self.packages);
        }
    }

    fn visit(&mut self, directory: &Directory) {
        crate::progress::at(&directory.path);
        if self.names_left == 0 {
            self.ask_by_name(directory);
            return;
        }
        let opened = match self.search.stage.opener.open_to_list(&directory.path) {
            Ok(opened) => opened,
            // Removed, replaced or closed to the caller since its name was read; the sweep after
            // the run still sees what happens in it.
            Err(_) => return,
        };
        let (listed, complete) = list(&opened, self.names_left);
        self.names_left = self.names_left.saturating_sub(listed.len());
        if complete {
            let inside = listed.iter().filter(|name| name.file_type == FileType::Directory);
            let inside = inside.map(|name| (name.bytes.clone(), name.inode)).collect();
            self.search.directories.push(Listed { path: directory.path.clone(), inside });
        }
        // Inside `.git` the table knows what counts.
        let is_bare = is_repository(listed.iter().map(|name| name.bytes.as_slice()));
        if !directory.inside_repository && is_bare {
            self.protect_split(&directory.path);
            self.search.repository(&directory.path, None);
        }
        if is_bare && let Ok(index) = directory.path.join("index") {
            self.search.index(index);
        }
        for name in listed {
            self.look_at(directory, &name);
        }
        if !complete {
            self.names_left = 0;
            self.ask_by_name(directory);
        }
    }

    fn look_at(&mut self, directory: &Directory, name: &Name) {
        let object = match name.file_type {
            FileType::Directory => Object::Directory,
            _ => Object::File,
        };
        let step = self.names.step(&directory.begun, &name.bytes, object);
        let is_directory = object == Object::Directory;
        // Nearly every name: nothing that the table knows, and no directory to look into.
        if step.entry.is_none() && step.below.is_empty() && !is_directory {
            return;
        }
        if directory.among_packages && step.entry.is_some_and(|entry| !is_of_git(entry)) {
            return;
        }
        let Ok(path) = directory.path.join(&name.bytes) else { return };
        let interesting = !step.below.is_empty();
        // `.git` as a link to a directory is that directory, and not a pointer file.
        let is_link = name.file_type == FileType::Symlink;
        if is_link {
            self.search.links_on_the_way(&path);
        }
        if is_link && interesting && self.follow_begun(&path, &directory.begun, &name.bytes) {
            return;
        }
        if let Some(entry) = step.entry {
            let place = self.search.at(&path, known_as(entry));
            self.follow(directory, &path, place, entry);
            return;
        }
        let depth = directory.depth + 1;
        let inside_repository = directory.inside_repository || is_git(&name.bytes);
        let descend = if inside_repository {
            interesting && !is_git_data(&name.bytes)
        } else {
            interesting || depth <= MOST_DEPTH
        };
        // A rule's own path is walked for itself, or needs no walk.
        if !is_directory || !descend || self.search.stage.access.exactly(&path).is_some() {
            return;
        }
        let is_of_packages = !inside_repository && is_fetched_or_built(&name.bytes);
        let among_packages = directory.among_packages || is_of_packages;
        let found = Directory { path, depth, begun: step.below, inside_repository, among_packages };
        if among_packages { self.packages.push_back(found) } else { self.waiting.push_back(found) }
    }

    /// A link in the place of a directory that the table looks into, such as `.git`: the directory
    /// it leads to is looked into instead, if it lies where the cage can write. Says whether it is
    /// one.
    fn follow_begun(&mut self, path: &HostPath, begun: &Begun, name: &[u8]) -> bool {
        let Ok(target) = self.search.stage.opener.anywhere(path) else { return false };
        if !target.status.is_directory() {
            return false;
        }
        if self.search.is_exposed(&target.path) {
            let begun = self.names.step(begun, name, Object::Directory).below;
            let depth = MOST_DEPTH;
            self.waiting.push_back(Directory {
                path: target.path,
                depth,
                begun,
                inside_repository: true,
                among_packages: false,
            });
        }
        true
    }

    /// Goes on to what a file of a repository leads to. `place` is where the file really is.
    fn follow(
        &mut self,
        directory: &Directory,
        path: &HostPath,
        place: Option<HostPath>,
        entry: &'static Entry,
    ) {
        if entry.pattern == ".git" {
            for repository in git::pointed_to(path, &mut self.search.reader) {
                self.search.repository(&repository, Some(&directory.path));
            }
        } else if entry.is_git_configuration() {
            place.into_iter().for_each(|place| self.search.follow_configuration(place, None));
        } else if entry.pattern.ends_with("/commondir") {
            self.protect_split(&directory.path);
        }
    }

    /// The other half of a repository that is split in two.
    fn protect_split(&mut self, repository: &HostPath) {
        if let Some(shared) = git::shared_by(repository, &mut self.search.reader)
            && self.split.insert(shared.clone())
        {
            self.search.repository(&shared, None);
        }
    }

    /// Looks for the table's names without listing: for directories with too many names.
    fn ask_by_name(&mut self, directory: &Directory) {
        if directory.inside_repository || self.directories_left == 0 {
            return;
        }
        self.directories_left -= 1;
        for entry in table() {
            let Some(name) = entry.probe_path() else { continue };
            let Ok(path) = directory.path.join(name) else { continue };
            if let Ok(opened) = self.search.stage.opener.anywhere(&path) {
                let is_directory = opened.status.is_directory();
                if entry.object == Object::File && is_directory {
                    continue;
                }
                let place = opened.path.clone();
                self.search.note_inside(&opened, known_as(entry));
                self.search.take(opened, known_as(entry));
                self.follow(directory, &path, Some(place), entry);
            }
        }
    }
}

fn is_of_git(entry: &Entry) -> bool {
    entry.pattern == ".git" || entry.pattern.starts_with(".git/")
}

fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// The names in a directory, and whether these are all.
pub(super) fn list(directory: &OwnedFd, most: usize) -> (Vec<Name>, bool) {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return (names, false) };
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        if names.len() == most {
            return (names, false);
        }
        let file_type = kind_of(directory, &entry);
        names.push(Name { bytes: bytes.to_vec(), file_type, inode: entry.ino() });
    }
    (names, true)
}

/// How far below a grant's root directories are looked into.
const MOST_DEPTH: usize = 3;

/// How many names are read for one grant. A start must not take longer than a person notices.
const MOST_NAMES: usize = 4096;

/// The same for directories of packages and builds, and how many of these are opened.
const MOST_NAMES_AMONG_PACKAGES: usize = 1024;
const MOST_PACKAGES: usize = 32;

/// How many directories beyond that are asked by name.
const MOST_DIRECTORIES_BY_NAME: usize = 16;
