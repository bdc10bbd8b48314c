//! The least that a start can cost: one `clone3` into the same namespaces, the same mounts as the
//! Plan has, and `exec`; nothing else. No privilege is dropped, nothing is filtered, checked or
//! guarded, so nothing may ever run in it but the benchmark's own program.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use plan::{Access, Bind, FileKind, GuestPath, MountOp, Plan, TmpfsSize};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use sys::clone::{Forked, Namespaces, fork_into};
use sys::exec::{CStringArray, execute};
use sys::mount::{Depth, MountAttributes, NODEV, NOEXEC, NOSUID, RDONLY};

use crate::program;

/// Runs the Plan's program on the floor and returns how long that took.
pub(crate) fn time(plan: &Plan) -> io::Result<Duration> {
    let argument = |bytes: &plan::ByteString| CString::new(bytes.as_bytes());
    let arguments = plan.start.argv.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    let program = arguments.first().cloned().unwrap_or_default();
    let arguments = CStringArray::new(arguments);
    let environment = CStringArray::new(vec![CString::new("PATH=/usr/bin")?]);
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let started = Instant::now();
    match fork_into(Namespaces::ALL, None)? {
        Forked::Parent { pid, .. } => {
            let ended = program::wait(pid)?;
            let time = started.elapsed();
            program::expect_success(ended)?;
            Ok(time)
        }
        Forked::Child => {
            let failed = enter(plan, ids).err().unwrap_or_else(|| {
                let errno = execute(&program, &arguments, &environment);
                format!("exec: {errno}")
            });
            eprintln!("floor: {failed}");
            std::process::exit(1);
        }
    }
}

fn enter(plan: &Plan, (uid, gid): (u32, u32)) -> Result<(), String> {
    let setting = |path: &str, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))
    };
    setting("/proc/self/setgroups", "deny".to_owned())?;
    setting("/proc/self/uid_map", format!("{} {uid} 1", plan.walls.identity.uid))?;
    setting("/proc/self/gid_map", format!("{} {gid} 1", plan.walls.identity.gid))?;
    sys::loopback::bring_up().map_err(|errno| format!("loopback: {errno}"))?;
    let root = tmpfs(0o755, ROOT_SIZE, NOSUID | NODEV).map_err(|errno| format!("root: {errno}"))?;
    let mut tree = Tree { root, empty_directory: None, has_empty_file: false };
    tree.attach(tree.root.as_fd(), &GuestPath::root()).map_err(|errno| format!("root: {errno}"))?;
    for operation in &plan.walls.mounts {
        let failed = |errno| format!("{}: {errno}", operation.at());
        tree.apply(plan, operation).map_err(failed)?;
    }
    tree.become_root().map_err(|errno| format!("pivot: {errno}"))
}

struct Tree {
    root: OwnedFd,
    empty_directory: Option<GuestPath>,
    has_empty_file: bool,
}

impl Tree {
    fn apply(&mut self, plan: &Plan, operation: &MountOp) -> Result<(), Errno> {
        let at = operation.at();
        let name = at.relative_to_root();
        match operation {
            MountOp::Directory { mode, .. } => {
                rustix::fs::mkdirat(&self.root, name, Mode::from_raw_mode(*mode))
            }
            MountOp::File { mode, contents, .. } => {
                self.make_file(name, *mode, contents.as_bytes())
            }
            MountOp::Hosts { mode, contents, .. } => {
                self.make_file(name, *mode, plan.hosts(contents).as_bytes())
            }
            MountOp::Symlink { target, .. } => {
                rustix::fs::symlinkat(target.as_bytes(), &self.root, name)
            }
            MountOp::Bind(Bind { source, access, .. }) => {
                let source = plan.source(*source).ok_or(Errno::NOENT)?;
                let flags = COPY | OpenTreeFlags::AT_RECURSIVE;
                let mount = rustix::mount::open_tree(CWD, source.path.as_bytes(), flags)?;
                let read_only = if *access == Access::ReadOnly { RDONLY } else { 0 };
                let change =
                    MountAttributes { set: NOSUID | read_only, make_private: true, idmap: None };
                sys::mount::set_attributes(mount.as_fd(), change, Depth::Recursive)?;
                self.attach(mount.as_fd(), at)
            }
            // No policy that is measured here has one.
            MountOp::Overlay(_) => Err(Errno::NOTSUP),
            MountOp::Tmpfs { mode, size, .. } => {
                let mount = tmpfs(*mode, *size, NOSUID | NODEV)?;
                self.attach(mount.as_fd(), at)
            }
            MountOp::Mask { kind, .. } => self.mask(at, *kind),
            MountOp::MaskIfPresent { .. } => match self.kind(name) {
                Some(kind) => self.mask(at, kind),
                None => Ok(()),
            },
            MountOp::SealReadOnly { .. } => match self.kind(name) {
                Some(_) => {
                    let mount = rustix::mount::open_tree(&self.root, name, COPY)?;
                    read_only(&mount)?;
                    self.attach(mount.as_fd(), at)
                }
                None => Ok(()),
            },
            // No policy that is measured here has one.
            MountOp::Served(_) => Err(Errno::OPNOTSUPP),
            MountOp::Proc { .. } => self.attach(filesystem(c"proc", &[])?.as_fd(), at),
            MountOp::Devpts { .. } => {
                let mount = filesystem(c"devpts", &[(c"ptmxmode", "0666"), (c"mode", "0620")])?;
                self.attach(mount.as_fd(), at)
            }
        }
    }

    fn kind(&self, name: &[u8]) -> Option<FileKind> {
        let stat = rustix::fs::statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => FileKind::Directory,
            _ => FileKind::File,
        })
    }

    fn make_file(&self, name: &[u8], mode: u32, contents: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, name, flags, Mode::from_raw_mode(mode))?;
        rustix::io::write(&file, contents)?;
        Ok(())
    }

    fn mask(&mut self, at: &GuestPath, kind: FileKind) -> Result<(), Errno> {
        let mount = match (kind, &self.empty_directory) {
            (FileKind::Directory, None) => {
                self.empty_directory = Some(at.clone());
                tmpfs(0o555, EMPTY_SIZE, RDONLY | NOSUID | NODEV | NOEXEC)?
            }
            (FileKind::Directory, Some(first)) => {
                rustix::mount::open_tree(&self.root, first.relative_to_root(), COPY)?
            }
            (FileKind::File, _) => {
                if !self.has_empty_file {
                    self.make_file(EMPTY_FILE, 0o444, b"")?;
                    self.has_empty_file = true;
                }
                rustix::mount::open_tree(&self.root, EMPTY_FILE, COPY)?
            }
        };
        read_only(&mount)?;
        self.attach(mount.as_fd(), at)
    }

    fn attach(&self, mount: std::os::fd::BorrowedFd<'_>, at: &GuestPath) -> Result<(), Errno> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        match at.relative_to_root() {
            b"." => rustix::mount::move_mount(mount, c"", CWD, c"/", flags),
            name => rustix::mount::move_mount(mount, c"", &self.root, name, flags),
        }
    }

    fn become_root(self) -> Result<(), Errno> {
        let change = MountAttributes { set: RDONLY, make_private: false, idmap: None };
        sys::mount::set_attributes(self.root.as_fd(), change, Depth::Single)?;
        rustix::process::fchdir(&self.root)?;
        rustix::process::pivot_root(c".", c".")?;
        rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
        rustix::process::chdir(c"/")
    }
}

fn read_only(mount: &OwnedFd) -> Result<(), Errno> {
    let set = RDONLY | NOSUID | NODEV | NOEXEC;
    let change = MountAttributes { set, make_private: true, idmap: None };
    sys::mount::set_attributes(mount.as_fd(), change, Depth::Single)
}

fn tmpfs(mode: u32, size: TmpfsSize, attributes: u64) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"size", size.bytes.to_string())?;
    rustix::mount::fsconfig_set_string(&context, c"nr_inodes", size.inodes.to_string())?;
    rustix::mount::fsconfig_set_string(&context, c"mode", format!("{mode:o}"))?;
    rustix::mount::fsconfig_create(&context)?;
    fsmount(&context, attributes)
}

fn filesystem(
    name: &std::ffi::CStr,
    options: &[(&std::ffi::CStr, &str)],
) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        rustix::mount::fsconfig_set_string(&context, *key, *value)?;
    }
    rustix::mount::fsconfig_create(&context)?;
    fsmount(&context, NOSUID | NOEXEC)
}

fn fsmount(context: &OwnedFd, attributes: u64) -> Result<OwnedFd, Errno> {
    let attributes = u32::try_from(attributes).map_err(|_| Errno::INVAL)?;
    let attributes = MountAttrFlags::from_bits_retain(attributes);
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

const COPY: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_SYMLINK_NOFOLLOW);
const ROOT_SIZE: TmpfsSize = TmpfsSize { bytes: 64 << 20, inodes: 1 << 18 };
const EMPTY_SIZE: TmpfsSize = TmpfsSize { bytes: 4096, inodes: 1 };
const EMPTY_FILE: &[u8] = b".empty";
