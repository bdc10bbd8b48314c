//! The root of a helper process: empty, with copies of a few files, or with one directory of the host. Nothing can be
//! added to it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::{HostIds, HostPath, TmpfsSize};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags};
use sys::mount::{Depth, MountAttributes};

use crate::error::REPLACED;
use crate::{SetupFailure, Step, idmap, tree};

/// What a helper process has of files.
#[derive(Clone, Copy, Debug)]
pub enum HelperFiles<'a> {
    /// None.
    None,
    /// Copies, in [`COPIES`], to be read.
    Copies(&'a [(&'static str, Vec<u8>)]),
    /// A directory of the host, at [`DIRECTORY`], to be changed.
    Directory(HostDirectory<'a>),
    /// Two directories of the host, one at [`LOWER`] to be read, and one with a layer above it at [`DIRECTORY`], of which
    /// `upper` and `work` are changed. At [`DESCRIPTORS`] the process has its own descriptors, by which it opens what it
    /// holds.
    Layers {
        /// What is read.
        lower: HostDirectory<'a>,
        /// For root, whose files in it are read as their owner's.
        lower_owner: Option<(u32, u32)>,
        /// What is changed.
        area: HostDirectory<'a>,
    },
}

/// A directory of the host.
#[derive(Clone, Copy, Debug)]
pub struct HostDirectory<'a> {
    /// Where it is.
    pub path: &'a HostPath,
    /// Refers to it; what is at the path must still be the same.
    pub object: BorrowedFd<'a>,
}

/// Mounts for a root, each with where it goes.
pub(super) type Detached = Vec<(&'static str, OwnedFd)>;

/// Where copies are.
pub const COPIES: &str = "/etc";

/// Where a directory is.
pub const DIRECTORY: &str = "/store";

/// Where one is that is only read.
pub const LOWER: &str = "/lower";

/// Where a process has the descriptors of its own, as in `/proc/self/fd`.
pub const DESCRIPTORS: &str = "/descriptors";

impl HelperFiles<'_> {
    /// For a process that is still root: its directories with the owner of the host's mapped to the ids that it is about
    /// to have. Those own nothing.
    pub(super) fn detach_as(&self, ids: HostIds) -> Result<Detached, SetupFailure> {
        match self {
            Self::None | Self::Copies(_) => Ok(Vec::new()),
            Self::Directory(directory) => {
                let owner = directory.owner()?;
                Ok(vec![(DIRECTORY, directory.detach_as(WRITABLE, Some(owner), ids)?)])
            }
            Self::Layers { lower, lower_owner, area } => {
                let owner = area.owner()?;
                Ok(vec![
                    (LOWER, lower.detach_as(sys::mount::RDONLY, *lower_owner, ids)?),
                    (DIRECTORY, area.detach_as(WRITABLE, Some(owner), ids)?),
                ])
            }
        }
    }

    /// For one that is in its own namespaces, where a mount can only be copied by its path. A process that was root has
    /// its directories by now.
    pub(super) fn detach(&self, before: Detached) -> Result<Detached, SetupFailure> {
        let mut detached = before;
        if detached.is_empty() {
            match self {
                Self::None | Self::Copies(_) => {}
                Self::Directory(directory) => {
                    detached.push((DIRECTORY, directory.detach(WRITABLE)?))
                }
                Self::Layers { lower, area, .. } => {
                    detached.push((LOWER, lower.detach(sys::mount::RDONLY)?));
                    detached.push((DIRECTORY, area.detach(WRITABLE)?));
                }
            }
        }
        if let Self::Layers { .. } = self {
            detached.push((DESCRIPTORS, own_descriptors()?));
        }
        Ok(detached)
    }

    /// Makes the root and enters it.
    pub(super) fn enter(&self, detached: Detached) -> Result<(), SetupFailure> {
        self.make_and_enter(detached).map_err(|errno| SetupFailure::kernel(Step::Pivot, "/", errno))
    }

    fn make_and_enter(&self, detached: Detached) -> Result<(), Errno> {
        let attributes = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC;
        let root = tree::tmpfs(0o555, self.size(), attributes)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&root, c"", CWD, c"/", flags)?;
        for (place, mount) in detached {
            let name = below_root(place);
            rustix::fs::mkdirat(&root, name, Mode::from_raw_mode(0o555))?;
            rustix::mount::move_mount(&mount, c"", &root, name, flags)?;
        }
        if let Self::Copies(copies) = self {
            rustix::fs::mkdirat(&root, below_root(COPIES), Mode::from_raw_mode(0o555))?;
            for (name, contents) in *copies {
                copy(&root, &format!("{}/{name}", below_root(COPIES)), contents)?;
            }
        }
        let change = MountAttributes { set: sys::mount::RDONLY, make_private: true, idmap: None };
        sys::mount::set_attributes(root.as_fd(), change, Depth::Single)?;
        tree::leave_for(root.as_fd())
    }

    /// Where the process finds directories of the host.
    pub(super) fn places(&self) -> &'static [&'static str] {
        match self {
            Self::None | Self::Copies(_) => &[],
            Self::Directory(_) => &[DIRECTORY],
            Self::Layers { .. } => &[DIRECTORY, LOWER, DESCRIPTORS],
        }
    }

    fn size(&self) -> TmpfsSize {
        match self {
            Self::None => TmpfsSize { bytes: 4096, inodes: 1 },
            Self::Directory(_) => TmpfsSize { bytes: 4096, inodes: 2 },
            Self::Layers { .. } => TmpfsSize { bytes: 4096, inodes: 4 },
            Self::Copies(_) => TmpfsSize { bytes: 4 << 20, inodes: 64 },
        }
    }
}

impl HostDirectory<'_> {
    fn owner(&self) -> Result<(u32, u32), SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Idmap, self.path.to_string(), errno);
        let status = rustix::fs::fstat(self.object).map_err(failed)?;
        Ok((status.st_uid, status.st_gid))
    }

    fn detach_as(
        &self,
        also: u64,
        owner: Option<(u32, u32)>,
        ids: HostIds,
    ) -> Result<OwnedFd, SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Idmap, self.path.to_string(), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = rustix::mount::open_tree(self.object, c"", flags).map_err(failed)?;
        let map = owner.map(|owner| idmap::owner_map(owner, ids)).transpose()?;
        let map = map.as_ref().map(|(map, _ended)| map.as_fd());
        restrict(&mount, also, map).map_err(failed)?;
        Ok(mount)
    }

    fn detach(&self, also: u64) -> Result<OwnedFd, SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Mount, self.path.to_string(), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let mount = rustix::mount::open_tree(CWD, self.path.as_bytes(), flags).map_err(failed)?;
        let found = rustix::fs::fstat(&mount).map_err(failed)?;
        let meant = rustix::fs::fstat(self.object).map_err(failed)?;
        if (found.st_dev, found.st_ino) != (meant.st_dev, meant.st_ino) {
            return Err(SetupFailure::found(Step::Mount, self.path.to_string(), REPLACED));
        }
        restrict(&mount, also, None).map_err(failed)?;
        Ok(mount)
    }
}

/// The descriptors of this very process, of all that `/proc` has. The kernel lets nobody else follow one of them.
fn own_descriptors() -> Result<OwnedFd, SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Mount, "/proc/self/fd", errno);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let mount = rustix::mount::open_tree(CWD, c"/proc/self/fd", flags).map_err(failed)?;
    restrict(&mount, sys::mount::RDONLY, None).map_err(failed)?;
    Ok(mount)
}

fn copy(root: &OwnedFd, name: &str, contents: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, name, flags, Mode::from_raw_mode(0o444))?;
    let mut rest = contents;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).ok_or(Errno::IO)?;
    }
    Ok(())
}

fn restrict(mount: &OwnedFd, also: u64, idmap: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let set = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC | also;
    let change = MountAttributes { set, make_private: true, idmap };
    sys::mount::set_attributes(mount.as_fd(), change, Depth::Single)
}

/// No attribute beside those that all of them have.
const WRITABLE: u64 = 0;

fn below_root(path: &'static str) -> &'static str {
    path.trim_start_matches('/')
}
