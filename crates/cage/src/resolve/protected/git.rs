//! Repositories that are not called `.git`: where a `.git` file points to. Reads one small pointer
//! file per repository; a pointer that is large, not text or leads nowhere is none.

use std::io::Read as _;

use plan::{ByteString, HostPath};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

#[cfg(test)]
mod tests;

/// What Git runs or obeys inside a repository's directory.
pub(super) const RUNS_CODE: [&str; 5] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir"];

/// What such a file is called in facts and errors.
pub(super) const KNOWN_AS: &str = ".git/config";

/// The directories that a `.git` file makes Git use: the one it names, and the one that this names
/// in turn as shared by several work trees.
pub(super) fn pointed_to(pointer: &HostPath) -> Vec<HostPath> {
    let Some(directory) = pointer.parent() else { return Vec::new() };
    let Some(text) = read_pointer(pointer) else { return Vec::new() };
    let Some(target) = text.strip_prefix(b"gitdir:".as_slice()) else { return Vec::new() };
    let Some(repository) = resolve(&directory, target.trim_ascii()) else { return Vec::new() };
    let shared = repository
        .join("commondir")
        .ok()
        .and_then(|pointer| read_pointer(&pointer))
        .and_then(|text| resolve(&repository, text.trim_ascii()));
    [Some(repository), shared].into_iter().flatten().collect()
}

fn read_pointer(path: &HostPath) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).ok()?;
    let mut text = Vec::new();
    std::fs::File::from(file).take(MOST_POINTER_BYTES + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MOST_POINTER_BYTES).then_some(text)
}

/// A path as Git reads it, made absolute; `..` is taken by name, and what it leads to is opened and
/// judged by where it really is.
fn resolve(directory: &HostPath, target: &[u8]) -> Option<HostPath> {
    if target.is_empty() {
        return None;
    }
    let start = if target.starts_with(b"/") { HostPath::root() } else { directory.clone() };
    target.split(|byte| *byte == b'/').try_fold(start, |at, step| match step {
        b"" | b"." => Some(at),
        b".." => Some(at.parent().unwrap_or(at)),
        name => at.join(ByteString::from(name.to_vec()).as_bytes()).ok(),
    })
}

/// A pointer is a path and a word.
const MOST_POINTER_BYTES: u64 = 8 * 1024;
