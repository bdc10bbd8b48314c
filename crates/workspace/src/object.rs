//! What the kernel says about one object of a layer or of the host, links never followed. Changes nothing.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// What kind of object a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, socket or FIFO, which only the host can have.
    Other,
}

/// Seconds and nanoseconds since 1970, as file systems keep them.
pub type Moment = (i64, u32);

/// Which object it is, and in which state. The kernel keeps the date of change; no program can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The file system.
    pub device: u64,
    /// The object on it.
    pub inode: u64,
    /// When it was last changed in any way.
    pub changed: Moment,
}

/// One object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// In bytes; of a link the length of its target; 0 for a directory.
    pub size: u64,
    /// Permission bits, with set-id bits.
    pub mode: u32,
    /// Which object, in which state.
    pub stamp: Stamp,
    /// When its content was changed, as its owner has it.
    pub modified: Moment,
    pub(crate) born: Option<Moment>,
    pub(crate) owner: (u32, u32),
    pub(crate) raw: Raw,
    /// On the disk.
    pub(crate) bytes_used: u64,
}

/// What tells the kinds of [`Kind::Other`] apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) file_type: FileType,
    /// The device that a node stands for; 0 is how overlayfs marks what was deleted.
    pub(crate) represents: u64,
}

impl Stamp {
    /// Whether both are the same object, in whatever state.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Object {
    /// The permissions that a change is about: set-id and sticky bits never leave a workspace.
    pub fn permissions(&self) -> u32 {
        self.mode & PERMISSIONS
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// Looks at a name in an open directory; none if there is no such name.
    pub(crate) fn at(directory: impl AsFd, name: &[u8]) -> Result<Option<Self>, Errno> {
        match rustix::fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, WANTED) {
            Ok(status) => Ok(Some(Self::from(&status))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Looks at an open object.
    pub(crate) fn of(descriptor: impl AsFd) -> Result<Self, Errno> {
        let status = rustix::fs::statx(descriptor, c"", AtFlags::EMPTY_PATH, WANTED)?;
        Ok(Self::from(&status))
    }
}

impl From<&Statx> for Object {
    fn from(status: &Statx) -> Self {
        let file_type = FileType::from_raw_mode(status.stx_mode.into());
        let kind = match file_type {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let has_birth = status.stx_mask & StatxFlags::BTIME.bits() != 0;
        Self {
            kind,
            size: if kind == Kind::Directory { 0 } else { status.stx_size },
            mode: u32::from(status.stx_mode) & 0o7777,
            stamp: Stamp {
                device: rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor),
                inode: status.stx_ino,
                changed: (status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec),
            },
            modified: (status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec),
            born: has_birth.then_some((status.stx_btime.tv_sec, status.stx_btime.tv_nsec)),
            owner: (status.stx_uid, status.stx_gid),
            raw: Raw {
                file_type,
                represents: rustix::fs::makedev(status.stx_rdev_major, status.stx_rdev_minor),
            },
            bytes_used: status.stx_blocks.saturating_mul(512),
        }
    }
}

/// The bits of a mode that are carried over.
const PERMISSIONS: u32 = 0o777;

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);
