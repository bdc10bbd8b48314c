//! What holds without any policy file: the working directory read-only and nothing else of the
//! host. Refuses where the directory is too broad for that to be meant.

use plan::HostPath;

use crate::shown::shown;
use crate::ungrantable::is_home_or_system_tree;
use crate::{FsAccess, FsRule, Policy, Reach, RuleOrigin};

/// The name of a cage that nobody named.
pub const DEFAULT_CAGE: &str = "default";

/// The directory is a home, above one, or a tree of the system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "without a policy the working directory would be granted read-only, but `{}` is a home, a \
     directory above one or a system directory",
    shown(.directory)
)]
pub struct TooBroad {
    /// The directory.
    pub directory: HostPath,
}

impl TooBroad {
    /// What to pass instead.
    pub fn hint(&self) -> String {
        let directory = shown(&self.directory);
        let project = if self.directory == HostPath::root() {
            "/PROJECT".to_owned()
        } else {
            format!("{directory}/PROJECT")
        };
        let all = match crate::ungrantable::check(&self.directory, &[]) {
            Ok(()) => format!("; `--ro {directory}` grants it all the same"),
            Err(_) => String::new(),
        };
        format!(
            "start in the project's directory, or name what the program may read: `--ro \
             {project}`{all}"
        )
    }
}

/// The policy of a run without a policy file: `directory` read-only. `homes` are the homes that
/// are known, the caller's first.
pub fn policy(directory: &HostPath, homes: &[HostPath]) -> Result<Policy, TooBroad> {
    if is_home_or_system_tree(directory, homes) {
        return Err(TooBroad { directory: directory.clone() });
    }
    let rule = FsRule {
        access: FsAccess::ReadOnly,
        path: directory.clone(),
        reach: Reach::BeneathProject,
        origin: RuleOrigin::BuiltIn("without a policy the working directory is read-only"),
    };
    Ok(Policy { fs: vec![rule], ..Policy::closed(DEFAULT_CAGE) })
}

#[cfg(test)]
mod tests;
