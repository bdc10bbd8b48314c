//! A look-up step by step, as the kernel's `openat2` does it, for cages in which that call does not exist: each name is
//! opened without following it, a link is read and followed by hand, and `..` goes back to a descriptor that was held
//! before, never above the first one.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// Opens a path beneath a directory, or as if the directory were `/`.
pub(super) fn open(
    root: &OwnedFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let in_root = resolve.contains(ResolveFlags::IN_ROOT);
    let mut above: Vec<OwnedFd> = vec![reopened(root)?];
    let mut rest: VecDeque<OsString> = names(path.as_os_str());
    if path.is_absolute() && !in_root {
        return Err(Errno::XDEV);
    }
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        let is_last = rest.is_empty();
        let here = above.last().ok_or(Errno::IO)?;
        match name.as_bytes() {
            b"." => continue,
            b".." if above.len() > 1 => {
                above.pop();
                continue;
            }
            b".." if in_root => continue,
            b".." => return Err(Errno::XDEV),
            _ => {}
        }
        let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(here, &name, step, Mode::empty())?;
        let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
        if kind == FileType::Symlink && !(is_last && flags.contains(OFlags::NOFOLLOW)) {
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP);
            }
            let target = readlinkat(&found, "", Vec::new())?.into_bytes();
            if target.starts_with(b"/") {
                if !in_root {
                    return Err(Errno::XDEV);
                }
                above.truncate(1);
            }
            let mut followed = names(OsStr::from_bytes(&target));
            followed.append(&mut rest);
            rest = followed;
            continue;
        }
        if is_last {
            // What the name stands for now may be a link again: it is not followed.
            return openat(here, &name, flags | OFlags::NOFOLLOW, mode);
        }
        if kind != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        above.push(found);
        if above.len() > MOST_DEPTH {
            return Err(Errno::NAMETOOLONG);
        }
    }
    openat(above.last().ok_or(Errno::IO)?, ".", flags, mode)
}

fn reopened(root: &OwnedFd) -> Result<OwnedFd, Errno> {
    openat(root, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn names(path: &OsStr) -> VecDeque<OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let mut names: VecDeque<OsString> =
        parts.map(|part| OsString::from_vec(part.to_vec())).collect();
    if path.as_bytes().ends_with(b"/") {
        // A slash at the end asks for a directory.
        names.push_back(".".into());
    }
    names
}

const MOST_LINKS: usize = 40;
const MOST_DEPTH: usize = 1000;
