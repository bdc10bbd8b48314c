//! Memory file systems that nearly every cage has, made before anybody knows what the cage will be: making
//! one takes the kernel as long as a dozen names in it. Which a Plan wants is the Plan's to say; one that is
//! not here, or could not be made ahead, is made when it is wanted, and one that is not wanted is let go of.

use std::os::fd::OwnedFd;

use plan::{MountOp, TmpfsSize};
use rustix::io::Errno;
use sys::memory::MemoryFs;
use sys::mount::{NODEV, NOEXEC, NOSUID, RDONLY};

use crate::tree::{EMPTY_DIRECTORY, ROOT, attributes};

/// What an operation mounts, writable as long as the tree is being built; none if that is nothing
/// that is made of memory alone.
pub(crate) fn piece(operation: &MountOp) -> Option<MemoryFs> {
    let attributes = attributes(operation) & !RDONLY;
    match operation {
        MountOp::Tmpfs { mode, size, .. } => Some(tmpfs(*mode, *size, attributes)),
        MountOp::Devpts { .. } => Some(MemoryFs::Devpts { attributes }),
        _ => None,
    }
}

/// A memory file system for files.
pub(crate) const fn tmpfs(mode: u32, size: TmpfsSize, attributes: u64) -> MemoryFs {
    MemoryFs::Tmpfs { mode, bytes: size.bytes, inodes: size.inodes, attributes }
}

/// Pieces that were made ahead, for the cage to take.
#[derive(Debug, Default)]
pub(crate) struct Furniture(Vec<(MemoryFs, OwnedFd)>);

impl Furniture {
    /// Those of [`USUAL`] that there was time for.
    pub(crate) fn of(made: sys::nursery::Furniture) -> Self {
        let pieces = USUAL.iter().zip(made);
        Self(pieces.filter_map(|(piece, made)| Some((*piece, made?))).collect())
    }

    /// Such a piece: one that is there, or a new one.
    pub(crate) fn take(&mut self, wanted: MemoryFs) -> Result<OwnedFd, Errno> {
        match self.0.iter().position(|(piece, _)| *piece == wanted) {
            Some(position) => Ok(self.0.swap_remove(position).1),
            None => wanted.make(),
        }
    }
}

/// What a cage without wishes of its own has, in the order in which it is built.
pub(crate) const USUAL: &[MemoryFs] = &[
    ROOT,
    tmpfs(0o755, TmpfsSize::DEVICES, NOSUID | NODEV | NOEXEC),
    MemoryFs::Devpts { attributes: NOSUID | NOEXEC },
    tmpfs(0o1777, TmpfsSize::SHARED_MEMORY, NOSUID | NODEV | NOEXEC),
    EMPTY_DIRECTORY,
    tmpfs(0o700, TmpfsSize::PRIVATE, NOSUID | NODEV),
    tmpfs(0o700, TmpfsSize::PRIVATE, NOSUID | NODEV),
    tmpfs(0o1777, TmpfsSize::PRIVATE, NOSUID | NODEV),
];
