//! Removing a directory that a program in a cage has filled, with everything in it. Never follows a
//! link, never enters a mount, and needs no more descriptors or stack for a deep tree than for a flat
//! one: a directory inside a directory is moved up to the root of what is wiped before it is looked
//! into.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// Removes the directory `name` of `parent` and everything in it. What cannot be removed, such as
/// something that is mounted there, stays with the directories above it, and the first refusal is
/// returned; everything else is gone.
pub fn wipe(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(_) => {}
    }
    let mut wipe = Wipe { root: open_writable(parent, name)?, moved: 0, refusal: None };
    while wipe.pass()? > 0 {}
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(wipe.refusal.unwrap_or(errno)),
    }
}

struct Wipe {
    root: OwnedFd,
    /// How many directories were moved up, which gives each a new name.
    moved: u64,
    refusal: Option<Errno>,
}

impl Wipe {
    /// Removes what lies directly in the root, after moving up what lies in its directories. Returns
    /// how much was done: where it is nothing, there is nothing left that can be.
    fn pass(&mut self) -> Result<u64, Errno> {
        self.refusal = None;
        let mut done = 0;
        for (name, kind) in names(self.root.as_fd())? {
            let mut removed = remove(self.root.as_fd(), &name, kind);
            if removed == Err(Errno::NOTEMPTY) {
                removed = self.empty(&name).and_then(|emptied| {
                    done += emptied;
                    remove(self.root.as_fd(), &name, FileType::Directory)
                });
            }
            done += self.counted(removed);
        }
        Ok(done)
    }

    /// Removes the files of one of the root's directories and moves its directories up.
    fn empty(&mut self, name: &CStr) -> Result<u64, Errno> {
        let directory = open_writable(self.root.as_fd(), name)?;
        let mut done = 0;
        for (name, kind) in names(directory.as_fd())? {
            let mut removed = remove(directory.as_fd(), &name, kind);
            if removed == Err(Errno::NOTEMPTY) {
                removed = self.move_up(directory.as_fd(), &name);
            }
            done += self.counted(removed);
        }
        Ok(done)
    }

    /// One for what was done. The first refusal of a pass is the one to report: what follows from
    /// it comes later.
    fn counted(&mut self, done: Result<(), Errno>) -> u64 {
        match done {
            Ok(()) => 1,
            Err(errno) => {
                self.refusal.get_or_insert(errno);
                0
            }
        }
    }

    fn move_up(&mut self, directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        loop {
            self.moved += 1;
            let up = format!(".wiped-{}", self.moved);
            // Nothing can be lost by it: a directory is moved over an empty one at most.
            match rustix::fs::renameat(directory, name, &self.root, &up) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                // To move a directory is to write its `..`.
                Err(Errno::ACCESS) => {
                    open_writable(directory, name)?;
                    return rustix::fs::renameat(directory, name, &self.root, &up);
                }
                other => return other,
            }
        }
    }
}

fn remove(directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<(), Errno> {
    let flags = if kind == FileType::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match rustix::fs::unlinkat(directory, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // Both are allowed by POSIX for a directory that is not empty.
        Err(Errno::EXIST) => Err(Errno::NOTEMPTY),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory and sees to it that its owner may change it: a program can take that right away
/// from itself, and so from us.
fn open_writable(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let open = |flags: OFlags| {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)
    };
    let path = open(OFlags::PATH)?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&path)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        // A descriptor that is open as a path only cannot be changed itself (fchmod(2)); the name
        // of it leads to that very directory.
        let name = format!("/proc/self/fd/{}", path.as_raw_fd());
        match rustix::fs::chmod(name, Mode::RWXU) {
            // Whoever is not its owner may have the right to change it all the same.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
    }
    open(OFlags::RDONLY)
}

/// Names in a directory, a bounded number of them: those that are not among them come with the next
/// pass, when these are gone.
fn names(directory: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
    rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while names.len() < MOST_NAMES
        && let Some(entry) = entries.next()
    {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(status.st_mode)
            }
            kind => kind,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

const MOST_NAMES: usize = 4096;
