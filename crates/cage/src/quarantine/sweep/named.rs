//! What a repository's own files name, after a run: configuration, hooks and programs of the project
//! that Git obeys or runs although their names are in no table. Judged as those of the table are;
//! what lies outside the grant is nobody's finding, and no link is followed.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::Entry;
use rustix::fs::{AtFlags, FileType};

use super::{Directory, Judged, Name, Sweep, bare_entry, join};
use crate::protected_names::Begun;
use crate::protected_names::git::{self, NamedPath, Role};

/// A file of configuration, and the work tree whose `.git` led to it.
pub(super) struct Configuration {
    path: HostPath,
    work_tree: Option<HostPath>,
}

/// The configuration of the repository that a grant lies in.
pub(super) fn around(grant: &HostPath) -> Vec<Configuration> {
    for directory in std::iter::successors(grant.parent(), HostPath::parent) {
        let Ok(pointer) = directory.join(".git") else { break };
        match pointer.as_path().symlink_metadata() {
            Ok(found) if found.is_dir() => return of_repository(&pointer, None),
            Ok(_) => return of_pointer(&directory, &pointer),
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
            self.configurations.extend(of_pointer(directory, path));
        } else if entry.is_git_configuration() {
            let path = path.clone();
            self.configurations.push(Configuration { path, work_tree: None });
        } else if entry.pattern.ends_with("/commondir")
            && let Some(shared) = git::shared_by(directory)
        {
            self.configurations.extend(of_repository(&shared, None));
        }
    }

    /// Judges a file of configuration, if it lies in the grant, and what it names.
    pub(super) fn follow(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        configuration: &Configuration,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Configuration { path, work_tree } = configuration;
        let hooks = path.parent().and_then(|repository| repository.join("hooks").ok());
        let mut named = vec![NamedPath { path: path.clone(), role: Role::Configuration }];
        named.extend(hooks.map(|path| NamedPath { path, role: Role::Hooks }));
        let real = |path: &HostPath| path.is_within(root).then(|| path.clone());
        named.extend(git::named_by(path, work_tree.as_ref(), None, &real));
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
            if self.protected_at_start.contains(&path) {
                return;
            }
            let Ok(descriptor) = self.open(top, &above.relative) else { return };
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(status) = rustix::fs::statat(&descriptor, component, flags) else { return };
            let file_type = FileType::from_raw_mode(status.st_mode);
            let is_directory = file_type == FileType::Directory;
            let relative = join(&above.relative, component);
            if components.peek().is_some() && is_directory {
                above = Directory::named(relative, path, None);
                continue;
            }
            let is_it = components.peek().is_none();
            let by_chance = is_directory && named.role != Role::Hooks;
            if by_chance || (!is_it && file_type != FileType::Symlink) {
                return;
            }
            let name = Name { bytes: component.to_vec(), file_type };
            let listing = self.listing(&above, &descriptor);
            let judged = self.judge(&listing, &name, &path, entry);
            if judged == Judged::Stays && is_directory {
                waiting.push_back(Directory::named(relative, path, Some(entry)));
            }
            return;
        }
    }
}

impl Directory {
    fn named(relative: Vec<u8>, path: HostPath, inside: Option<&'static Entry>) -> Self {
        let begun = Begun::default();
        Self { relative, path, depth: 0, begun, inside, inside_repository: false }
    }
}

/// What a `.git` file in a work tree leads to.
fn of_pointer(work_tree: &HostPath, pointer: &HostPath) -> Vec<Configuration> {
    let repositories = git::pointed_to(pointer);
    repositories.iter().flat_map(|repository| of_repository(repository, Some(work_tree))).collect()
}

fn of_repository(repository: &HostPath, work_tree: Option<&HostPath>) -> Vec<Configuration> {
    let paths = git::CONFIGURATION.iter().filter_map(|name| repository.join(name).ok());
    paths.map(|path| Configuration { path, work_tree: work_tree.cloned() }).collect()
}

/// A path relative to the root that it lies strictly below.
fn below<'path>(root: &HostPath, path: &'path HostPath) -> Option<&'path [u8]> {
    if !path.is_within(root) || path == root {
        return None;
    }
    let below = path.as_bytes().strip_prefix(root.as_bytes())?;
    Some(below.strip_prefix(b"/").unwrap_or(below))
}
