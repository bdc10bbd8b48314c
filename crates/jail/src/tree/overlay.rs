//! A host directory with a layer of ours above it: overlayfs, mounted in the cage's own user namespace, so that it acts
//! on the host with the cage's ids and no others. The layers have names only while it is made; nothing inside ever
//! reaches them but through it.

use std::os::fd::{AsFd as _, OwnedFd};

use plan::{Overlay, UPPER_LAYER, WORK_DIRECTORY};
use rustix::fs::{AtFlags, Mode};
use rustix::mount::{MoveMountFlags, UnmountFlags};

use super::{Sources, Tree, memory};
use crate::{SetupFailure, Step};

/// The two mounts that one is made of.
pub(crate) struct Layers {
    /// What is below, read-only.
    pub(crate) lower: OwnedFd,
    /// The directory that holds the layer above, and what overlayfs has for itself.
    pub(crate) area: OwnedFd,
}

/// Makes one that is not mounted anywhere yet.
pub(super) fn make(
    tree: &Tree,
    overlay: &Overlay,
    attributes: u64,
    sources: &mut Sources<'_>,
) -> Result<OwnedFd, SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Overlay, overlay.at.to_string(), errno);
    let Layers { lower, area } = sources.layers(overlay)?;
    let names = [(LOWER, &lower), (AREA, &area)];
    for (name, mount) in names {
        rustix::fs::mkdirat(&tree.root, name, Mode::RWXU).map_err(failed)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(mount.as_fd(), c"", &tree.root, name, flags).map_err(failed)?;
    }
    // Overlayfs takes names, and what it says of itself in the mount table has them: these tell nothing about the host.
    rustix::process::fchdir(&tree.root).map_err(failed)?;
    let made = memory::overlay(
        LOWER,
        &format!("{AREA}/{UPPER_LAYER}"),
        &format!("{AREA}/{WORK_DIRECTORY}"),
        attributes,
    );
    let made = made.map_err(failed)?;
    for (name, _) in names {
        let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
        rustix::mount::unmount(name, flags).map_err(failed)?;
        rustix::fs::unlinkat(&tree.root, name, AtFlags::REMOVEDIR).map_err(failed)?;
    }
    Ok(made)
}

const LOWER: &str = ".stockade-lower";
const AREA: &str = ".stockade-area";
