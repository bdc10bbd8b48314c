//! File systems that the kernel makes anew for a cage, not mounted anywhere yet. Never looks at the host.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use plan::TmpfsSize;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

/// One for files. The attributes are a union of the constants of [`sys::mount`], here and below.
pub(crate) fn tmpfs(mode: u32, size: TmpfsSize, attributes: u64) -> Result<OwnedFd, Errno> {
    let options = [
        ("size", size.bytes.to_string()),
        ("nr_inodes", size.inodes.to_string()),
        ("mode", format!("{mode:o}")),
    ];
    make("tmpfs", &options, attributes)
}

/// One that shows a directory with a layer above it; all are names in the working directory.
///
/// `userxattr` has it note what it must know where a user may write, and refuse all by which a note could lead elsewhere
/// (mount(8), overlayfs.rst); `xino` keeps the numbers of inodes what they are, which `git status` depends on.
pub(super) fn overlay(
    lower: &str,
    upper: &str,
    work: &str,
    attributes: u64,
) -> Result<OwnedFd, Errno> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in
        [("lowerdir", lower), ("upperdir", upper), ("workdir", work), ("xino", "auto")]
    {
        fsconfig_set_string(&context, name, value)?;
    }
    fsconfig_set_flag(&context, "userxattr")?;
    mount(context, attributes)
}

/// One whose files a process serves that reads from the device. The kernel holds programs to modes and owners, and lets
/// nobody in but the cage's user.
pub(super) fn fuse(
    device: &OwnedFd,
    (uid, gid): (u32, u32),
    attributes: u64,
) -> Result<OwnedFd, Errno> {
    let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let options = [
        ("source", "stockade".to_owned()),
        ("subtype", SERVED_BY.to_owned()),
        ("fd", device.as_raw_fd().to_string()),
        ("rootmode", "40000".to_owned()),
        ("user_id", uid.to_string()),
        ("group_id", gid.to_string()),
    ];
    for (name, value) in options {
        fsconfig_set_string(&context, name, value)?;
    }
    fsconfig_set_flag(&context, "default_permissions")?;
    mount(context, attributes)
}

/// What the mount table says of one behind the name of its type.
pub(crate) const SERVED_BY: &str = "stockade";

/// One for terminals.
pub(super) fn devpts(attributes: u64) -> Result<OwnedFd, Errno> {
    let options = [("ptmxmode", "0666".to_owned()), ("mode", "0620".to_owned())];
    make("devpts", &options, attributes)
}

/// The processes of this process id namespace.
pub(super) fn proc(attributes: u64) -> Result<OwnedFd, Errno> {
    make("proc", &[], attributes)
}

fn make(kind: &str, options: &[(&str, String)], attributes: u64) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, *name, value)?;
    }
    mount(context, attributes)
}

fn mount(context: OwnedFd, attributes: u64) -> Result<OwnedFd, Errno> {
    fsconfig_create(&context)?;
    let attributes = u32::try_from(attributes).map_err(|_| Errno::INVAL)?;
    let attributes = MountAttrFlags::from_bits_retain(attributes);
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
