//! Where the commits of a repository begin: branches, tags, stashes, what its work trees have checked out, and the
//! logs of what these were. Reads the files of references, within bounds.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use plan::HostPath;
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};

use super::objects::{Id, read};

/// Where the commits of a repository begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tips {
    /// What they lead to.
    pub ids: BTreeSet<Id>,
    /// Whether these are all.
    pub is_whole: bool,
}

/// Reads those of a repository; none where its references are kept in another form.
pub fn tips(repository: &HostPath) -> Option<Tips> {
    let top = open(repository)?;
    if open_below(&top, "reftable").is_some() {
        return None;
    }
    let mut tips = Tips { ids: BTreeSet::new(), is_whole: true };
    let mut left = MOST_FILES;
    for name in HEADS {
        tips.take_file(&top, name);
    }
    tips.take_packed(&top);
    tips.take_below(&top, "refs", &mut left, 0);
    for log in LOGS {
        tips.take_log(&top, log);
    }
    if let Some(others) = open_below(&top, "worktrees") {
        for (name, _) in names(&others, MOST_WORK_TREES) {
            for head in HEADS {
                tips.take_file(&others, &format!("{name}/{head}"));
            }
            tips.take_log(&others, &format!("{name}/logs/HEAD"));
            tips.take_below(&others, &format!("{name}/refs"), &mut left, 0);
        }
    }
    Some(tips)
}

/// The commit that a work tree has checked out: `repository` is the directory with its `HEAD`, `common` the one
/// with the branches.
pub fn head(repository: &HostPath, common: &HostPath) -> Option<Id> {
    let text = read(&open(repository)?, "HEAD", MOST_REFERENCE)?;
    let text = text.trim_ascii();
    let Some(name) = text.strip_prefix(b"ref:".as_slice()) else { return Id::parse(text) };
    let name = std::str::from_utf8(name).ok()?.trim();
    let common = open(common)?;
    if let Some(text) = read(&common, name, MOST_REFERENCE) {
        return Id::parse(text.trim_ascii());
    }
    let packed = read(&common, "packed-refs", MOST_PACKED)?;
    let mut lines = packed.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let (id, found) = line.split_at_checked(ID_TEXT)?;
        (found.strip_prefix(b" ")? == name.as_bytes()).then(|| Id::parse(id))?
    })
}

impl Tips {
    fn add(&mut self, text: &[u8]) {
        if self.ids.len() >= MOST_TIPS {
            self.is_whole = false;
            return;
        }
        let id = text.get(..ID_TEXT).and_then(Id::parse);
        self.ids.extend(id.filter(|id| *id != NONE));
    }

    fn take_file(&mut self, directory: &OwnedFd, path: &str) {
        if let Some(text) = read(directory, path, MOST_REFERENCE) {
            self.add(&text);
        }
    }

    fn take_packed(&mut self, top: &OwnedFd) {
        match read(top, "packed-refs", MOST_PACKED) {
            Some(text) => text.split(|byte| *byte == b'\n').for_each(|line| self.add(line)),
            None => {
                let exists = rustix::fs::statat(top, "packed-refs", rustix::fs::AtFlags::empty());
                self.is_whole &= exists.is_err();
            }
        }
    }

    /// The second word of each line is what the reference was from then on.
    fn take_log(&mut self, directory: &OwnedFd, path: &str) {
        let Some(text) = read(directory, path, MOST_LOG) else { return };
        for line in text.rsplit(|byte| *byte == b'\n').take(MOST_LOG_LINES) {
            if let Some(new) = line.get(ID_TEXT + 1..) {
                self.add(new);
            }
        }
    }

    fn take_below(&mut self, above: &OwnedFd, path: &str, left: &mut usize, depth: usize) {
        let Some(directory) = open_below(above, path) else { return };
        let found = names(&directory, *left);
        *left = left.saturating_sub(found.len());
        if *left == 0 || depth > MOST_DEPTH {
            self.is_whole = false;
            return;
        }
        for (name, is_directory) in found {
            match is_directory {
                true => self.take_below(&directory, &name, left, depth + 1),
                false => self.take_file(&directory, &name),
            }
        }
    }
}

fn names(directory: &OwnedFd, most: usize) -> Vec<(String, bool)> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 8 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if names.len() < most && !matches!(name, "." | "..") {
            let is_directory = crate::kind_of(directory, &entry) == FileType::Directory;
            names.push((name.to_owned(), is_directory));
        }
    }
    names
}

fn open(path: &HostPath) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).ok()
}

fn open_below(above: &OwnedFd, path: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(above, path, flags, Mode::empty(), resolve).ok()
}

/// Files with one commit each, where something is checked out or in progress.
const HEADS: [&str; 6] =
    ["HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"];
const LOGS: [&str; 2] = ["logs/HEAD", "logs/refs/stash"];
const ID_TEXT: usize = 40;
/// What a log has where there was nothing.
const NONE: Id = Id([0; 20]);
const MOST_TIPS: usize = 65_536;
const MOST_FILES: usize = 16_384;
const MOST_WORK_TREES: usize = 256;
const MOST_DEPTH: usize = 16;
const MOST_REFERENCE: usize = 4096;
const MOST_PACKED: usize = 16 << 20;
const MOST_LOG: usize = 4 << 20;
const MOST_LOG_LINES: usize = 1024;
