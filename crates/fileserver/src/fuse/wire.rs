//! The kernel's requests as bytes: numbers in the machine's order, names that end in NUL. As `include/uapi/linux/fuse.h`
//! has them, version 7.31 and later. Knows of no engine.

use rustix::io::Errno;
use vfs::Name;

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) operation: u32,
    pub(super) unique: u64,
    pub(super) node: u64,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) pid: u32,
    pub(super) body: Body<'a>,
    /// A further group of the caller, if the kernel names one.
    pub(super) group: Option<u32>,
}

impl<'a> Request<'a> {
    /// Reads the head; what is shorter than it says, or than a head, is none.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut head = Body(bytes.get(..HEAD_BYTES)?);
        let length = usize::try_from(head.u32().ok()?).ok()?;
        let rest = bytes.get(HEAD_BYTES..length)?;
        let operation = head.u32().ok()?;
        let unique = head.u64().ok()?;
        let node = head.u64().ok()?;
        let (uid, gid, pid) = (head.u32().ok()?, head.u32().ok()?, head.u32().ok()?);
        let extension_bytes = usize::from(head.u16().ok()?) * 8;
        let (body, extension) = rest.split_at_checked(rest.len().checked_sub(extension_bytes)?)?;
        let group = further_group(extension);
        Some(Self { operation, unique, node, uid, gid, pid, body: Body(body), group })
    }
}

/// The group that the kernel names when something is made in a directory of a group that is the caller's, but not its
/// first.
fn further_group(extension: &[u8]) -> Option<u32> {
    let mut rest = Body(extension);
    let (_size, kind) = (rest.u32().ok()?, rest.u32().ok()?);
    let count = rest.u32().ok()?;
    if kind == EXTENSION_GROUPS && count > 0 { rest.u32().ok() } else { None }
}

/// What is left of a request. Whatever is not there is `EINVAL`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl<'a> Body<'a> {
    pub(super) fn u16(&mut self) -> Result<u16, Errno> {
        self.take().map(u16::from_ne_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Errno> {
        self.take().map(u64::from_ne_bytes)
    }

    /// Leaves something out.
    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), Errno> {
        self.0 = self.0.get(bytes..).ok_or(Errno::INVAL)?;
        Ok(())
    }

    /// Bytes up to a NUL.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Errno> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or(Errno::INVAL)?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(Errno::INVAL)?;
        self.0 = rest.get(1..).unwrap_or_default();
        Ok(text)
    }

    /// A name in a directory.
    pub(super) fn name(&mut self) -> Result<Name<'a>, Errno> {
        Name::new(self.text()?).map_err(|error| error.errno)
    }

    /// So many bytes.
    pub(super) fn bytes(&mut self, count: u32) -> Result<&'a [u8], Errno> {
        let count = usize::try_from(count).map_err(|_| Errno::INVAL)?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Errno> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// What a kernel asks for.
pub(super) mod operation {
    pub(in crate::fuse) const LOOKUP: u32 = 1;
    pub(in crate::fuse) const FORGET: u32 = 2;
    pub(in crate::fuse) const ATTRIBUTES: u32 = 3;
    pub(in crate::fuse) const CHANGE: u32 = 4;
    pub(in crate::fuse) const READ_LINK: u32 = 5;
    pub(in crate::fuse) const MAKE_LINK: u32 = 6;
    pub(in crate::fuse) const MAKE_NODE: u32 = 8;
    pub(in crate::fuse) const MAKE_DIRECTORY: u32 = 9;
    pub(in crate::fuse) const UNLINK: u32 = 10;
    pub(in crate::fuse) const REMOVE_DIRECTORY: u32 = 11;
    pub(in crate::fuse) const RENAME: u32 = 12;
    pub(in crate::fuse) const LINK: u32 = 13;
    pub(in crate::fuse) const OPEN: u32 = 14;
    pub(in crate::fuse) const READ: u32 = 15;
    pub(in crate::fuse) const WRITE: u32 = 16;
    pub(in crate::fuse) const SPACE: u32 = 17;
    pub(in crate::fuse) const RELEASE: u32 = 18;
    pub(in crate::fuse) const SYNC: u32 = 20;
    pub(in crate::fuse) const SET_XATTR: u32 = 21;
    pub(in crate::fuse) const XATTR: u32 = 22;
    pub(in crate::fuse) const XATTRS: u32 = 23;
    pub(in crate::fuse) const REMOVE_XATTR: u32 = 24;
    pub(in crate::fuse) const FLUSH: u32 = 25;
    pub(in crate::fuse) const BEGIN: u32 = 26;
    pub(in crate::fuse) const OPEN_DIRECTORY: u32 = 27;
    pub(in crate::fuse) const LIST: u32 = 28;
    pub(in crate::fuse) const RELEASE_DIRECTORY: u32 = 29;
    pub(in crate::fuse) const SYNC_DIRECTORY: u32 = 30;
    pub(in crate::fuse) const TEST_LOCK: u32 = 31;
    pub(in crate::fuse) const LOCK: u32 = 32;
    pub(in crate::fuse) const LOCK_AND_WAIT: u32 = 33;
    pub(in crate::fuse) const CREATE: u32 = 35;
    pub(in crate::fuse) const INTERRUPT: u32 = 36;
    pub(in crate::fuse) const END: u32 = 38;
    pub(in crate::fuse) const FORGET_MANY: u32 = 42;
    pub(in crate::fuse) const ALLOCATE: u32 = 43;
    pub(in crate::fuse) const LIST_AND_LOOKUP: u32 = 44;
    pub(in crate::fuse) const RENAME_WITH_FLAGS: u32 = 45;
    pub(in crate::fuse) const SEEK: u32 = 46;
}

/// What kernel and server agree on when they begin.
pub(super) mod ability {
    pub(in crate::fuse) const ASYNC_READ: u64 = 1;
    pub(in crate::fuse) const POSIX_LOCKS: u64 = 1 << 1;
    pub(in crate::fuse) const BIG_WRITES: u64 = 1 << 5;
    pub(in crate::fuse) const FLOCK_LOCKS: u64 = 1 << 10;
    pub(in crate::fuse) const AUTO_INVALIDATE_DATA: u64 = 1 << 12;
    pub(in crate::fuse) const LIST_AND_LOOKUP: u64 = 1 << 13;
    pub(in crate::fuse) const LIST_AND_LOOKUP_AUTO: u64 = 1 << 14;
    pub(in crate::fuse) const ASYNC_DIRECT: u64 = 1 << 15;
    pub(in crate::fuse) const WRITE_BACK: u64 = 1 << 16;
    pub(in crate::fuse) const PARALLEL_DIRECTORIES: u64 = 1 << 18;
    pub(in crate::fuse) const MOST_PAGES: u64 = 1 << 22;
    pub(in crate::fuse) const CACHE_LINKS: u64 = 1 << 23;
    pub(in crate::fuse) const WE_DROP_PRIVILEGES: u64 = 1 << 28;
    pub(in crate::fuse) const MORE_ABILITIES: u64 = 1 << 30;
    pub(in crate::fuse) const NAMES_GROUP: u64 = 1 << 34;
}

/// Which fields of a change are meant.
pub(super) mod change {
    pub(in crate::fuse) const MODE: u32 = 1;
    pub(in crate::fuse) const UID: u32 = 1 << 1;
    pub(in crate::fuse) const GID: u32 = 1 << 2;
    pub(in crate::fuse) const SIZE: u32 = 1 << 3;
    pub(in crate::fuse) const ACCESSED: u32 = 1 << 4;
    pub(in crate::fuse) const MODIFIED: u32 = 1 << 5;
    pub(in crate::fuse) const ACCESSED_NOW: u32 = 1 << 7;
    pub(in crate::fuse) const MODIFIED_NOW: u32 = 1 << 8;
    pub(in crate::fuse) const DROP_PRIVILEGES: u32 = 1 << 11;
}

/// What the kernel does with an open file.
pub(super) mod opened {
    pub(in crate::fuse) const DIRECT: u32 = 1;
    pub(in crate::fuse) const KEEP_CACHE: u32 = 1 << 1;
    pub(in crate::fuse) const CACHE_DIRECTORY: u32 = 1 << 3;
    pub(in crate::fuse) const STREAM: u32 = 1 << 4;
    pub(in crate::fuse) const NO_FLUSH: u32 = 1 << 5;
}

/// Of a write: it comes from the kernel's cache.
pub(super) const WRITE_FROM_CACHE: u32 = 1;
/// Of a write: setuid and setgid bits go.
pub(super) const WRITE_DROPS_PRIVILEGES: u32 = 1 << 2;
/// Of a release: the `flock` lock of the open file goes.
pub(super) const RELEASE_UNLOCKS: u32 = 1 << 1;
/// Of a lock: it is a `flock` lock.
pub(super) const LOCK_WHOLE: u32 = 1;

/// The version of the protocol that this speaks.
pub(super) const MAJOR: u32 = 7;
/// The kernel of Linux 5.1 and later has it.
pub(super) const MINOR: u32 = 38;
pub(super) const OLDEST_MINOR: u32 = 31;

/// The number of the root.
pub(super) const ROOT: u64 = 1;

pub(super) const HEAD_BYTES: usize = 40;
const EXTENSION_GROUPS: u32 = 32;
