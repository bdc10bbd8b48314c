//! What files with protected names lead to, after a run: configuration, hooks and programs of the
//! project that Git obeys or runs, and the targets of links, although their own names are in no
//! table. Judged as those of the table are; what lies outside the grant is nobody's finding, and no
//! link is followed while a path is walked.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::Entry;
use rustix::fs::{AtFlags, FileType};

use super::novelty::Novelty;
use super::{Directory, Interest, Judged, Listing, Name, Suspect, Sweep, bare_entry, join};
use crate::protected_names::Begun;
use crate::protected_names::git::{self, NamedPath, Role};

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

/// The configuration of the repository that a grant lies in.
pub(super) fn around(grant: &HostPath, unread: &mut git::Unread) -> Vec<Lead> {
    for directory in std::iter::successors(grant.parent(), HostPath::parent) {
        let Ok(pointer) = directory.join(".git") else { break };
        match pointer.as_path().symlink_metadata() {
            Ok(found) if found.is_dir() => return of_repository(&pointer, None),
            Ok(_) => return of_pointer(&directory, &pointer, unread),
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
            let leads = of_pointer(directory, path, &mut self.unread);
            self.leads.extend(leads);
        } else if entry.is_git_configuration() {
            let path = path.clone();
            self.leads.push(Lead::Configuration { path, work_tree: None });
        } else if entry.pattern.ends_with("/commondir")
            && let Some(shared) = git::shared_by(directory, &mut self.unread)
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
                let unread = &mut self.unread;
                named.extend(git::named_by(path, work_tree, self.home, &real, unread));
                named
            }
        };
        for named in named {
            self.judge_named(top, root, &named, waiting);
        }
    }

    /// Judges one path, or the link that is in its way.
    fn judge_named(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        named: &NamedPath,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Some(entry) = bare_entry(b"config") else { return };
        let Some(below) = below(root, &named.path) else { return };
        if named.role == Role::PerhapsProgram || !self.judged.insert(named.path.clone()) {
            return;
        }
        let mut above = Directory::named(Vec::new(), root.clone(), None);
        let mut components = below.split(|byte| *byte == b'/').peekable();
        while let Some(component) = components.next() {
            let Ok(path) = above.path.join(component) else { return };
            if above.novelty != Novelty::Certain && self.covered_at_start.contains(&path) {
                return;
            }
            let Ok(descriptor) = self.open(top, &above) else { return };
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(status) = rustix::fs::statat(&descriptor, component, flags) else { return };
            let file_type = FileType::from_raw_mode(status.st_mode);
            let is_directory = file_type == FileType::Directory;
            let relative = join(&above.relative, component);
            let name = Name { bytes: component.to_vec(), file_type, inode: status.st_ino };
            let listing = self.listing(&above, &descriptor);
            let novelty = self.novelty_inside(&listing, &name);
            if components.peek().is_some() && is_directory {
                above = Directory { novelty, ..Directory::named(relative, path, None) };
                continue;
            }
            let is_it = components.peek().is_none();
            let by_chance = is_directory && named.role != Role::Hooks;
            if by_chance || (!is_it && file_type != FileType::Symlink) {
                return;
            }
            let suspect = Suspect { name: &name, path: &path, entry, novelty: above.novelty };
            let judged = self.judge(&listing, &suspect);
            if judged == Judged::Stays && is_directory {
                let is_named = self.is_named(&listing, &path);
                let found = Directory::named(relative, path, Some(entry));
                waiting.push_back(Directory { is_named, novelty, ..found });
            }
            return;
        }
    }
}

impl Directory {
    fn named(relative: Vec<u8>, path: HostPath, inside: Option<&'static Entry>) -> Self {
        let begun = Begun::default();
        Self {
            relative,
            path,
            depth: 0,
            begun,
            inside,
            inside_repository: false,
            inside_bare: false,
            interest: Interest::Names,
            novelty: Novelty::Known,
            is_named: false,
        }
    }
}

/// What a `.git` file in a work tree leads to.
fn of_pointer(work_tree: &HostPath, pointer: &HostPath, unread: &mut git::Unread) -> Vec<Lead> {
    let repositories = git::pointed_to(pointer, unread);
    repositories.iter().flat_map(|repository| of_repository(repository, Some(work_tree))).collect()
}

fn of_repository(repository: &HostPath, work_tree: Option<&HostPath>) -> Vec<Lead> {
    let paths = git::CONFIGURATION.iter().filter_map(|name| repository.join(name).ok());
    paths.map(|path| Lead::Configuration { path, work_tree: work_tree.cloned() }).collect()
}

/// A path relative to the root that it lies strictly below.
pub(super) fn below<'path>(root: &HostPath, path: &'path HostPath) -> Option<&'path [u8]> {
    if !path.is_within(root) || path == root {
        return None;
    }
    let below = path.as_bytes().strip_prefix(root.as_bytes())?;
    Some(below.strip_prefix(b"/").unwrap_or(below))
}
