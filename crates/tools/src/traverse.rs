//! A walk over a directory and what is below it, within bounds: in order of names, without following links, by
//! descriptors that were opened on the way.

use std::os::fd::OwnedFd;

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use crate::error::ToolError;
use crate::tool::Call;

/// Something in a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: FileType,
}

/// What to do with the rest of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// Levels of directories.
    pub(crate) depth: usize,
    /// Whether directories that hardly anybody means are left out.
    pub(crate) skips: bool,
}

/// Names in one directory, in order.
pub(crate) fn entries(directory: &OwnedFd, text: &str) -> Result<Vec<Entry>, ToolError> {
    let failed = |errno| ToolError::of_path("getdents", text, errno);
    let mut found = Vec::new();
    for entry in Dir::read_from(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say it here.
            FileType::Unknown => {
                let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                let stat = rustix::fs::statat(directory, entry.file_name(), flags);
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            kind => kind,
        };
        found.push(Entry { name, kind });
        if found.len() >= MOST_IN_ONE {
            break;
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Visits everything below a directory: with its path from there, its entry, and the directory that it is in. What
/// cannot be opened is passed over.
pub(crate) fn walk(
    directory: OwnedFd,
    text: &str,
    walk: Walk,
    call: &Call<'_>,
    visit: &mut dyn FnMut(&str, &Entry, &OwnedFd) -> Result<Go, ToolError>,
) -> Result<(), ToolError> {
    let mut left = MOST_ENTRIES;
    below(&directory, text, "", walk, call, &mut left, visit).map(|_| ())
}

fn below(
    directory: &OwnedFd,
    text: &str,
    prefix: &str,
    how: Walk,
    call: &Call<'_>,
    left: &mut usize,
    visit: &mut dyn FnMut(&str, &Entry, &OwnedFd) -> Result<Go, ToolError>,
) -> Result<Go, ToolError> {
    for entry in entries(directory, text)? {
        call.check()?;
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(Go::Stop);
        }
        let path = match prefix {
            "" => entry.name.clone(),
            prefix => format!("{prefix}/{}", entry.name),
        };
        if visit(&path, &entry, directory)? == Go::Stop {
            return Ok(Go::Stop);
        }
        let is_skipped = how.skips && SKIPPED.contains(&entry.name.as_str());
        if entry.kind != FileType::Directory || how.depth <= 1 || is_skipped {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(next) = openat(directory, entry.name.as_str(), flags, Mode::empty()) else {
            continue;
        };
        let deeper = Walk { depth: how.depth - 1, ..how };
        if below(&next, text, &path, deeper, call, left, visit)? == Go::Stop {
            return Ok(Go::Stop);
        }
    }
    Ok(Go::On)
}

/// What `find`, `grep` and `search` do not look into unless they are asked to.
pub(crate) const SKIPPED: &[&str] =
    &[".git", ".hg", ".venv", "__pycache__", "node_modules", "target"];
/// Each level holds a descriptor.
pub(crate) const MOST_DEPTH: usize = 60;
const MOST_ENTRIES: usize = 300_000;
const MOST_IN_ONE: usize = 100_000;
