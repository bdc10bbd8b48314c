//! The second wall around files: reading everywhere in the finished tree, writing only where a
//! mount is for writing. Landlock only adds rights downwards, so a read-only place inside a writable
//! one (a project below the cage's own home, a protected file) is held by its mount alone.

use plan::{Access, GuestPath, LandlockPlan, LandlockRule, MountOp};

/// The rules for a list of mount operations.
pub(super) fn rules(mounts: &[MountOp]) -> LandlockPlan {
    let read_only = LandlockRule { at: GuestPath::root(), access: Access::ReadOnly };
    let mut writable: Vec<&GuestPath> = mounts.iter().filter_map(writable_place).collect();
    // One rule covers all that lies below it. Sorting puts parents first.
    writable.sort();
    let mut rules = vec![read_only];
    for at in writable {
        let covered =
            |rule: &LandlockRule| rule.access == Access::ReadWrite && at.is_within(&rule.at);
        if !rules.iter().any(covered) {
            rules.push(LandlockRule { at: at.clone(), access: Access::ReadWrite });
        }
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
