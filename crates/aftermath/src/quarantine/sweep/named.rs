//! What files with protected names lead to, after a run: configuration, hooks and programs of the
//! project that Git obeys or runs, and the targets of links, although their own names are in no
//! table. Judged as those of the table are; what lies outside the grant is nobody's finding, and no
//! link is followed while a path is walked.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::Entry;
use resolve::protected_names::git::{self, NamedPath, Role};
use resolve::protected_names::reader::Reader;
use rustix::fs::{AtFlags, FileType};

use super::directory::below;
use super::novelty::Novelty;
use super::{Dating, Directory, Judged, Listing, Name, Suspect, Sweep, bare_entry, join};

/// Something that names something else.
pub(super) enum Lead {
    /// A file of configuration.
    Configuration {
        path: HostPath,
        /// The directory whose `.git` file led to it.
        work_tree: Option<HostPath>,
    },
    /// A link, by what it leads to.
    Link(HostPath),
}

impl Lead {
    /// Where it leads.
    pub(super) fn path(&self) -> &HostPath {
        match self {
            Self::Configuration { path, .. } | Self::Link(path) => path,
        }
    }
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
    pub(super) fn note_link(&mut self, directory: &HostPath, listing: &Listing<'_>, name: &Name) {
        let target = rustix::fs::readlinkat(listing.descriptor, &*name.bytes, Vec::new());
        let target = target.ok().and_then(|target| git::resolve(directory, target.as_bytes()));
        self.leads.extend(target.map(Lead::Link));
    }

    /// Judges what a lead names, as far as it lies in the grant.
    pub(super) fn follow(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        lead: &Lead,
        waiting: &mut VecDeque<Directory>,
    ) {
        let named = match lead {
            Lead::Link(path) => vec![NamedPath { path: path.clone(), role: Role::Hooks }],
            Lead::Configuration { path, work_tree } => {
                let hooks = path.parent().and_then(|repository| repository.join("hooks").ok());
                let mut named = vec![NamedPath { path: path.clone(), role: Role::Configuration }];
                named.extend(hooks.map(|path| NamedPath { path, role: Role::Hooks }));
                let real = |path: &HostPath| path.is_within(root).then(|| path.clone());
                let work_tree = work_tree.as_ref();
                let reader = &mut self.reader;
                named.extend(git::named_by(path, work_tree, self.home, &real, reader));
                named
            }
        };
        for named in named {
            self.judge_named(top, root, &named, Suspicion::Usual, waiting);
        }
    }

    /// Judges one path, or the link that is in its way.
    pub(super) fn judge_named(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        named: &NamedPath,
        suspicion: Suspicion,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Some(entry) = bare_entry(b"config") else { return };
        if named.role == Role::PerhapsProgram || self.judged.contains(&named.path) {
            return;
        }
        let Some(reached) = self.reach(top, root, &named.path) else { return };
        let Reached { above, descriptor, name, path, .. } = &reached;
        let is_directory = name.file_type == FileType::Directory;
        let by_chance = is_directory && named.role != Role::Hooks;
        let is_in_the_way = !reached.is_it && name.file_type != FileType::Symlink;
        if by_chance || is_in_the_way || !self.judged.insert(path.clone()) {
            return;
        }
        let listing = self.listing(above, descriptor);
        let (is_dated, was_there) =
            (self.dating != Dating::Untold, above.novelty == Novelty::Known);
        let stays = match suspicion {
            Suspicion::Usual => true,
            Suspicion::Wary => !is_dated || self.is_unchanged(&listing, name),
            Suspicion::Strict => is_dated && was_there && self.is_unchanged(&listing, name),
        };
        let least = if stays { Novelty::Known } else { Novelty::UnlessCovered };
        let suspect = Suspect { name, path, entry, novelty: above.novelty.max(least) };
        let judged = self.judge(&listing, &suspect);
        if judged == Judged::Stays && is_directory {
            let is_named = self.is_named(&listing, path);
            let novelty = self.novelty_inside(&listing, name);
            let relative = join(&above.relative, &name.bytes);
            let (inside, found) = (Some(entry), Directory::plain(relative, path.clone()));
            waiting.push_back(Directory { inside, is_named, novelty, ..found });
        }
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

/// What a `.git` file in a work tree leads to.
fn of_pointer(work_tree: &HostPath, pointer: &HostPath, reader: &mut Reader) -> Vec<Lead> {
    let repositories = git::pointed_to(pointer, reader);
    repositories.iter().flat_map(|repository| of_repository(repository, Some(work_tree))).collect()
}

fn of_repository(repository: &HostPath, work_tree: Option<&HostPath>) -> Vec<Lead> {
    let paths = git::CONFIGURATION.iter().filter_map(|name| repository.join(name).ok());
    paths.map(|path| Lead::Configuration { path, work_tree: work_tree.cloned() }).collect()
}
