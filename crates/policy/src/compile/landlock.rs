//! The second wall around files: reading everywhere in the finished tree, writing only where a
//! mount is for writing. Landlock only adds rights downwards, so a read-only place inside a writable
//! one (a project below the cage's own home, a protected file) is held by its mount alone.

use std::collections::BTreeMap;

use plan::{Access, GuestPath, LandlockPlan, LandlockRule, MountOp, TmpfsPurpose};

/// The rules for a list of mount operations.
pub(super) fn rules(mounts: &[MountOp]) -> LandlockPlan {
    let read_only = LandlockRule { at: GuestPath::root(), access: Access::ReadOnly };
    let writable = mounts.iter().filter(is_written_to).map(MountOp::at);
    let writable: BTreeMap<&[u8], &GuestPath> = writable.map(|at| (at.as_bytes(), at)).collect();
    let mut rules = vec![read_only];
    // One rule covers all that lies below it.
    let is_covered = |at: &GuestPath| at.ancestors().any(|above| writable.contains_key(above));
    for at in writable.values().filter(|at| !is_covered(at)) {
        rules.push(LandlockRule { at: (*at).clone(), access: Access::ReadWrite });
    }
    LandlockPlan { rules }
}

/// Devices are written to through a read-only mount; and of `/proc` a program writes its own files,
/// such as `/proc/self/comm`. Permissions and read-only mounts hold the rest.
fn is_written_to(operation: &&MountOp) -> bool {
    operation.access() == Some(Access::ReadWrite)
        || operation.tmpfs_purpose() == Some(TmpfsPurpose::Devices)
}
