//! Where the files of a Git repository lead: to a repository elsewhere, to further configuration, to
//! hooks and programs. Reads small files within a bound and gives paths by name; whoever asks opens
//! them and judges by where they really are. A pointer that is large, not text or leads nowhere is
//! none.

use std::collections::{HashSet, VecDeque};
use std::os::fd::{AsRawFd as _, OwnedFd};

use plan::HostPath;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::git_config::{Named, named};

#[cfg(test)]
mod tests;

/// What Git runs or obeys inside a repository's directory.
pub(crate) const RUNS_CODE: [&str; 5] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir"];

/// Those that are configuration.
pub(crate) const CONFIGURATION: [&str; 2] = ["config", "config.worktree"];

/// Files that are there and could not be read, for whatever they name is then unknown.
pub(crate) type Unread = Vec<(HostPath, Errno)>;

/// The directories that a `.git` file makes Git use: the one it names, and the one that this names
/// in turn as shared by several work trees.
pub(crate) fn pointed_to(pointer: &HostPath, unread: &mut Unread) -> Vec<HostPath> {
    let Some(directory) = pointer.parent() else { return Vec::new() };
    let Some(text) = read_pointer(pointer, unread) else { return Vec::new() };
    let Some(target) = text.strip_prefix(b"gitdir:".as_slice()) else { return Vec::new() };
    let Some(repository) = resolve(&directory, target.trim_ascii()) else { return Vec::new() };
    let shared = shared_by(&repository, unread);
    [Some(repository), shared].into_iter().flatten().collect()
}

/// The directory that has the configuration and the hooks of a repository that is split in two.
pub(crate) fn shared_by(repository: &HostPath, unread: &mut Unread) -> Option<HostPath> {
    let text = read_pointer(&repository.join("commondir").ok()?, unread)?;
    resolve(repository, text.trim_ascii())
}

/// A path that configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedPath {
    pub(crate) path: HostPath,
    pub(crate) role: Role,
}

/// What Git does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
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
pub(crate) fn named_by(
    configuration: &HostPath,
    work_tree: Option<&HostPath>,
    home: Option<&HostPath>,
    real: &dyn Fn(&HostPath) -> Option<HostPath>,
    unread: &mut Unread,
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
        let (Some(text), Some(directory)) = (read_configuration(&file, unread), file.parent())
        else {
            continue;
        };
        for named in named(&text) {
            match named {
                Named::Configuration(path) if found.len() < MOST_PATHS => {
                    let Some(path) = resolve_from(&directory, &path, home) else { continue };
                    waiting.extend(real(&path));
                    found.push(NamedPath { path, role: Role::Configuration });
                }
                Named::Configuration(_) => {}
                Named::WorkTree(path) => starts.extend(resolve(&repository, &path)),
                Named::Hooks(path) => relative_to_work_tree.push((path, Role::Hooks)),
                Named::Program { path, is_surely_path: true } => {
                    relative_to_work_tree.push((path, Role::Program));
                }
                Named::Program { path, is_surely_path: false } => {
                    relative_to_work_tree.push((path, Role::PerhapsProgram));
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

fn read_pointer(path: &HostPath, unread: &mut Unread) -> Option<Vec<u8>> {
    // A pointer may be reached through links, as Git reaches it.
    let text = read(path, ResolveFlags::NO_MAGICLINKS, MOST_POINTER_BYTES + 1, unread)?;
    (text.len() <= MOST_POINTER_BYTES).then_some(text)
}

/// The beginning of a file of configuration.
fn read_configuration(path: &HostPath, unread: &mut Unread) -> Option<Vec<u8>> {
    read(path, ResolveFlags::NO_SYMLINKS, MOST_CONFIGURATION_BYTES, unread)
}

/// At most so many bytes of a file, and nothing of what is none. What a link of the project leads to
/// may be a device, and to open that can be to start it: first comes a descriptor for reference.
fn read(
    path: &HostPath,
    resolve: ResolveFlags,
    most: usize,
    unread: &mut Unread,
) -> Option<Vec<u8>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let object = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve);
    match object.and_then(|object| read_object(&object, most)) {
        Ok(text) => text,
        // Git, as the same user, cannot read it either.
        Err(
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::ACCESS
            | Errno::PERM,
        ) => None,
        Err(errno) => {
            unread.push((path.clone(), errno));
            None
        }
    }
}

/// As [`read`], from a descriptor for reference.
pub(crate) fn read_object(object: &OwnedFd, most: usize) -> Result<Option<Vec<u8>>, Errno> {
    let mode = rustix::fs::fstat(object)?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let name = format!("/proc/self/fd/{}", object.as_raw_fd());
    let file = rustix::fs::open(name, flags, Mode::empty())?;
    let mut text = Vec::new();
    while text.len() < most {
        let room = (most - text.len()).min(CHUNK);
        // A short answer from a regular file is the last one.
        if read_chunk(&file, &mut text, room)? < room {
            break;
        }
    }
    Ok(Some(text))
}

fn read_chunk(file: &OwnedFd, text: &mut Vec<u8>, room: usize) -> Result<usize, Errno> {
    let before = text.len();
    text.resize(before + room, 0);
    let space = text.get_mut(before..).unwrap_or_default();
    let length = rustix::io::pread(file, space, before as u64)?;
    text.truncate(before + length);
    Ok(length)
}

fn resolve_from(directory: &HostPath, target: &[u8], home: Option<&HostPath>) -> Option<HostPath> {
    let target = target.strip_prefix(b":(optional)".as_slice()).unwrap_or(target);
    match target.strip_prefix(b"~/".as_slice()) {
        Some(below) => resolve(home?, below),
        None => resolve(directory, target),
    }
}

/// A path as Git reads it, made absolute; `..` is taken by name, and what it leads to is opened and
/// judged by where it really is.
pub(crate) fn resolve(directory: &HostPath, target: &[u8]) -> Option<HostPath> {
    if target.is_empty() {
        return None;
    }
    let start = if target.starts_with(b"/") { HostPath::root() } else { directory.clone() };
    target.split(|byte| *byte == b'/').try_fold(start, |at, step| match step {
        b"" | b"." => Some(at),
        b".." => Some(at.parent().unwrap_or(at)),
        name => at.join(name).ok(),
    })
}

/// A pointer is a path and a word.
const MOST_POINTER_BYTES: usize = 8 * 1024;

/// Far more than a repository with thousands of branches has; the rest is not read.
const MOST_CONFIGURATION_BYTES: usize = 1024 * 1024;

const CHUNK: usize = 16 * 1024;

/// How many files one configuration may consist of, and how many paths it may name in them.
const MOST_FILES: usize = 16;
const MOST_PATHS: usize = 256;
