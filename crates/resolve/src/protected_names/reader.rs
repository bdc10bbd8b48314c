//! Reads files of repositories for what they name, within a bound on what is read in all and no
//! configuration twice, by however many names it is reached: a program can make thousands of them.
//! Opens for reference first, so that nothing is started or waited for; never writes.

use std::collections::HashMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::rc::Rc;

use plan::HostPath;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::git_config::{Named, named};

#[cfg(test)]
mod tests;

/// What may still be read, and what was.
#[derive(Debug)]
pub struct Reader {
    bytes_left: usize,
    /// Files that are there and could not be read, for whatever they name is then unknown; of those for
    /// which nothing was left (`EFBIG`) the first.
    unread: Vec<(HostPath, Errno)>,
    is_used_up: bool,
    /// What configurations name, by device and inode.
    configurations: HashMap<(u64, u64), Rc<[Named]>>,
}

impl Reader {
    /// One that reads no more than so many bytes in all.
    pub fn new(most_bytes: usize) -> Self {
        let configurations = HashMap::new();
        Self { bytes_left: most_bytes, unread: Vec::new(), is_used_up: false, configurations }
    }

    /// Files that could not be read since this was asked last.
    pub fn take_unread(&mut self) -> Vec<(HostPath, Errno)> {
        std::mem::take(&mut self.unread)
    }

    /// A file that is a path and a word.
    pub(super) fn pointer(&mut self, path: &HostPath) -> Option<Vec<u8>> {
        // It may be reached through links, as Git reaches it.
        let object = self.open(path, ResolveFlags::NO_MAGICLINKS)?;
        let read = self.object(path, &object, MOST_POINTER_BYTES + 1);
        let text = self.noted(path, read)?;
        (text.len() <= MOST_POINTER_BYTES).then_some(text)
    }

    /// What the beginning of a file of configuration names.
    pub(super) fn configuration(&mut self, path: &HostPath) -> Option<Rc<[Named]>> {
        let object = self.open(path, ResolveFlags::NO_SYMLINKS)?;
        let status = self.noted(path, rustix::fs::fstat(&object).map(Some))?;
        let key = (status.st_dev, status.st_ino);
        if let Some(known) = self.configurations.get(&key) {
            return Some(Rc::clone(known));
        }
        let read = self.object(path, &object, MOST_CONFIGURATION_BYTES);
        let names: Rc<[Named]> = named(&self.noted(path, read)?).into();
        self.configurations.insert(key, Rc::clone(&names));
        Some(names)
    }

    /// At most so many bytes of a file, and nothing of what is none.
    pub fn object(
        &mut self,
        path: &HostPath,
        object: &OwnedFd,
        most: usize,
    ) -> Result<Option<Vec<u8>>, Errno> {
        let room = most.min(self.bytes_left);
        let Some(text) = read_object(object, room)? else { return Ok(None) };
        self.bytes_left -= text.len();
        if text.len() == room && room < most {
            self.note_used_up(path);
            return Ok(None);
        }
        Ok(Some(text))
    }

    /// Opens a file for reference.
    fn open(&mut self, path: &HostPath, resolve: ResolveFlags) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve);
        self.noted(path, opened.map(Some))
    }

    fn noted<T>(&mut self, path: &HostPath, read: Result<Option<T>, Errno>) -> Option<T> {
        match read {
            Ok(read) => read,
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
                self.unread.push((path.clone(), errno));
                None
            }
        }
    }

    fn note_used_up(&mut self, path: &HostPath) {
        if !std::mem::replace(&mut self.is_used_up, true) {
            self.unread.push((path.clone(), Errno::FBIG));
        }
    }
}

/// At most so many bytes of a file that is open for reference, and nothing of what is none. What a link of the
/// project leads to may be a device, and to open that can be to start it: that is why there is a descriptor
/// for reference before.
pub(crate) fn read_object(object: &OwnedFd, most: usize) -> Result<Option<Vec<u8>>, Errno> {
    let status = rustix::fs::fstat(object)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let name = format!("/proc/self/fd/{}", object.as_raw_fd());
    let file = rustix::fs::open(name, flags, Mode::empty())?;
    let expected = usize::try_from(status.st_size).unwrap_or(usize::MAX);
    let mut text = Vec::new();
    while text.len() < most {
        // One more than is expected shows that this is the end.
        let wanted = expected.saturating_sub(text.len()).saturating_add(1).clamp(LEAST, CHUNK);
        let chunk = wanted.min(most - text.len());
        // A short answer from a regular file is the last one.
        if read_chunk(&file, &mut text, chunk)? < chunk {
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

/// A pointer is a path and a word.
const MOST_POINTER_BYTES: usize = 8 * 1024;

/// Far more than a repository with thousands of branches has; the rest is not read.
const MOST_CONFIGURATION_BYTES: usize = 1024 * 1024;

/// How much is asked for at once.
const LEAST: usize = 512;
const CHUNK: usize = 64 * 1024;
