//! The second wall around files, and around signals and abstract sockets. What the kernel's
//! landlock is too old for is reported as partial, never as full.

use std::os::fd::{AsFd as _, OwnedFd};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use plan::{Access, LandlockPlan};
use rustix::fs::{AtFlags, FileType, StatxFlags};
use walls::Wall;

use crate::tree::Unserved;
use crate::{LandlockState, SetupFailure, Step};

/// Puts this process and all it starts into a landlock domain with these rules. What is served inside has no server yet, and
/// is not asked about.
pub(crate) fn restrict(
    rules: &LandlockPlan,
    unserved: &[Unserved],
) -> Result<LandlockState, SetupFailure> {
    let failed = |error: &dyn std::fmt::Display| {
        SetupFailure::found(Step::Landlock, "the file tree", error.to_string())
    };
    let mut attributes = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(|error| failed(&error))?;
    if walls::stands(Wall::LandlockScopes) {
        let scopes = Scope::from_all(WANTED);
        attributes = attributes.scope(scopes).map_err(|error| failed(&error))?;
    }
    let mut ruleset = attributes.create().map_err(|error| failed(&error))?;
    for rule in &rules.rules {
        let path = PathFd::new(rule.at.as_path()).map_err(|error| failed(&error))?;
        if unserved.iter().any(|one| one.at == rule.at) {
            let rights = rights(rule.access, FileType::Directory).bits();
            let ruleset = ruleset.try_clone().map_err(|error| failed(&error))?;
            if let Some(ruleset) = Option::<OwnedFd>::from(ruleset) {
                sys::landlock::add_rule(ruleset.as_fd(), path.as_fd(), rights).map_err(
                    |errno| SetupFailure::kernel(Step::Landlock, rule.at.to_string(), errno),
                )?;
            }
            continue;
        }
        // As the kernel knows it: what is served may not be served yet.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let known = rustix::fs::statx(&path, c"", flags, StatxFlags::TYPE)
            .map_err(|errno| SetupFailure::kernel(Step::Landlock, rule.at.to_string(), errno))?;
        let access = rights(rule.access, FileType::from_raw_mode(known.stx_mode.into()));
        ruleset =
            ruleset.add_rule(PathBeneath::new(path, access)).map_err(|error| failed(&error))?;
    }
    let status = ruleset.restrict_self().map_err(|error| failed(&error))?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => LandlockState::Full,
        RulesetStatus::PartiallyEnforced => LandlockState::Partial,
        RulesetStatus::NotEnforced => LandlockState::Absent,
    })
}

/// Device ioctls go with reading: the terminal is on a device, and the filter refuses the
/// dangerous ones.
fn rights(access: Access, kind: FileType) -> BitFlags<AccessFs> {
    let rights = match access {
        Access::ReadOnly => AccessFs::from_read(WANTED) | AccessFs::IoctlDev,
        Access::ReadWrite => AccessFs::from_all(WANTED),
    };
    if kind == FileType::Directory { rights } else { rights & AccessFs::from_file(WANTED) }
}

/// The newest landlock whose rights and scopes the rules use.
const WANTED: ABI = ABI::V6;

#[cfg(test)]
mod tests;
