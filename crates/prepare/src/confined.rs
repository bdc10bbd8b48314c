//! Rules that must stay inside a tree wherever their links lead: those that an argument of a call
//! names. Compares what `resolve` has found with the real path of the tree; never opens a rule's path
//! itself.

use std::path::Path;

use plan::HostPath;
use policy::facts::{HostFacts, ResolvedRule};
use policy::ungrantable::needs_a_grant_by_name;
use policy::{FsAccess, FsRule, RuleOrigin};
use rustix::io::Errno;

use super::{PrepareError, Selection};
use resolve::ResolveError;

#[cfg(test)]
mod tests;

/// A rule that must not lead out of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The path of the rule.
    pub path: HostPath,
    /// The tree.
    pub root: HostPath,
}

/// Refuses a rule that leads out of its tree, and a capability that leads to what nobody has named. What
/// a user's ceiling holds is the ceiling's concern.
pub(super) fn check(selection: &Selection, facts: &HostFacts) -> Result<(), PrepareError> {
    let rules = selection.policy.fs.iter().zip(&facts.rules);
    for (rule, found) in rules.filter(|(rule, _)| rule.access > FsAccess::Hide) {
        let Some(real) = real_path(found, facts) else { continue };
        let trees = selection.confined.iter().filter(|confined| confined.path == rule.path);
        for Confined { path, root } in trees {
            if !real.is_within(&canonical(root)?) {
                return Err(PrepareError::LeadsOut { path: path.clone(), root: root.clone() });
            }
        }
        if selection.ceiling.is_none() && becomes_broad(rule, real, facts) {
            let (path, real) = (rule.path.clone(), real.clone());
            return Err(PrepareError::LeadsToBroad { path, real });
        }
    }
    Ok(())
}

/// Whether a capability's path was narrow as it was written and leads to a home, a tree of the system or a
/// secret.
fn becomes_broad(rule: &FsRule, real: &HostPath, facts: &HostFacts) -> bool {
    let homes = facts.caller.home.as_slice();
    matches!(rule.origin, RuleOrigin::Capability(_))
        && *real != rule.path
        && needs_a_grant_by_name(real, homes)
        && !needs_a_grant_by_name(&rule.path, homes)
}

fn real_path<'a>(found: &ResolvedRule, facts: &'a HostFacts) -> Option<&'a HostPath> {
    match found {
        ResolvedRule::Found { source, .. } => {
            let index = usize::try_from(source.0).ok()?;
            facts.sources.get(index).map(|source| &source.path)
        }
        ResolvedRule::NothingToHide => None,
    }
}

fn canonical(root: &HostPath) -> Result<HostPath, PrepareError> {
    let failed =
        |source| ResolveError::Kernel { call: "realpath", subject: root.to_string(), source };
    let real = std::fs::canonicalize(Path::new(root.as_path()));
    let real = real.map_err(|error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    Ok(HostPath::new(real.into_os_string()).map_err(|_| failed(Errno::NAMETOOLONG))?)
}
