//! Where the files of a Git repository lead: to a repository elsewhere, to further configuration, to
//! hooks and programs. Reads small files within bounds and gives paths by name; whoever asks opens
//! them and judges by where they really are. A pointer that is large, not text or leads nowhere is
//! none.

use std::collections::{HashSet, VecDeque};
use std::os::fd::AsRawFd as _;

use plan::HostPath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

pub use super::git_config::starts_nothing;
use super::git_config::{MOST_PATHS, Named};
use super::git_index::ObjectNames;
use super::reader::Reader;

#[cfg(test)]
mod tests;

/// What Git runs or obeys inside a repository's directory.
pub const RUNS_CODE: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "gitdir"];

/// Those that are configuration.
pub const CONFIGURATION: [&str; 2] = ["config", "config.worktree"];

/// The directories that a `.git` file makes Git use: the one it names, and the one that this names
/// in turn as shared by several work trees.
pub fn pointed_to(pointer: &HostPath, reader: &mut Reader) -> Vec<HostPath> {
    let Some(directory) = pointer.parent() else { return Vec::new() };
    let Some(text) = reader.pointer(pointer) else { return Vec::new() };
    let Some(target) = text.strip_prefix(b"gitdir:".as_slice()) else { return Vec::new() };
    let Some(repository) = resolve(&directory, target.trim_ascii()) else { return Vec::new() };
    let shared = shared_by(&repository, reader);
    [Some(repository), shared].into_iter().flatten().collect()
}

/// The directory that has the configuration and the hooks of a repository that is split in two.
pub fn shared_by(repository: &HostPath, reader: &mut Reader) -> Option<HostPath> {
    let text = reader.pointer(&repository.join("commondir").ok()?)?;
    resolve(repository, text.trim_ascii())
}

/// The `.git` file of the work tree that belongs to a part of a repository that is split in two.
pub fn pointer_back(repository: &HostPath, reader: &mut Reader) -> Option<HostPath> {
    let text = reader.pointer(&repository.join("gitdir").ok()?)?;
    resolve(repository, text.trim_ascii())
}

/// The directories that the names in a repository's index may begin at.
pub fn work_trees(repository: &HostPath, reader: &mut Reader) -> Vec<HostPath> {
    let mut found = Vec::new();
    if repository.file_name().is_some_and(|name| name.eq_ignore_ascii_case(b".git")) {
        found.extend(repository.parent());
    }
    let configuration = repository.join("config").ok();
    let names = configuration.and_then(|path| reader.configuration(&path));
    found.extend(names.iter().flat_map(|names| names.iter()).filter_map(|named| match named {
        Named::WorkTree(path) => resolve(repository, path),
        _ => None,
    }));
    // A work tree beside the first one is known by the path of its `.git` file.
    found.extend(pointer_back(repository, reader).and_then(|pointer| pointer.parent()));
    found
}

/// How long the names of objects are in a repository.
pub fn object_names(repository: &HostPath, reader: &mut Reader) -> ObjectNames {
    let shared = shared_by(repository, reader);
    let configuration = shared.as_ref().unwrap_or(repository).join("config").ok();
    let names = configuration.and_then(|path| reader.configuration(&path));
    match names {
        Some(names) if names.contains(&Named::LongObjectNames) => ObjectNames::Sha256,
        _ => ObjectNames::Sha1,
    }
}

/// A path that configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedPath {
    /// Where it leads.
    pub path: HostPath,
    /// What Git does with it.
    pub role: Role,
}

/// What Git does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reads it as configuration.
    Configuration,
    /// Runs what is in it.
    Hooks,
    /// Runs it, or hands it to what it runs.
    Program,
    /// A word of a command that may be no path at all: counts only if it is a file already.
    PerhapsProgram,
}

/// What a repository's configuration names, with all that it includes.
///
/// Relative paths begin at the work tree. Which directory that is depends on how Git was started, so
/// all that it can be are tried. `real` says where a further file of configuration is to be read, if
/// it is one whose words count.
pub fn named_by(
    configuration: &HostPath,
    work_tree: Option<&HostPath>,
    home: Option<&HostPath>,
    real: &dyn Fn(&HostPath) -> Option<HostPath>,
    reader: &mut Reader,
) -> Vec<NamedPath> {
    let Some(repository) = configuration.parent() else { return Vec::new() };
    let mut starts = vec![repository.clone()];
    starts.extend(work_tree.cloned());
    if repository.file_name().is_some_and(|name| name.eq_ignore_ascii_case(b".git")) {
        starts.extend(repository.parent());
    }
    let mut found = Vec::new();
    let mut relative_to_work_tree = Vec::new();
    let mut waiting = VecDeque::from([configuration.clone()]);
    let mut read = HashSet::new();
    while let Some(file) = waiting.pop_front() {
        if read.len() >= MOST_FILES || !read.insert(file.clone()) {
            continue;
        }
        let (Some(names), Some(directory)) = (reader.configuration(&file), file.parent()) else {
            continue;
        };
        for named in names.iter() {
            match named {
                Named::Configuration(path) if found.len() < MOST_PATHS => {
                    let Some(path) = resolve_from(&directory, path, home) else { continue };
                    waiting.extend(real(&path));
                    found.push(NamedPath { path, role: Role::Configuration });
                }
                Named::Configuration(_) | Named::LongObjectNames => {}
                Named::WorkTree(path) => starts.extend(resolve(&repository, path)),
                Named::Hooks(path) => relative_to_work_tree.push((path.clone(), Role::Hooks)),
                Named::Program { path, is_surely_path: true } => {
                    relative_to_work_tree.push((path.clone(), Role::Program));
                }
                Named::Program { path, is_surely_path: false } => {
                    relative_to_work_tree.push((path.clone(), Role::PerhapsProgram));
                }
            }
        }
    }
    for (path, role) in relative_to_work_tree.iter().take(MOST_PATHS) {
        let paths = starts.iter().filter_map(|start| resolve_from(start, path, home));
        found.extend(paths.map(|path| NamedPath { path, role: *role }));
    }
    let mut known = HashSet::new();
    found.retain(|named| known.insert(named.clone()));
    found
}

fn resolve_from(directory: &HostPath, target: &[u8], home: Option<&HostPath>) -> Option<HostPath> {
    let target = target.strip_prefix(b":(optional)".as_slice()).unwrap_or(target);
    match target.strip_prefix(b"~/".as_slice()) {
        Some(below) => resolve(home?, below),
        None => resolve(directory, target),
    }
}

/// A path as Git reads it, made absolute; `..` after a link is above what the link leads to. Where the path
/// leads is for whoever opens it.
pub fn resolve(directory: &HostPath, target: &[u8]) -> Option<HostPath> {
    if target.is_empty() {
        return None;
    }
    let start = if target.starts_with(b"/") { HostPath::root() } else { directory.clone() };
    target.split(|byte| *byte == b'/').try_fold(start, |at, step| match step {
        b"" | b"." => Some(at),
        b".." => Some(above(at)),
        name => at.join(name).ok(),
    })
}

fn above(path: HostPath) -> HostPath {
    let is_link = path.as_path().symlink_metadata().is_ok_and(|found| found.is_symlink());
    let real = if is_link { real(&path).unwrap_or(path) } else { path };
    real.parent().unwrap_or(real)
}

/// Where the object is that a path leads to.
pub fn real(path: &HostPath) -> Option<HostPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    let opened = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).ok()?;
    let place = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    HostPath::new(place.into_os_string()).ok()
}

/// How many files one configuration may consist of.
const MOST_FILES: usize = 16;
