//! A mount namespace with nothing in it but `/proc` and a place for what only the building needs, where a
//! privileged launcher bears its cages: none of them has a copy of the host's mounts, not even until it has its
//! own root, and the kernel need not make one for each and take it apart again. Never changes a mount of the
//! host.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use plan::{FileKind, TmpfsSize};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags};
use rustix::thread::LinkNameSpaceType;
use sys::clone::Namespaces;
use sys::mount::{Depth, MountAttributes, NODEV, NOEXEC, NOSUID, RDONLY};

use crate::{furniture, tree};

/// Such a namespace, and the way back from it.
#[derive(Debug)]
pub(crate) struct BareMounts {
    bare: OwnedFd,
    /// Where this process came from.
    home: OwnedFd,
    /// The table of the mounts there, which tells when they change.
    table: OwnedFd,
}

impl BareMounts {
    /// Makes one, in a process with a single thread. There is none for anybody but root, who alone can go
    /// back, and where it cannot be made: cages are born well without. After an error this process is
    /// not where it was.
    pub(crate) fn make() -> Result<Option<Self>, Errno> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let (Ok(home), Ok(root), Ok(proc)) = (own_namespace(), open_root(), copy_of_proc()) else {
            return Ok(None);
        };
        let Ok(table) = open(c"/proc/self/mountinfo") else { return Ok(None) };
        // The way back is tried before there is a need for it.
        if move_into(&home).is_err() {
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
        move_into(&home)?;
        Ok(bare.ok().map(|bare| Self { bare, home, table }))
    }

    /// Whether anything was mounted, unmounted or mounted otherwise at home since this was asked last.
    pub(crate) fn home_has_changed(&self) -> bool {
        let mut table = [PollFd::new(&self.table, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut table, Some(&now)) != Ok(0)
    }

    /// Does something with this process in the namespace. A child that is made there stays there.
    pub(crate) fn visit<T>(&self, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.visit_other(&self.bare, act)
    }

    /// The same in another mount namespace.
    pub(crate) fn visit_other<T>(
        &self,
        namespace: &OwnedFd,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        move_into(namespace)?;
        let done = act();
        move_into(&self.home)?;
        done
    }
}

/// Makes the empty things that a cage's paths are covered with, in a process whose root is still that of a
/// copy of such a namespace. They are that cage's own: locks and watches on them tell others nothing.
pub(crate) fn make_empties() -> Result<(), Errno> {
    let size = TmpfsSize { bytes: 4096, inodes: 3 };
    let root = furniture::tmpfs(0o555, size, NOSUID | NODEV | NOEXEC).make()?;
    rustix::fs::mkdirat(&root, c"directory", Mode::from_raw_mode(0o555))?;
    let unwritable = Mode::from_raw_mode(0o444);
    rustix::fs::mknodat(&root, c"file", FileType::RegularFile, unwritable, 0)?;
    let from = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(root.as_fd(), c"", CWD, c"/empties", from)
}

/// A detached copy of one of them.
pub(crate) fn copy_of_empty(kind: FileKind) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let empty = match kind {
        FileKind::Directory => c"/empties/directory",
        FileKind::File => c"/empties/file",
    };
    rustix::mount::open_tree(CWD, empty, flags)
}

/// A handle on the mount namespace that this process is in.
pub(crate) fn own_namespace() -> Result<OwnedFd, Errno> {
    open(c"/proc/self/ns/mnt")
}

fn open(path: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
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
    let size = TmpfsSize { bytes: 4096, inodes: 3 };
    let root = furniture::tmpfs(0o555, size, NOSUID | NODEV | NOEXEC).make()?;
    for place in [c"proc", c"empties"] {
        rustix::fs::mkdirat(&root, place, Mode::from_raw_mode(0o555))?;
    }
    let from = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(root.as_fd(), c"", CWD, c"/", from)?;
    rustix::mount::move_mount(proc.as_fd(), c"", root.as_fd(), c"proc", from)?;
    let seal = MountAttributes { set: RDONLY, make_private: true, idmap: None };
    sys::mount::set_attributes(root.as_fd(), seal, Depth::Single)?;
    tree::leave_for(root.as_fd())?;
    own_namespace()
}

const PRIVATE: MountAttributes<'_> = MountAttributes { set: 0, make_private: true, idmap: None };
