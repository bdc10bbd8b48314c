//! What files with protected names lead to, after a run: configuration, hooks and programs of the
//! project that Git obeys or runs, and the targets of links, although their own names are in no
//! table. Judged as those of the table are, and so is every link on the way, which is followed as the program
//! that uses the path would; what lies outside the grant is nobody's finding.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::{Entry, Object};
use resolve::protected_names::ProtectedNames;
use resolve::protected_names::git::{self, NamedPath, Role};
use resolve::protected_names::reader::Reader;
use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::directory::below;
use super::novelty::Novelty;
use super::{Dating, Directory, Interest, Judged, Listing, MOST_DEPTH, Name, Suspect, Sweep};
use super::{bare_entry, join};
use crate::quarantine::Link;

/// Something that names something else.
pub(super) enum Lead {
    /// A file of configuration.
    Configuration {
        path: HostPath,
        /// The directory whose `.git` file led to it.
        work_tree: Option<HostPath>,
    },
    /// A link, by what it leads to.
    Link {
        path: HostPath,
        /// Why the name of the link matters.
        entry: &'static Entry,
    },
}

impl Lead {
    /// Where it leads.
    pub(super) fn path(&self) -> &HostPath {
        match self {
            Self::Configuration { path, .. } | Self::Link { path, .. } => path,
        }
    }
}

/// A path that something names.
pub(super) struct Wanted {
    pub(super) named: NamedPath,
    /// Why it matters.
    pub(super) entry: &'static Entry,
    pub(super) suspicion: Suspicion,
}

/// How what is named is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// As all that has a protected name.
    Usual,
    /// It may have come to be named during the run: it stays only if it has not changed.
    Wary,
    /// It came to be named during the run: it stays only if it certainly was as it is, and where it is.
    Strict,
}

/// The configuration of the repository that a grant lies in.
pub(super) fn around(grant: &HostPath, reader: &mut Reader) -> Vec<Lead> {
    for directory in std::iter::successors(grant.parent(), HostPath::parent) {
        let Ok(pointer) = directory.join(".git") else { break };
        match pointer.as_path().symlink_metadata() {
            Ok(found) if found.is_dir() => return of_repository(&pointer, None),
            Ok(_) => return of_pointer(&directory, &pointer, reader),
            Err(_) => {}
        }
    }
    Vec::new()
}

/// Where links led at the start that lie inside protected directories.
pub(super) fn behind(links: &[Link]) -> Vec<Lead> {
    let lead = |link: &Link| {
        let path = git::resolve(&link.path.parent()?, link.target.as_bytes())?;
        let relative = link.path.as_bytes().strip_prefix(b"/").unwrap_or_default();
        let by_name = ProtectedNames::shared().covering(relative, Object::File);
        Some(Lead::Link { path, entry: by_name.or_else(of_git)? })
    };
    links.iter().filter_map(lead).collect()
}

impl Sweep<'_> {
    /// Remembers what a file of a repository leads to.
    pub(super) fn note_where_it_leads(
        &mut self,
        directory: &HostPath,
        path: &HostPath,
        entry: &'static Entry,
    ) {
        if entry.pattern == ".git" {
            let leads = of_pointer(directory, path, &mut self.reader);
            self.leads.extend(leads);
        } else if entry.is_git_configuration() {
            let path = path.clone();
            self.leads.push(Lead::Configuration { path, work_tree: None });
        } else if entry.pattern.ends_with("/commondir")
            && let Some(shared) = git::shared_by(directory, &mut self.reader)
        {
            self.leads.extend(of_repository(&shared, None));
        }
    }

    /// Remembers where a link with a protected name leads. What is there already was covered; what
    /// appears there would be run by that name.
    pub(super) fn note_link(
        &mut self,
        listing: &Listing<'_>,
        name: &Name,
        entry: Option<&'static Entry>,
    ) {
        let target = rustix::fs::readlinkat(listing.descriptor, &*name.bytes, Vec::new());
        let directory = &listing.directory.path;
        let target = target.ok().and_then(|target| git::resolve(directory, target.as_bytes()));
        if let (Some(path), Some(entry)) = (target, entry.or_else(of_git)) {
            self.leads.push(Lead::Link { path, entry });
        }
    }

    /// Remembers the links inside a directory that had a cover: nothing in it has changed.
    pub(super) fn look_at_covered(
        &mut self,
        listing: &Listing<'_>,
        name: &Name,
        waiting: &mut VecDeque<Directory>,
    ) {
        let above = listing.directory;
        match name.file_type {
            FileType::Symlink => self.note_link(listing, name, above.inside),
            FileType::Directory if above.depth < MOST_DEPTH => {
                let Ok(path) = above.path.join(&name.bytes) else { return };
                let relative = join(&above.relative, &name.bytes);
                waiting.push_back(Directory {
                    depth: above.depth + 1,
                    inside: above.inside,
                    interest: Interest::Covered,
                    ..Directory::plain(relative, path)
                });
            }
            _ => {}
        }
    }

    /// Judges what a lead names, as far as it lies in the grant.
    pub(super) fn follow(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        lead: &Lead,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Some(of_git) = of_git() else { return };
        let (named, entry) = match lead {
            Lead::Link { path, entry } => {
                (vec![NamedPath { path: path.clone(), role: Role::Hooks }], *entry)
            }
            Lead::Configuration { path, work_tree } => {
                let hooks = path.parent().and_then(|repository| repository.join("hooks").ok());
                let mut named = vec![NamedPath { path: path.clone(), role: Role::Configuration }];
                named.extend(hooks.map(|path| NamedPath { path, role: Role::Hooks }));
                let real = |path: &HostPath| git::real(path).filter(|real| real.is_within(root));
                let file = git::real(path).unwrap_or_else(|| path.clone());
                let work_tree = work_tree.as_ref();
                let reader = &mut self.reader;
                named.extend(git::named_by(&file, work_tree, self.home, &real, reader));
                (named, of_git)
            }
        };
        for named in named {
            let wanted = Wanted { named, entry, suspicion: Suspicion::Usual };
            self.judge_named(top, root, &wanted, waiting);
        }
    }

    /// Judges one path, and the links that are in its way.
    pub(super) fn judge_named(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        wanted: &Wanted,
        waiting: &mut VecDeque<Directory>,
    ) {
        let NamedPath { path, role } = &wanted.named;
        if *role == Role::PerhapsProgram || self.judged.contains(path) {
            return;
        }
        let mut path = path.clone();
        for _ in 0..MOST_LINKS {
            let next = match self.reach(top, root, &path) {
                Some(reached) => match self.judge_reached(&reached, wanted, waiting) {
                    Judged::Moved => return,
                    Judged::Stays => reached.leads_on(&path),
                },
                // Outside of the grant, or under a cover: nothing has changed there.
                None => past_first_link(&path),
            };
            let Some(next) = next else { return };
            path = next;
        }
    }

    fn judge_reached(
        &mut self,
        reached: &Reached,
        wanted: &Wanted,
        waiting: &mut VecDeque<Directory>,
    ) -> Judged {
        let Wanted { named, entry, suspicion } = wanted;
        let Reached { above, descriptor, name, path, .. } = reached;
        let is_directory = name.file_type == FileType::Directory;
        let by_chance = is_directory && named.role != Role::Hooks;
        let is_in_the_way = !reached.is_it && name.file_type != FileType::Symlink;
        if by_chance || is_in_the_way || !self.judged.insert(path.clone()) {
            return Judged::Stays;
        }
        let listing = self.listing(above, descriptor);
        let (is_dated, was_there) =
            (self.dating != Dating::Unknown, above.novelty == Novelty::Known);
        let stays = match suspicion {
            Suspicion::Usual => true,
            Suspicion::Wary => !is_dated || self.is_unchanged(&listing, name),
            Suspicion::Strict => is_dated && was_there && self.is_unchanged(&listing, name),
        };
        let least = if stays { Novelty::Known } else { Novelty::UnlessCovered };
        let (novelty, role) = (above.novelty.max(least), Some(named.role));
        let suspect = Suspect { name, path, entry, novelty, role };
        let judged = self.judge(&listing, &suspect);
        if judged == Judged::Stays && is_directory {
            let is_named = self.is_named(&listing, path);
            let novelty = self.novelty_inside(&listing, name);
            let relative = join(&above.relative, &name.bytes);
            let (inside, found) = (Some(*entry), Directory::plain(relative, path.clone()));
            waiting.push_back(Directory { inside, is_named, novelty, ..found });
        }
        judged
    }

    /// Walks to a path below the grant's root, or to what is in its way; nothing where that was covered.
    pub(super) fn reach(
        &self,
        top: &OwnedFd,
        root: &HostPath,
        wanted: &HostPath,
    ) -> Option<Reached> {
        let mut above = Directory::plain(Vec::new(), root.clone());
        let mut components = below(root, wanted)?.split(|byte| *byte == b'/').peekable();
        while let Some(component) = components.next() {
            let path = above.path.join(component).ok()?;
            if above.novelty != Novelty::Certain && self.covered_at_start.contains(&path) {
                return None;
            }
            let descriptor = self.open(top, &above).ok()?;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let status = rustix::fs::statat(&descriptor, component, flags).ok()?;
            let file_type = FileType::from_raw_mode(status.st_mode);
            let name = Name { bytes: component.to_vec(), file_type, inode: status.st_ino };
            let is_it = components.peek().is_none();
            if is_it || file_type != FileType::Directory {
                return Some(Reached { above, descriptor, name, path, is_it });
            }
            let novelty = self.novelty_inside(&self.listing(&above, &descriptor), &name);
            let relative = join(&above.relative, component);
            above = Directory { novelty, ..Directory::plain(relative, path) };
        }
        None
    }
}

/// What a walk to a path came to.
pub(super) struct Reached {
    /// Where it is.
    pub(super) above: Directory,
    descriptor: OwnedFd,
    name: Name,
    path: HostPath,
    /// Whether it is what was wanted, and not something on the way.
    is_it: bool,
}

impl Reached {
    /// Where a link that was reached leads on the way to a path.
    fn leads_on(&self, wanted: &HostPath) -> Option<HostPath> {
        if self.name.file_type != FileType::Symlink {
            return None;
        }
        let target =
            rustix::fs::readlinkat(&self.descriptor, &*self.name.bytes, Vec::new()).ok()?;
        let rest = wanted.as_bytes().strip_prefix(self.path.as_bytes())?;
        git::resolve(&self.above.path, &[target.as_bytes(), rest].concat())
    }
}

/// Where a path leads when the first link on it is followed, if there is one.
fn past_first_link(path: &HostPath) -> Option<HostPath> {
    let mut at = HostPath::root();
    let mut names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    while let Some(name) = names.next() {
        let next = at.join(name).ok()?;
        match rustix::fs::readlinkat(CWD, next.as_path(), Vec::new()) {
            Ok(target) => {
                let rest = names.collect::<Vec<_>>().join(b"/".as_slice());
                return git::resolve(&at, &[target.as_bytes(), b"/", &rest].concat());
            }
            // There, and no link.
            Err(Errno::INVAL) => at = next,
            Err(_) => return None,
        }
    }
    None
}

/// Why a path matters that Git's configuration names.
pub(super) fn of_git() -> Option<&'static Entry> {
    bare_entry(b"config")
}

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// What a `.git` file in a work tree leads to.
fn of_pointer(work_tree: &HostPath, pointer: &HostPath, reader: &mut Reader) -> Vec<Lead> {
    let repositories = git::pointed_to(pointer, reader);
    repositories.iter().flat_map(|repository| of_repository(repository, Some(work_tree))).collect()
}

fn of_repository(repository: &HostPath, work_tree: Option<&HostPath>) -> Vec<Lead> {
    let paths = git::CONFIGURATION.iter().filter_map(|name| repository.join(name).ok());
    paths.map(|path| Lead::Configuration { path, work_tree: work_tree.cloned() }).collect()
}
