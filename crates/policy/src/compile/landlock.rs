//! The second wall around files: reading everywhere in the finished tree, writing only where a
//! mount is for writing. Landlock only adds rights downwards, so a read-only place inside a writable
//! one (a project below the cage's own home, a protected file) is held by its mount alone.

use std::collections::BTreeMap;

use plan::{Access, GuestPath, LandlockPlan, LandlockRule, MountOp};

/// The rules for a list of mount operations.
pub(super) fn rules(mounts: &[MountOp]) -> LandlockPlan {
    let read_only = LandlockRule { at: GuestPath::root(), access: Access::ReadOnly };
    let writable: BTreeMap<&[u8], &GuestPath> =
        mounts.iter().filter_map(writable_place).map(|at| (at.as_bytes(), at)).collect();
    let mut rules = vec![read_only];
    // One rule covers all that lies below it.
    let is_covered = |at: &GuestPath| at.ancestors().any(|above| writable.contains_key(above));
    for at in writable.values().filter(|at| !is_covered(at)) {
        rules.push(LandlockRule { at: (*at).clone(), access: Access::ReadWrite });
    }
    LandlockPlan { rules }
}

fn writable_place(operation: &MountOp) -> Option<&GuestPath> {
    match operation {
        MountOp::Bind { at, access: Access::ReadWrite, .. }
        | MountOp::Tmpfs { at, access: Access::ReadWrite, .. } => Some(at),
        // Devices are written to through a read-only mount; and of `/proc` a program writes its
        // own files, such as `/proc/self/comm`. Permissions and read-only mounts hold the rest.
        MountOp::Proc { at } => Some(at),
        MountOp::Tmpfs { at, .. } if at.as_bytes() == b"/dev" => Some(at),
        _ => None,
    }
}
