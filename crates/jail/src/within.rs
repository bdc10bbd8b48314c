//! Narrowing a process inside of a cage, for a child that has less than its cage: landlock for files, signals and abstract
//! sockets, and a filter of system calls for other processes and the network. Whatever the process does afterwards, and everything that
//! it starts, has at most what its cage has; nothing undoes it. What cannot be held is an error, never less.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::FileType;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::seccomp::Filter;
use crate::{SetupFailure, Step};

/// What a child has of its cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// Paths, each with all that lies below it. What is in none of them cannot be opened.
    pub paths: Vec<Path>,
    /// Whether it has the cage's network.
    pub network: bool,
}

/// A path of the cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Where. One that does not exist gives nothing.
    pub path: PathBuf,
    /// Whether what is there may be changed, as far as the cage may.
    pub write: bool,
    /// Whether programs that are there may be started.
    pub run: bool,
}

/// Whether this kernel can hold a narrowing of files. Changes nothing.
pub fn can_narrow() -> bool {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(Ruleset::create);
    made.is_ok()
}

/// Narrows the thread that calls it and all that it starts; a process is narrowed that has a single thread.
///
/// # Errors
/// If the kernel cannot hold it.
pub fn narrow(narrowing: &Narrowing) -> Result<(), SetupFailure> {
    let failed = |error: &dyn std::fmt::Display| {
        SetupFailure::found(Step::Landlock, "the child's files", error.to_string())
    };
    // Before version 3 a file that may only be read could be cut off.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(|error| failed(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(|error| failed(&error))?
        .scope(Scope::from_all(WANTED))
        .map_err(|error| failed(&error))?
        .create()
        .map_err(|error| failed(&error))?;
    for rule in &narrowing.paths {
        let stat = match rustix::fs::stat(&rule.path) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => continue,
            Err(errno) => {
                let path = rule.path.display().to_string();
                return Err(SetupFailure::kernel(Step::Landlock, path, errno));
            }
        };
        let path = PathFd::new(&rule.path).map_err(|error| failed(&error))?;
        let access = rights(rule, FileType::from_raw_mode(stat.st_mode));
        ruleset =
            ruleset.add_rule(PathBeneath::new(path, access)).map_err(|error| failed(&error))?;
    }
    let status = ruleset.restrict_self().map_err(|error| failed(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(failed(&"landlock does not hold here"));
    }
    Filter::new(&plan::seccomp::child(narrowing.network))
        .install()
        .map_err(|errno| SetupFailure::kernel(Step::Seccomp, "the child's system calls", errno))
}

fn rights(rule: &Path, kind: FileType) -> BitFlags<AccessFs> {
    let mut rights = match rule.write {
        true => AccessFs::from_all(WANTED),
        false => AccessFs::from_read(WANTED) | AccessFs::IoctlDev,
    };
    if !rule.run {
        rights.remove(AccessFs::Execute);
    }
    if kind == FileType::Directory { rights } else { rights & AccessFs::from_file(WANTED) }
}

const NEEDED: ABI = ABI::V3;
const WANTED: ABI = ABI::V6;
