//! What makes a repository or leads to one and starts nothing: configuration whose settings are known to be
//! harmless, hooks that are samples, pointers to repositories of the grant of which the same holds. That is how
//! `git init`, `clone`, `worktree add` and `submodule add` leave them, and it stays. Reads small files, within
//! the bound of the sweep; what cannot be read is not harmless.

use std::os::fd::OwnedFd;

use plan::HostPath;
use resolve::protected_names::git::{self, Role};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::judge::Suspect;
use super::{Listing, Sweep, open_to_list};

/// What such a file is to Git.
#[derive(Clone, Copy)]
enum Part {
    Configuration,
    Hooks,
    /// Below a directory of hooks.
    Hook,
    /// `.git`, where it is a file.
    Pointer,
    /// `commondir`.
    Shared,
    /// `gitdir`.
    Back,
}

impl Sweep<'_> {
    /// Whether it is a part of a repository and starts nothing.
    pub(super) fn starts_nothing(&mut self, listing: &Listing<'_>, suspect: &Suspect<'_>) -> bool {
        let Suspect { name, path, .. } = *suspect;
        let Some(part) = part(listing, suspect) else { return false };
        let is_file = name.file_type == FileType::RegularFile;
        match part {
            Part::Hooks => {
                let opened = open_to_list(listing.descriptor, &name.bytes);
                opened.is_ok_and(|hooks| self.are_samples(&hooks))
            }
            Part::Hook => is_file && is_sample(&name.bytes),
            _ if !is_file => false,
            Part::Configuration => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened =
                    rustix::fs::openat(listing.descriptor, &*name.bytes, flags, Mode::empty());
                opened.is_ok_and(|object| self.is_harmless_configuration(path, &object))
            }
            Part::Pointer => {
                let repositories = git::pointed_to(path, &mut self.reader);
                !repositories.is_empty()
                    && repositories.iter().all(|repository| self.is_harmless(repository))
            }
            Part::Shared => {
                let shared = git::shared_by(&listing.directory.path, &mut self.reader);
                shared.is_some_and(|shared| self.is_harmless(&shared))
            }
            Part::Back => {
                let back = git::pointer_back(&listing.directory.path, &mut self.reader);
                back.is_some_and(|back| self.is_in_grant(&back))
            }
        }
    }

    /// Whether a repository lies in the grant, and each thing in it that Git obeys or runs was covered during the
    /// run or starts nothing.
    fn is_harmless(&mut self, repository: &HostPath) -> bool {
        let Some(repository) = git::real(repository) else { return false };
        if !repository.is_within(&self.root) {
            return false;
        }
        let mut parts =
            git::CONFIGURATION.iter().map(|name| (*name, Part::Configuration)).collect::<Vec<_>>();
        parts.push(("hooks", Part::Hooks));
        parts.into_iter().all(|(name, part)| {
            let Ok(path) = repository.join(name) else { return false };
            if self.covered_at_start.contains(&path) {
                return true;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS;
            let opened = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve);
            match (opened, part) {
                (Err(Errno::NOENT), _) => true,
                (Ok(object), Part::Configuration) => self.is_harmless_configuration(&path, &object),
                (Ok(object), _) => {
                    open_to_list(&object, b"").is_ok_and(|hooks| self.are_samples(&hooks))
                }
                (Err(_), _) => false,
            }
        })
    }

    pub(super) fn is_harmless_configuration(&mut self, path: &HostPath, object: &OwnedFd) -> bool {
        let text = self.reader.object(path, object, MOST_BYTES).ok().flatten();
        let Some(text) = text.filter(|text| text.len() < MOST_BYTES) else { return false };
        let repository = path.parent();
        git::starts_nothing(&text, |work_tree| {
            let place = repository.as_ref().and_then(|above| git::resolve(above, work_tree));
            place.is_some_and(|place| self.is_in_grant(&place))
        })
    }

    fn are_samples(&mut self, hooks: &OwnedFd) -> bool {
        let names = self.list(hooks);
        names.is_ok_and(|names| {
            let is_hook = |file_type| file_type != FileType::RegularFile;
            names.iter().all(|name| !is_hook(name.file_type) && is_sample(&name.bytes))
        })
    }

    /// Whether a path leads into the grant, over whatever links; it may lead to nothing.
    fn is_in_grant(&self, path: &HostPath) -> bool {
        let above = std::iter::successors(Some(path.clone()), HostPath::parent);
        let real = above.into_iter().find_map(|path| git::real(&path));
        real.is_some_and(|real| real.is_within(&self.root))
            && path
                .as_path()
                .symlink_metadata()
                .map_or(true, |found| !found.is_symlink() || git::real(path).is_some())
    }
}

fn part(listing: &Listing<'_>, suspect: &Suspect<'_>) -> Option<Part> {
    let Suspect { name, entry, role, .. } = *suspect;
    if matches!(role, Some(Role::Program | Role::PerhapsProgram)) {
        return None;
    }
    let is_of_git = entry.pattern.starts_with(".git/");
    match name.bytes.as_slice() {
        b".git" if is_of_git || entry.pattern == ".git" => Some(Part::Pointer),
        b".gitmodules" => Some(Part::Configuration),
        _ if !is_of_git => None,
        _ if listing.directory.inside.is_some() => Some(Part::Hook),
        b"hooks" => Some(Part::Hooks),
        _ if role == Some(Role::Hooks) => Some(Part::Hooks),
        b"commondir" => Some(Part::Shared),
        b"gitdir" => Some(Part::Back),
        b"config" | b"config.worktree" => Some(Part::Configuration),
        _ if role == Some(Role::Configuration) => Some(Part::Configuration),
        _ => None,
    }
}

/// Git runs nothing of that name.
fn is_sample(name: &[u8]) -> bool {
    name.ends_with(b".sample")
}

/// No configuration that Git writes has as much.
const MOST_BYTES: usize = 64 * 1024;
