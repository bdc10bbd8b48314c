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
    Directory {
        /// Where it is.
        path: &'a HostPath,
        /// Refers to it; what is at the path must still be the same.
        object: BorrowedFd<'a>,
    },
}

/// Where copies are.
pub const COPIES: &str = "/etc";

/// Where a directory is.
pub const DIRECTORY: &str = "/store";

impl HelperFiles<'_> {
    /// For a process that is still root: its directory with the owner of the host's mapped to the ids that it is about to
    /// have. Those own nothing.
    pub(super) fn detach_as(&self, ids: HostIds) -> Result<Option<OwnedFd>, SetupFailure> {
        let Self::Directory { path, object } = self else { return Ok(None) };
        let failed = |errno| SetupFailure::kernel(Step::Idmap, path.to_string(), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = rustix::mount::open_tree(object, c"", flags).map_err(failed)?;
        let owner = rustix::fs::fstat(object).map_err(failed)?;
        let (map, _ended) = idmap::owner_map((owner.st_uid, owner.st_gid), ids)?;
        restrict(&mount, Some(map.as_fd())).map_err(failed)?;
        Ok(Some(mount))
    }

    /// For one that is in its own namespaces, where a mount can only be copied by its path.
    pub(super) fn detach(&self) -> Result<Option<OwnedFd>, SetupFailure> {
        let Self::Directory { path, object } = self else { return Ok(None) };
        let failed = |errno| SetupFailure::kernel(Step::Mount, path.to_string(), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let mount = rustix::mount::open_tree(CWD, path.as_bytes(), flags).map_err(failed)?;
        let found = rustix::fs::fstat(&mount).map_err(failed)?;
        let meant = rustix::fs::fstat(object).map_err(failed)?;
        if (found.st_dev, found.st_ino) != (meant.st_dev, meant.st_ino) {
            return Err(SetupFailure::found(Step::Mount, path.to_string(), REPLACED));
        }
        restrict(&mount, None).map_err(failed)?;
        Ok(Some(mount))
    }

    /// Makes the root and enters it.
    pub(super) fn enter(&self, directory: Option<OwnedFd>) -> Result<(), SetupFailure> {
        self.make_and_enter(directory)
            .map_err(|errno| SetupFailure::kernel(Step::Pivot, "/", errno))
    }

    fn make_and_enter(&self, directory: Option<OwnedFd>) -> Result<(), Errno> {
        let attributes = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC;
        let root = tree::tmpfs(0o555, self.size(), attributes)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&root, c"", CWD, c"/", flags)?;
        if let Some(mount) = directory {
            let name = below_root(DIRECTORY);
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

    fn size(&self) -> TmpfsSize {
        match self {
            Self::None => TmpfsSize { bytes: 4096, inodes: 1 },
            Self::Directory { .. } => TmpfsSize { bytes: 4096, inodes: 2 },
            Self::Copies(_) => TmpfsSize { bytes: 4 << 20, inodes: 64 },
        }
    }
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

fn restrict(mount: &OwnedFd, idmap: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let set = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC;
    let change = MountAttributes { set, make_private: true, idmap };
    sys::mount::set_attributes(mount.as_fd(), change, Depth::Single)
}

fn below_root(path: &'static str) -> &'static str {
    path.trim_start_matches('/')
}
