//! A mount namespace with nothing in it but `/proc`, where a privileged launcher starts its cages: none of
//! them has a copy of the host's mounts, not even until it has its own root, and the kernel need not make one
//! for each and take it apart again. Never changes a mount of the host.

use std::os::fd::{AsFd, OwnedFd};

use plan::TmpfsSize;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags};
use rustix::thread::LinkNameSpaceType;
use sys::clone::Namespaces;
use sys::mount::{Depth, MountAttributes, NODEV, NOEXEC, NOSUID, RDONLY};

use crate::tree;

/// Such a namespace, and the one to go back to.
#[derive(Debug)]
pub(crate) struct BareMounts {
    bare: OwnedFd,
    /// The mount namespace that this process was started in.
    inherited: OwnedFd,
}

impl BareMounts {
    /// Makes one, in a process with a single thread. There is none for anybody but root, who alone can go
    /// back, and where it cannot be made: cages start well without it. After an error this process is
    /// not where it was.
    pub(crate) fn make() -> Result<Option<Self>, Errno> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let (Ok(inherited), Ok(root), Ok(proc)) = (own_namespace(), open_root(), copy_of_proc())
        else {
            return Ok(None);
        };
        // Going back is tried before it is needed.
        if move_into(&inherited).is_err() {
            return Ok(None);
        }
        if !is_root(&root)? {
            // It was in a root of its own, to which no visit would lead back.
            rustix::process::fchdir(&root)?;
            rustix::process::chroot(c".")?;
            return Ok(None);
        }
        if sys::clone::enter_new(Namespaces::MOUNT).is_err() {
            return Ok(None);
        }
        let bare = leave_everything_but(&proc);
        move_into(&inherited)?;
        Ok(bare.ok().map(|bare| Self { bare, inherited }))
    }

    /// Does something with this process in the namespace. A child that is made there stays there.
    pub(crate) fn visit<T>(&self, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        move_into(&self.bare)?;
        let done = act();
        move_into(&self.inherited)?;
        done
    }
}

/// A handle on the mount namespace that this process is in.
fn own_namespace() -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, c"/proc/self/ns/mnt", flags, Mode::empty())
}

fn move_into(namespace: &OwnedFd) -> Result<(), Errno> {
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
}

fn open_root() -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, c"/", flags, Mode::empty())
}

/// Whether this is the root of this process, in the same mount.
fn is_root(directory: &OwnedFd) -> Result<bool, Errno> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let look = |directory: &OwnedFd| -> Result<_, Errno> {
        let found = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted)?;
        let has_all = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
        Ok(has_all.then_some((
            found.stx_mnt_id,
            found.stx_dev_major,
            found.stx_dev_minor,
            found.stx_ino,
        )))
    };
    let here = look(&open_root()?)?;
    Ok(here.is_some() && here == look(directory)?)
}

/// With what is mounted in it: the kernel lets a cage have a `/proc` of its own only as far as the one is
/// uncovered that it finds.
fn copy_of_proc() -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let proc = rustix::mount::open_tree(CWD, c"/proc", flags)?;
    sys::mount::set_attributes(proc.as_fd(), PRIVATE, Depth::Recursive)?;
    Ok(proc)
}

/// Empties the mount namespace that this process has just entered; returns a handle on it.
fn leave_everything_but(proc: &OwnedFd) -> Result<OwnedFd, Errno> {
    let old = open_root()?;
    // What happens here from now on must not happen to the host.
    sys::mount::set_attributes(old.as_fd(), PRIVATE, Depth::Recursive)?;
    let size = TmpfsSize { bytes: 4096, inodes: 2 };
    let root = tree::tmpfs(0o555, size, NOSUID | NODEV | NOEXEC)?;
    rustix::fs::mkdirat(&root, c"proc", Mode::from_raw_mode(0o555))?;
    let from = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(root.as_fd(), c"", CWD, c"/", from)?;
    rustix::mount::move_mount(proc.as_fd(), c"", root.as_fd(), c"proc", from)?;
    let seal = MountAttributes { set: RDONLY, make_private: true, idmap: None };
    sys::mount::set_attributes(root.as_fd(), seal, Depth::Single)?;
    tree::leave_for(root.as_fd())?;
    own_namespace()
}

const PRIVATE: MountAttributes<'_> = MountAttributes { set: 0, make_private: true, idmap: None };
