//! The cage's file tree: an empty memory file system, filled by the Plan's operations in order,
//! then made the root. Mounts are made from descriptors; nothing is ever created on the host.

mod memory;
mod places;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::{Bind, FileKind, GuestPath, MountOp, Plan, TmpfsSize};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags};
use sys::mount::{Depth, MountAttributes};
use walls::Wall;

use crate::attributes::{CLOSED, ROOT_ATTRIBUTES, attributes, set_bind_attributes};
use crate::error::REPLACED;
use crate::idmap::Arrivals;
use crate::{SetupFailure, Step};
pub(crate) use memory::tmpfs;
use places::{HostPlaces, Place};

/// Where a bind's mount comes from.
pub(crate) enum Sources<'a> {
    /// A privileged launcher makes them while the rest of the tree is built, and sends them in the
    /// order of the Plan's binds.
    Arriving(Arrivals<'a>),
    /// They are made in this mount namespace: a mount can only be copied by a process whose own
    /// namespace it is in, so each path is looked up once more and must lead to the very object
    /// that was resolved.
    LookUp(&'a Plan),
}

/// The finished tree, not yet the root.
pub(crate) struct Tree {
    root: OwnedFd,
    /// Memory file systems that become read-only at the end.
    to_seal: Vec<OwnedFd>,
    /// An empty directory that masks are copies of, once there is one.
    empty_directory: Option<GuestPath>,
    has_empty_file: bool,
    /// Whose directory the operation at hand works in.
    around: Place,
    /// Descriptors of mounts that are in their place.
    spent: Vec<OwnedFd>,
}

/// Builds the whole tree and leaves it attached above the old root.
///
/// What does not lie in a bind comes first, in the Plan's order, and the rest after it: the result
/// is the same, and the launcher gains the time to make the binds.
pub(crate) fn build(plan: &Plan, mut sources: Sources<'_>) -> Result<Tree, SetupFailure> {
    let mut tree = Tree::begin()?;
    let host = HostPlaces::of(plan);
    let mut rest = Vec::with_capacity(plan.walls.sources.len());
    for (operation, around) in host.around_each(&plan.walls.mounts) {
        if around == Place::Own && !host.is_at(operation) {
            tree.apply(operation, around, &mut sources)?;
        } else {
            rest.push((operation, around));
        }
    }
    for (operation, around) in rest {
        tree.apply(operation, around, &mut sources)?;
    }
    tree.seal()?;
    Ok(tree)
}

impl Tree {
    fn begin() -> Result<Self, SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Mount, "/", errno);
        let writable = ROOT_ATTRIBUTES & !sys::mount::RDONLY;
        let root = tmpfs(0o755, ROOT_SIZE, writable).map_err(failed)?;
        rustix::mount::move_mount(
            root.as_fd(),
            c"",
            CWD,
            c"/",
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .map_err(failed)?;
        Ok(Self {
            root,
            to_seal: Vec::new(),
            empty_directory: None,
            has_empty_file: false,
            around: Place::Own,
            spent: Vec::new(),
        })
    }

    fn apply(
        &mut self,
        operation: &MountOp,
        around: Place,
        sources: &mut Sources<'_>,
    ) -> Result<(), SetupFailure> {
        let at = operation.at();
        let name_failed = |errno| SetupFailure::kernel(Step::Name, at.to_string(), errno);
        let mount_failed = |errno| SetupFailure::kernel(Step::Mount, at.to_string(), errno);
        let name = at.relative_to_root();
        self.around = around;
        match operation {
            MountOp::Directory { mode, .. } => {
                rustix::fs::mkdirat(&self.root, name, Mode::from_raw_mode(*mode))
                    .map_err(name_failed)
            }
            MountOp::File { mode, contents, .. } => {
                self.make_file(name, *mode, contents.as_bytes()).map_err(name_failed)
            }
            MountOp::Symlink { target, .. } => {
                rustix::fs::symlinkat(target.as_bytes(), &self.root, name).map_err(name_failed)
            }
            MountOp::Bind(bind) => {
                let mount = bind_source(bind, operation, sources)?;
                self.attach(mount, at).map_err(mount_failed)
            }
            MountOp::Tmpfs { mode, size, .. } => {
                self.mount_tmpfs(operation, *mode, *size).map_err(mount_failed)
            }
            MountOp::Devpts { .. } => memory::devpts(attributes(operation))
                .and_then(|mount| self.attach(mount, at))
                .map_err(mount_failed),
            MountOp::Mask { kind, .. } => self.mask(at, *kind).map_err(mount_failed),
            MountOp::Proc { .. } => self.mount_proc(at, attributes(operation)),
            MountOp::SealReadOnly { .. } if walls::stands(Wall::KernelSettings) => {
                self.seal_path(at).map_err(mount_failed)
            }
            MountOp::MaskIfPresent { .. } if walls::stands(Wall::KernelFiles) => {
                self.mask_if_present(at).map_err(mount_failed)
            }
            MountOp::SealReadOnly { .. } | MountOp::MaskIfPresent { .. } => Ok(()),
        }
    }

    fn make_file(&self, name: &[u8], mode: u32, contents: &[u8]) -> Result<(), Errno> {
        if contents.is_empty() {
            let mode = Mode::from_raw_mode(mode);
            return rustix::fs::mknodat(&self.root, name, FileType::RegularFile, mode, 0);
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, name, flags, Mode::from_raw_mode(mode))?;
        let mut rest = contents;
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest)?;
            rest = rest.get(written..).ok_or(Errno::IO)?;
        }
        Ok(())
    }

    /// Mounts a memory file system, writable as long as the tree is being built.
    fn mount_tmpfs(
        &mut self,
        operation: &MountOp,
        mode: u32,
        size: TmpfsSize,
    ) -> Result<(), Errno> {
        let attributes = attributes(operation);
        let mount = tmpfs(mode, size, attributes & !sys::mount::RDONLY)?;
        if attributes & sys::mount::RDONLY != 0 {
            self.to_seal.push(rustix::io::fcntl_dupfd_cloexec(&mount, 0)?);
        }
        self.attach(mount, operation.at())
    }

    fn mount_proc(&mut self, at: &GuestPath, attributes: u64) -> Result<(), SetupFailure> {
        let mount_failed = |errno| SetupFailure::kernel(Step::Mount, at.to_string(), errno);
        let mount = memory::proc(attributes).map_err(mount_failed)?;
        turn_off_nested_user_namespaces(mount.as_fd())?;
        self.attach(mount, at).map_err(mount_failed)
    }

    fn mask_if_present(&mut self, at: &GuestPath) -> Result<(), Errno> {
        match rustix::fs::statat(&self.root, at.relative_to_root(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                self.mask(at, FileKind::Directory)
            }
            Ok(_) => self.mask(at, FileKind::File),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Covers a path with an empty read-only thing. All directory masks are copies of the first,
    /// and all file masks of one file that loses its name when the tree is finished.
    fn mask(&mut self, at: &GuestPath, kind: FileKind) -> Result<(), Errno> {
        let mount = match (kind, &self.empty_directory) {
            (FileKind::Directory, None) => {
                self.empty_directory = Some(at.clone());
                tmpfs(0o555, TmpfsSize { bytes: 4096, inodes: 1 }, CLOSED)?
            }
            (FileKind::Directory, Some(first)) => self.copy(first.relative_to_root())?,
            (FileKind::File, _) => {
                if !self.has_empty_file {
                    self.make_file(EMPTY_FILE, 0o444, b"")?;
                    self.has_empty_file = true;
                }
                self.copy(EMPTY_FILE)?
            }
        };
        let change = MountAttributes { set: CLOSED, make_private: true, idmap: None };
        sys::mount::set_attributes(mount.as_fd(), change, Depth::Single)?;
        self.attach(mount, at)
    }

    /// Mounts a path on itself, read-only.
    fn seal_path(&mut self, at: &GuestPath) -> Result<(), Errno> {
        let mount = match self.copy(at.relative_to_root()) {
            Ok(mount) => mount,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        let change = MountAttributes { set: CLOSED, make_private: true, idmap: None };
        sys::mount::set_attributes(mount.as_fd(), change, Depth::Recursive)?;
        self.attach(mount, at)
    }

    /// A detached copy of the mount at a place of this tree.
    fn copy(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        rustix::mount::open_tree(&self.root, name, flags)
    }

    /// Puts a mount in its place. A place in a tree that the host can change at any time is found
    /// first, following no symbolic link on the way; the others are only what this process made.
    ///
    /// The mount's descriptor stays open, to be closed when nobody waits for the tree.
    fn attach(&mut self, mount: OwnedFd, at: &GuestPath) -> Result<(), Errno> {
        let name = at.relative_to_root();
        let from = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        match self.around {
            Place::Own => {
                rustix::mount::move_mount(mount.as_fd(), c"", &self.root, name, from)?;
            }
            Place::Hosts => {
                let resolve =
                    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                let target = rustix::fs::openat2(&self.root, name, flags, Mode::empty(), resolve)?;
                let to = MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
                rustix::mount::move_mount(mount.as_fd(), c"", target.as_fd(), c"", from | to)?;
            }
        }
        self.spent.push(mount);
        Ok(())
    }

    /// Takes away what only the building needed, and makes the root and every memory file system
    /// that is not for writing read-only.
    fn seal(&mut self) -> Result<(), SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Mount, "/", errno);
        if self.has_empty_file {
            rustix::fs::unlinkat(&self.root, EMPTY_FILE, AtFlags::empty()).map_err(failed)?;
        }
        let change = MountAttributes { set: sys::mount::RDONLY, make_private: false, idmap: None };
        for mount in self.to_seal.drain(..) {
            sys::mount::set_attributes(mount.as_fd(), change, Depth::Single).map_err(failed)?;
        }
        if !walls::stands(Wall::SealedRoot) {
            return Ok(());
        }
        sys::mount::set_attributes(self.root.as_fd(), change, Depth::Single).map_err(failed)
    }

    /// Makes the tree this process's root and lets go of the old one. Returns descriptors that nobody
    /// needs any more, and that take a while to close.
    pub(crate) fn become_root(self) -> Result<Vec<OwnedFd>, SetupFailure> {
        leave_for(self.root.as_fd())
            .map_err(|errno| SetupFailure::kernel(Step::Pivot, "/", errno))?;
        Ok(self.spent)
    }
}

/// Makes an attached mount the root and lets go of the old one.
pub(crate) fn leave_for(root: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    // The old root is now mounted on the new one, and `.` leads to it (pivot_root(2)).
    rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

fn bind_source(
    bind: &Bind,
    operation: &MountOp,
    sources: &mut Sources<'_>,
) -> Result<OwnedFd, SetupFailure> {
    let at = operation.at();
    let missing = || SetupFailure::found(Step::Mount, at.to_string(), "its source is missing");
    match sources {
        Sources::Arriving(arrivals) => arrivals.next(at),
        Sources::LookUp(plan) => {
            let source = plan.source(bind.source).ok_or_else(missing)?;
            let failed = |errno| SetupFailure::kernel(Step::Mount, source.path.to_string(), errno);
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_RECURSIVE
                | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
            let mount =
                rustix::mount::open_tree(CWD, source.path.as_bytes(), flags).map_err(failed)?;
            let stat = rustix::fs::fstat(&mount).map_err(failed)?;
            let is_same = (stat.st_dev, stat.st_ino) == (source.device, source.inode);
            if !is_same && walls::stands(Wall::SameObject) {
                let path = source.path.to_string();
                return Err(SetupFailure::found(Step::Mount, path, REPLACED));
            }
            set_bind_attributes(mount.as_fd(), operation, None).map_err(failed)?;
            Ok(mount)
        }
    }
}

/// Leaves the user namespace without the right to make another one. Done through the new process
/// file system before any path of it is sealed.
fn turn_off_nested_user_namespaces(proc: BorrowedFd<'_>) -> Result<(), SetupFailure> {
    if !walls::stands(Wall::NestedNamespaces) {
        return Ok(());
    }
    let setting = "sys/user/max_user_namespaces";
    let write = || -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(proc, setting, flags, Mode::empty())?;
        rustix::io::write(&file, b"0")?;
        Ok(())
    };
    write().map_err(|errno| SetupFailure::kernel(Step::Settings, setting, errno))
}

/// The root holds names and mount points, never data of the program.
const ROOT_SIZE: TmpfsSize = TmpfsSize { bytes: 64 << 20, inodes: 1 << 18 };

const EMPTY_FILE: &[u8] = b".stockade-empty-file";
