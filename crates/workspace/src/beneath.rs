//! Reaching objects beneath a root that somebody else writes to: the kernel holds every step beneath the root,
//! follows no link and enters no mount. Reads and never changes anything.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use crate::object::{Kind, Object, Stamp};
use crate::path::TreePath;

/// A directory beneath which everything happens.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    pub(crate) fn new(directory: OwnedFd) -> Self {
        Self(directory)
    }

    /// Opens a directory to read its names and to act on them.
    pub(crate) fn directory(&self, path: &TreePath) -> Result<OwnedFd, Errno> {
        let bytes = if path.is_root() { b".".as_slice() } else { path.as_bytes() };
        open_beneath(self.as_fd(), bytes, TO_LIST)
    }

    /// The open directory that a path is in, and its name there.
    pub(crate) fn parent<'path>(
        &self,
        path: &'path TreePath,
    ) -> Result<(OwnedFd, &'path [u8]), Errno> {
        let (parent, name) = path.split().ok_or(Errno::INVAL)?;
        Ok((self.directory(&parent)?, name))
    }

    /// Looks at a path; none where it or a directory above it is missing, or where one above it is no directory.
    pub(crate) fn look(&self, path: &TreePath) -> Result<Option<Object>, Errno> {
        match self.parent(path) {
            Ok((parent, name)) => Object::at(parent, name),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens a directory by its name in another one.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    open_beneath(parent, name, TO_LIST)
}

/// Opens a regular file by its name in an open directory. Whatever else has the name meanwhile is refused, and
/// nothing is waited for.
pub(crate) fn open_file(parent: BorrowedFd<'_>, name: &[u8]) -> Result<(OwnedFd, Object), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_beneath(parent, name, flags | OFlags::CLOEXEC)?;
    let object = Object::of(&file)?;
    if object.kind == Kind::File { Ok((file, object)) } else { Err(Errno::STALE) }
}

/// The target of a link by its name in an open directory.
pub(crate) fn read_link(parent: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(parent, name, Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Calls a function with each name in a directory, in the order of the file system.
pub(crate) fn each_name(
    directory: BorrowedFd<'_>,
    mut function: impl FnMut(&[u8]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            function(name)?;
        }
    }
    Ok(())
}

/// All names in a directory, sorted; `TOOBIG` where there are more than `most`.
pub(crate) fn names(directory: BorrowedFd<'_>, most: usize) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    each_name(directory, |name| {
        if names.len() >= most {
            return Err(Errno::TOOBIG);
        }
        names.push(name.to_vec());
        Ok(())
    })?;
    names.sort_unstable();
    Ok(names)
}

/// Everything below a directory, with the state that it is in.
pub(crate) fn all_below(root: &Root, path: &TreePath) -> Result<Vec<(TreePath, Stamp)>, Errno> {
    let mut found = Vec::new();
    let mut pending = vec![path.clone()];
    while let Some(path) = pending.pop() {
        let directory = root.directory(&path)?;
        for name in names(directory.as_fd(), usize::MAX)? {
            let path = path.join(&name).map_err(|_| Errno::NAMETOOLONG)?;
            let Some(object) = Object::at(&directory, &name)? else { continue };
            found.push((path.clone(), object.stamp));
            if object.is_directory() {
                pending.push(path);
            }
        }
    }
    Ok(found)
}

/// `openat2` answers `EAGAIN` when directories were renamed under the walk, which a program can cause at will.
fn open_beneath(start: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let mut outcome = Err(Errno::AGAIN);
    for _ in 0..MOST_TRIES {
        outcome = rustix::fs::openat2(start, path, flags, Mode::empty(), resolve);
        if !matches!(outcome, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    outcome
}

const TO_LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

const MOST_TRIES: usize = 256;
