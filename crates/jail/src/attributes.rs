//! What each mount of a cage may do: set-id programs, devices, execution, writing. The one place that says
//! so, for whoever makes a mount and for whoever compares it with the Plan.

use std::os::fd::BorrowedFd;

use plan::{Access, Bind, BindPurpose, Execution, MountOp};
use rustix::io::Errno;
use sys::mount::{Depth, MountAttributes};
use walls::Wall;

/// Gives a bind's mount the attributes that its operation asks for, and to all mounts below it.
pub(crate) fn set_bind_attributes(
    mount: BorrowedFd<'_>,
    operation: &MountOp,
    idmap: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    let change = MountAttributes { set: attributes(operation), make_private: true, idmap };
    sys::mount::set_attributes(mount, change, Depth::Recursive)
}

/// What the options of an operation's mount say in the finished tree; nothing for an operation that
/// mounts nothing.
pub(crate) fn attributes(operation: &MountOp) -> u64 {
    let refused = |execution: Execution| match execution {
        Execution::Refused => sys::mount::NOEXEC,
        Execution::Allowed => 0,
    };
    let read_only = match operation.access() {
        Some(Access::ReadOnly) => sys::mount::RDONLY,
        Some(Access::ReadWrite) | None => 0,
    };
    let nosuid = if walls::stands(Wall::NoSetId) { sys::mount::NOSUID } else { 0 };
    let nodev = if walls::stands(Wall::NoDevices) { sys::mount::NODEV } else { 0 };
    match operation {
        MountOp::Bind(Bind { execution, purpose, .. }) => {
            let devices = if *purpose == BindPurpose::Device { 0 } else { nodev };
            let is_open = *purpose == BindPurpose::Grant && !walls::stands(Wall::ReadOnlyGrants);
            let read_only = if is_open { 0 } else { read_only };
            nosuid | devices | refused(*execution) | read_only
        }
        MountOp::Overlay(_) => nosuid | nodev,
        MountOp::Served(_) => nosuid | nodev | read_only,
        MountOp::Tmpfs { execution, .. } => {
            sys::mount::NOSUID | sys::mount::NODEV | refused(*execution) | read_only
        }
        MountOp::Mask { .. } | MountOp::MaskIfPresent { .. } | MountOp::SealReadOnly { .. } => {
            CLOSED
        }
        MountOp::Proc { .. } => sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC,
        MountOp::Devpts { .. } => sys::mount::NOSUID | sys::mount::NOEXEC,
        MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Hosts { .. } => 0,
        MountOp::Symlink { .. } => 0,
    }
}

/// What the options of the root say in the finished tree.
pub(crate) const ROOT_ATTRIBUTES: u64 = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::RDONLY;

/// What the layers of an overlay are mounted with while it is made, and by itself for good.
pub(crate) const LAYER: u64 = sys::mount::NOSUID | sys::mount::NODEV;
pub(crate) const LOWER_LAYER: u64 = LAYER | sys::mount::RDONLY;

/// What a path is closed with.
pub(crate) const CLOSED: u64 =
    sys::mount::RDONLY | sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC;
