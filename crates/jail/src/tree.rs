//! The cage's file tree: an empty memory file system, filled by the Plan's operations in order,
//! then made the root. Mounts are made from descriptors; nothing is ever created on the host.

mod memory;
mod overlay;
mod places;
mod served;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::{FileKind, GuestPath, MountOp, Overlay, Plan, SourceIndex, TmpfsSize};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags};
use sys::mount::{Depth, MountAttributes};
use walls::Wall;

use crate::attributes::{
    CLOSED, LAYER, LOWER_LAYER, ROOT_ATTRIBUTES, attributes, set_bind_attributes,
};
use crate::error::REPLACED;
use crate::idmap::Arrivals;
use crate::journal::Journal;
use crate::{SetupFailure, Step};
pub(crate) use memory::{SERVED_BY, tmpfs};
use overlay::Layers;
use places::{HostPlaces, Place};
pub(crate) use served::{Devices, Unserved};

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
    journal: Option<Journal>,
    devices: Devices,
    unserved: Vec<Unserved>,
}

/// What is left when the tree is the root.
pub(crate) struct Rooted {
    /// Descriptors that nobody needs any more, and that take a while to close.
    pub(crate) spent: Vec<OwnedFd>,
    /// Where the program's refusals are written.
    pub(crate) journal: Option<Journal>,
    /// What somebody outside has to serve, in the Plan's order.
    pub(crate) unserved: Vec<Unserved>,
}

/// Builds the whole tree and leaves it attached above the old root.
///
/// What does not lie in a bind comes first, in the Plan's order, and the rest after it: the result
/// is the same, and the launcher gains the time to make the binds.
pub(crate) fn build(
    plan: &Plan,
    mut sources: Sources<'_>,
    devices: Devices,
) -> Result<Tree, SetupFailure> {
    let mut tree = Tree::begin(devices)?;
    let host = HostPlaces::of(plan);
    let mut rest = Vec::with_capacity(plan.walls.sources.len());
    for (operation, around) in host.around_each(&plan.walls.mounts) {
        if around == Place::Own && !host.is_at(operation) {
            tree.apply(plan, operation, around, &mut sources)?;
        } else {
            rest.push((operation, around));
        }
    }
    for (operation, around) in rest {
        tree.apply(plan, operation, around, &mut sources)?;
    }
    tree.seal()?;
    Ok(tree)
}

impl Tree {
    fn begin(devices: Devices) -> Result<Self, SetupFailure> {
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
            journal: None,
            devices,
            unserved: Vec::new(),
        })
    }

    fn apply(
        &mut self,
        plan: &Plan,
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
            MountOp::Hosts { mode, contents, .. } => {
                let contents = plan.hosts(contents);
                self.make_file(name, *mode, contents.as_bytes()).map_err(name_failed)
            }
            MountOp::Symlink { target, .. } => {
                rustix::fs::symlinkat(target.as_bytes(), &self.root, name).map_err(name_failed)
            }
            MountOp::Bind(bind) => {
                let mount = sources.bind(bind.source, operation)?;
                self.attach(mount, at).map_err(|errno| self.not_attached(operation, errno))
            }
            MountOp::Overlay(overlay) => {
                let mount = overlay::make(self, overlay, attributes(operation), sources)?;
                self.attach(mount, at).map_err(|errno| self.not_attached(operation, errno))
            }
            MountOp::Served(served) => {
                let failed = |errno| SetupFailure::kernel(Step::Serve, at.to_string(), errno);
                let device = self.devices.next().map_err(failed)?;
                let user = (plan.walls.identity.uid, plan.walls.identity.gid);
                let mount = memory::fuse(&device, user, attributes(operation)).map_err(failed)?;
                let inside = served.inside().cloned();
                self.unserved.push(Unserved { at: at.clone(), device, inside });
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

    /// Where a program may have written in an earlier run, a link or something else can stand on the way: what was
    /// to be covered is then not there.
    fn mask_if_present(&mut self, at: &GuestPath) -> Result<(), Errno> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let name = at.relative_to_root();
        match rustix::fs::openat2(&self.root, name, flags, Mode::empty(), resolve) {
            Ok(found) => {
                let found = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
                let is_directory = found == FileType::Directory;
                self.mask(at, if is_directory { FileKind::Directory } else { FileKind::File })
            }
            Err(Errno::NOENT) => Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP)
                if matches!(self.around, Place::View | Place::Home) =>
            {
                Ok(())
            }
            Err(errno) => Err(errno),
        }
    }

    /// A place in a view with a layer can be gone because a program removed it there.
    fn not_attached(&self, operation: &MountOp, errno: Errno) -> SetupFailure {
        let at = operation.at().to_string();
        match (self.around, errno) {
            (Place::View, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                SetupFailure::found(Step::Mount, at, GONE_IN_VIEW)
            }
            (Place::Home, Errno::NOTDIR | Errno::LOOP) => {
                SetupFailure::found(Step::Mount, at, OTHERWISE_IN_HOME)
            }
            _ => SetupFailure::kernel(Step::Mount, at, errno),
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
            Place::Hosts | Place::View | Place::Home => {
                if self.around == Place::Home {
                    self.make_place(at, mount.as_fd())?;
                }
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

    /// Makes the names in a home that is kept which something is mounted on, as far as they are not there.
    fn make_place(&self, at: &GuestPath, mount: BorrowedFd<'_>) -> Result<(), Errno> {
        let is_directory = |object: BorrowedFd<'_>| -> Result<bool, Errno> {
            Ok(FileType::from_raw_mode(rustix::fs::fstat(object)?.st_mode) == FileType::Directory)
        };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut names = at.relative_to_root().split(|byte| *byte == b'/').peekable();
        let mut directory = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)?;
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none();
            let made = match is_last && !is_directory(mount)? {
                false => rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o755)),
                true => {
                    let mode = Mode::from_raw_mode(0o644);
                    rustix::fs::mknodat(&directory, name, FileType::RegularFile, mode, 0)
                }
            };
            match made {
                // What is above the home is not for writing.
                Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS | Errno::PERM) => {}
                Err(errno) => return Err(errno),
            }
            if !is_last {
                directory = rustix::fs::openat2(&directory, name, flags, Mode::empty(), resolve)?;
            }
        }
        Ok(())
    }

    /// Takes away what only the building needed, and makes the root and every memory file system
    /// that is not for writing read-only.
    fn seal(&mut self) -> Result<(), SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Mount, "/", errno);
        if self.has_empty_file {
            rustix::fs::unlinkat(&self.root, EMPTY_FILE, AtFlags::empty()).map_err(failed)?;
        }
        self.journal = Journal::open(&self.root);
        let change = MountAttributes { set: sys::mount::RDONLY, make_private: false, idmap: None };
        for mount in self.to_seal.drain(..) {
            sys::mount::set_attributes(mount.as_fd(), change, Depth::Single).map_err(failed)?;
        }
        if !walls::stands(Wall::SealedRoot) {
            return Ok(());
        }
        sys::mount::set_attributes(self.root.as_fd(), change, Depth::Single).map_err(failed)
    }

    /// Makes the tree this process's root and lets go of the old one.
    pub(crate) fn become_root(self) -> Result<Rooted, SetupFailure> {
        leave_for(self.root.as_fd())
            .map_err(|errno| SetupFailure::kernel(Step::Pivot, "/", errno))?;
        let Self { spent, journal, unserved, .. } = self;
        Ok(Rooted { spent, journal, unserved })
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

impl Sources<'_> {
    /// The mount of a bind.
    fn bind(&mut self, source: SourceIndex, operation: &MountOp) -> Result<OwnedFd, SetupFailure> {
        match self {
            Self::Arriving(arrivals) => arrivals.next(operation.at()),
            Self::LookUp(plan) => {
                let (mount, failed) = look_up(plan, source, operation.at(), Depth::Recursive)?;
                set_bind_attributes(mount.as_fd(), operation, None).map_err(failed)?;
                Ok(mount)
            }
        }
    }

    /// The mounts that an overlay is made of.
    fn layers(&mut self, overlay: &Overlay) -> Result<Layers, SetupFailure> {
        let Overlay { lower, area, at, .. } = overlay;
        match self {
            Self::Arriving(arrivals) => {
                Ok(Layers { lower: arrivals.next(at)?, area: arrivals.next(at)? })
            }
            Self::LookUp(plan) => {
                let layer = |source, set| {
                    let (mount, failed) = look_up(plan, source, at, Depth::Single)?;
                    let change = MountAttributes { set, make_private: true, idmap: None };
                    sys::mount::set_attributes(mount.as_fd(), change, Depth::Single)
                        .map_err(failed)?;
                    Ok::<_, SetupFailure>(mount)
                };
                Ok(Layers { lower: layer(*lower, LOWER_LAYER)?, area: layer(*area, LAYER)? })
            }
        }
    }
}

/// A copy of the mount at a source's path, which must lead to the very object that was resolved. Also says how a step
/// with it fails.
fn look_up<'plan>(
    plan: &'plan Plan,
    source: SourceIndex,
    at: &GuestPath,
    depth: Depth,
) -> Result<(OwnedFd, impl Fn(Errno) -> SetupFailure + use<'plan>), SetupFailure> {
    let missing = || SetupFailure::found(Step::Mount, at.to_string(), "its source is missing");
    let source = plan.source(source).ok_or_else(missing)?;
    let failed = |errno| SetupFailure::kernel(Step::Mount, source.path.to_string(), errno);
    let recursive = match depth {
        Depth::Recursive => OpenTreeFlags::AT_RECURSIVE,
        Depth::Single => OpenTreeFlags::empty(),
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
        | recursive;
    let mount = rustix::mount::open_tree(CWD, source.path.as_bytes(), flags).map_err(failed)?;
    let stat = rustix::fs::fstat(&mount).map_err(failed)?;
    let is_same = (stat.st_dev, stat.st_ino) == (source.device, source.inode);
    if !is_same && walls::stands(Wall::SameObject) {
        return Err(SetupFailure::found(Step::Mount, source.path.to_string(), REPLACED));
    }
    Ok((mount, failed))
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

/// What is wrong with a place that the Plan has and the view has not.
const GONE_IN_VIEW: &str = "a program has removed it in an earlier run of this session; discard that change, or begin another session";

/// What is wrong with a place of a home that is kept.
const OTHERWISE_IN_HOME: &str = "a program has put something else there in the home that this project keeps; run without `--keep-home`, or \
     remove it there";

const EMPTY_FILE: &[u8] = b".stockade-empty-file";
