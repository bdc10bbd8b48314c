//! Making objects: fresh ones of the caller's own, with the content, permissions, times and user attributes of
//! others. Nothing is ever made through a link or in place of something; holes in files stay holes.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::attributes::{self, UserAttributes};
use crate::beneath::{self, Root};
use crate::failpoint;
use crate::object::{Kind, Moment, Object};
use crate::path::TreePath;

/// What an object has beside its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    /// None leaves the date alone.
    pub(crate) modified: Option<Moment>,
    pub(crate) user: UserAttributes,
}

/// Whose the new objects are; none leaves them to the caller, who can give them to nobody else.
pub(crate) type Owner = Option<(u32, u32)>;

impl Attributes {
    /// Those of an object that a program made: no set-id bit among them.
    pub(crate) fn carried(
        directory: BorrowedFd<'_>,
        name: &[u8],
        object: &Object,
    ) -> Result<Self, Errno> {
        let exact = Self::exact(directory, name, object)?;
        Ok(Self { mode: object.permissions(), ..exact })
    }

    /// Those of an object of the host's own.
    pub(crate) fn exact(
        directory: BorrowedFd<'_>,
        name: &[u8],
        object: &Object,
    ) -> Result<Self, Errno> {
        let user = attributes::user_attributes(directory, name)?.unwrap_or_default();
        Ok(Self { mode: object.mode, modified: Some(object.modified), user })
    }

    /// Gives them to an open file or directory. The mode comes last but for the date: without write permission no
    /// attribute can be set.
    pub(crate) fn give(
        &self,
        object: BorrowedFd<'_>,
        before: &UserAttributes,
    ) -> Result<(), Errno> {
        attributes::set_user_attributes(object, before, &self.user)?;
        failpoint::reached()?;
        rustix::fs::fchmod(object, Mode::from_raw_mode(self.mode))?;
        match self.modified {
            Some(modified) => set_modified(object, modified),
            None => Ok(()),
        }
    }
}

/// Makes a regular file of an open one's content.
pub(crate) fn file(
    source: &File,
    directory: BorrowedFd<'_>,
    name: &[u8],
    attributes: &Attributes,
    owner: Owner,
) -> Result<Object, Errno> {
    let new = create(directory, name)?;
    failpoint::reached()?;
    copy_content(source, &new)?;
    finish(new, attributes, owner)
}

/// Makes a regular file of bytes.
pub(crate) fn file_of(
    bytes: &[u8],
    directory: BorrowedFd<'_>,
    name: &[u8],
    attributes: &Attributes,
    owner: Owner,
) -> Result<Object, Errno> {
    let mut new = create(directory, name)?;
    failpoint::reached()?;
    new.write_all(bytes).map_err(|error| errno_of(&error))?;
    finish(new, attributes, owner)
}

/// Makes a link with a text.
pub(crate) fn link(
    target: &[u8],
    directory: BorrowedFd<'_>,
    name: &[u8],
    modified: Moment,
    owner: Owner,
) -> Result<Object, Errno> {
    failpoint::reached()?;
    rustix::fs::symlinkat(target, directory, name)?;
    if let Some((user, group)) = owner {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(directory, name, Some(user), Some(group), flags)?;
    }
    rustix::fs::utimensat(directory, name, &times(modified), AtFlags::SYMLINK_NOFOLLOW)?;
    Object::at(directory, name)?.ok_or(Errno::STALE)
}

/// Makes an empty directory that its owner alone may enter.
pub(crate) fn directory(
    parent: BorrowedFd<'_>,
    name: &[u8],
    owner: Owner,
) -> Result<OwnedFd, Errno> {
    failpoint::reached()?;
    rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
    let made = beneath::open_directory(parent, name)?;
    chown(made.as_fd(), owner)?;
    Ok(made)
}

/// Copies an object of the host's own with everything in it, owners included where the caller may set them. The
/// topmost directory is left open to its owner alone: which attributes it gets is for whoever puts it in place.
pub(crate) fn tree(
    from: BorrowedFd<'_>,
    from_name: &[u8],
    to: BorrowedFd<'_>,
    to_name: &[u8],
) -> Result<Object, Errno> {
    let object = Object::at(from, from_name)?.ok_or(Errno::STALE)?;
    let made = one((from, from_name), &object, (to, to_name))?;
    if !object.is_directory() {
        return Ok(made);
    }
    let source = Root::new(beneath::open_directory(from, from_name)?);
    let target = Root::new(beneath::open_directory(to, to_name)?);
    let mut pending = vec![TreePath::root()];
    let mut directories = Vec::new();
    while let Some(path) = pending.pop() {
        let (below, above) = (source.directory(&path)?, target.directory(&path)?);
        for name in beneath::names(below.as_fd(), usize::MAX)? {
            let Some(object) = Object::at(&below, &name)? else { continue };
            one((below.as_fd(), &name), &object, (above.as_fd(), &name))?;
            if object.is_directory() {
                let path = path.join(&name).map_err(|_| Errno::NAMETOOLONG)?;
                directories.push((path.clone(), Attributes::exact(below.as_fd(), &name, &object)?));
                pending.push(path);
            }
        }
    }
    // What is below is done before a directory is closed.
    directories.sort_unstable_by(|one, other| other.0.cmp(&one.0));
    for (path, attributes) in directories {
        attributes.give(target.directory(&path)?.as_fd(), &UserAttributes::new())?;
    }
    Ok(made)
}

/// Copies one object of the host's own; of a directory nothing but itself.
fn one(
    (from, from_name): (BorrowedFd<'_>, &[u8]),
    object: &Object,
    (to, to_name): (BorrowedFd<'_>, &[u8]),
) -> Result<Object, Errno> {
    let owner = rustix::process::geteuid().is_root().then_some(object.owner);
    match object.kind {
        Kind::Directory => Object::of(directory(to, to_name, owner)?),
        Kind::Link => {
            link(&beneath::read_link(from, from_name)?, to, to_name, object.modified, owner)
        }
        Kind::File => {
            let (source, _) = beneath::open_file(from, from_name)?;
            let attributes = Attributes::exact(from, from_name, object)?;
            file(&File::from(source), to, to_name, &attributes, owner)
        }
        // A FIFO or a socket; a device only for who may make one.
        Kind::Other => {
            failpoint::reached()?;
            let mode = Mode::from_raw_mode(object.mode);
            rustix::fs::mknodat(to, to_name, object.raw.file_type, mode, object.raw.represents)?;
            Object::at(to, to_name)?.ok_or(Errno::STALE)
        }
    }
}

fn copy_content(source: &File, new: &File) -> Result<(), Errno> {
    let size = Object::of(source)?.size;
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(source, SeekFrom::Data(at)) {
            Ok(data) => data,
            // A hole until the end.
            Err(Errno::NXIO) => break,
            // A file system that does not tell holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => at,
            Err(errno) => return Err(errno),
        };
        let end = rustix::fs::seek(source, SeekFrom::Hole(data)).unwrap_or(size);
        let (mut from, mut to) = (source, new);
        let copied = from
            .seek(std::io::SeekFrom::Start(data))
            .and_then(|_| to.seek(std::io::SeekFrom::Start(data)))
            .and_then(|_| std::io::copy(&mut from.take(end.saturating_sub(data)), &mut to))
            .map_err(|error| errno_of(&error))?;
        if copied == 0 {
            break;
        }
        at = data.saturating_add(copied);
    }
    rustix::fs::ftruncate(new, size)
}

fn create(directory: BorrowedFd<'_>, name: &[u8]) -> Result<File, Errno> {
    failpoint::reached()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn finish(file: File, attributes: &Attributes, owner: Owner) -> Result<Object, Errno> {
    chown(file.as_fd(), owner)?;
    attributes.give(file.as_fd(), &UserAttributes::new())?;
    Object::of(&file)
}

fn chown(object: BorrowedFd<'_>, owner: Owner) -> Result<(), Errno> {
    let Some((user, group)) = owner else { return Ok(()) };
    rustix::fs::fchown(object, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))
}

fn set_modified(object: BorrowedFd<'_>, modified: Moment) -> Result<(), Errno> {
    rustix::fs::futimens(object, &times(modified))
}

fn times(modified: Moment) -> Timestamps {
    let moment = Timespec { tv_sec: modified.0, tv_nsec: modified.1.into() };
    let omitted = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: omitted, last_modification: moment }
}

pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
