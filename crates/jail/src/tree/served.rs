//! Files that a process outside serves: FUSE, mounted in the cage's own user namespace. The device is opened here, because
//! the kernel takes it from nobody else, and handed out; the host's own is only pointed at. Never reads a request.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};

use plan::{GuestPath, Inside, MountOp, Plan, Served};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::{SetupFailure, Step};

/// One that is mounted, and the descriptor on which the kernel asks for its files.
#[derive(Debug)]
pub(crate) struct Unserved {
    pub(crate) at: GuestPath,
    pub(crate) device: OwnedFd,
    /// What a process inside is to serve there; none where somebody outside serves.
    pub(crate) inside: Option<Inside>,
}

/// The descriptors on which the kernel will ask, in the Plan's order. To be opened in the cage's user namespace, because
/// the kernel takes no others, and before this process is the cage's user, who may not be able to.
pub(crate) struct Devices(VecDeque<OwnedFd>);

impl Devices {
    /// Opens one for each mount that is served. `opened` refers to the host's objects.
    pub(crate) fn open(plan: &Plan, opened: &[OwnedFd]) -> Result<Self, SetupFailure> {
        let served = plan.walls.mounts.iter().filter_map(MountOp::served);
        let open = |served: &Served| {
            let device = opened.get(served.device.position()).ok_or(Errno::BADF);
            device
                .and_then(reopen)
                .map_err(|errno| SetupFailure::kernel(Step::Serve, served.at.to_string(), errno))
        };
        served.map(open).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn next(&mut self) -> Result<OwnedFd, Errno> {
        self.0.pop_front().ok_or(Errno::BADF)
    }
}

/// One descriptor is one connection. The name leads to the very device that was resolved.
fn reopen(device: &OwnedFd) -> Result<OwnedFd, Errno> {
    let name = format!("/proc/self/fd/{}", device.as_raw_fd());
    rustix::fs::openat(CWD, name, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}
