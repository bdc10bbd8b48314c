//! Files that a process outside serves: FUSE, mounted in the cage's own user namespace. The device is opened here, because
//! the kernel takes it from nobody else, and handed out; the host's own is only pointed at. Never reads a request.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use plan::{GuestPath, Identity};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::memory;

/// One that is mounted, and the descriptor on which the kernel asks for its files.
#[derive(Debug)]
pub(crate) struct Unserved {
    pub(crate) at: GuestPath,
    pub(crate) device: OwnedFd,
}

/// Makes one that is not mounted anywhere yet. `device` refers to the host's `/dev/fuse`.
pub(super) fn make(
    device: &impl AsFd,
    identity: &Identity,
    attributes: u64,
) -> Result<(OwnedFd, OwnedFd), Errno> {
    // Anew for each: one descriptor is one connection, and of this user namespace.
    let name = format!("/proc/self/fd/{}", device.as_fd().as_raw_fd());
    let device = rustix::fs::openat(CWD, name, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let mount = memory::fuse(&device, (identity.uid, identity.gid), attributes)?;
    Ok((mount, device))
}
