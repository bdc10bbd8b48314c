//! `mount_setattr`, which no library wraps. Changes attributes of a mount that the caller holds
//! open; never finds one by name.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

/// What to change on a mount.
#[derive(Clone, Copy, Debug, Default)]
pub struct MountAttributes<'a> {
    /// Attributes to add, a union of the constants below.
    pub set: u64,
    /// Take the mount out of every peer group, so that later mounts of the host do not appear.
    pub make_private: bool,
    /// Map owners through this user namespace (adds [`IDMAP`]).
    pub idmap: Option<BorrowedFd<'a>>,
}

/// Whether the change reaches mounts below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// This mount alone.
    Single,
    /// This mount and every one below it.
    Recursive,
}

/// Read-only.
pub const RDONLY: u64 = 0x1;
/// Set-user-id bits and file capabilities do nothing.
pub const NOSUID: u64 = 0x2;
/// Device nodes cannot be opened.
pub const NODEV: u64 = 0x4;
/// Programs cannot be started.
pub const NOEXEC: u64 = 0x8;
/// Symbolic links are not followed.
pub const NOSYMFOLLOW: u64 = 0x0020_0000;
/// Owners are mapped.
pub const IDMAP: u64 = 0x0010_0000;

/// Changes the attributes of the mount that `mount` is the root of.
pub fn set_attributes(
    mount: BorrowedFd<'_>,
    attributes: MountAttributes<'_>,
    depth: Depth,
) -> Result<(), Errno> {
    let mut raw = MountAttr {
        attr_set: attributes.set,
        attr_clr: 0,
        propagation: if attributes.make_private { libc::MS_PRIVATE } else { 0 },
        userns_fd: 0,
    };
    if let Some(namespace) = attributes.idmap {
        raw.attr_set |= IDMAP;
        raw.userns_fd = u64::try_from(namespace.as_raw_fd()).map_err(|_| Errno::BADF)?;
    }
    let recursive = if depth == Depth::Recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the kernel reads a NUL-terminated path and a `mount_attr` of the given size: the path
    // is a literal, `raw` is such a struct and lives across the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw mut raw,
            size_of::<MountAttr>(),
        )
    };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

const _: () = assert!(size_of::<MountAttr>() == 32);
