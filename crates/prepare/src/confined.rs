//! Where a capability of an executor may lead: no further than it reads. A manifest's path has no link in
//! it; an argument's may have some that stay in its tree. Compares what `resolve` has found, by text; never
//! opens a path.

use plan::{FileKind, HostPath, Source};
use policy::facts::{HostFacts, ResolvedRule};
use policy::protected::{self, Object};
use policy::ungrantable::needs_a_grant_by_name;
use policy::{FsAccess, FsRule, RuleOrigin};

use super::{PrepareError, Selection};

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

/// Refuses a capability that leads elsewhere than it says: out of its tree, or to what nobody has named. What
/// a user's ceiling holds is the ceiling's concern.
pub(super) fn check(selection: &Selection, facts: &HostFacts) -> Result<(), PrepareError> {
    let is_checked = |rule: &FsRule| {
        let is_capability = matches!(rule.origin, RuleOrigin::Capability(_));
        is_capability && rule.access > FsAccess::Hide && selection.ceiling.is_none()
    };
    let rules = selection.policy.fs.iter().zip(&facts.rules);
    for (rule, found) in rules.filter(|(rule, _)| is_checked(rule)) {
        let Some(source) = source(found, facts) else { continue };
        let trees = selection.confined.iter().filter(|confined| confined.path == rule.path);
        let mut trees: Vec<&HostPath> = trees.map(|confined| &confined.root).collect();
        // Without a tree it is its own, and so free of links.
        if trees.is_empty() {
            trees.push(&rule.path);
        }
        for root in &trees {
            if !source.path.is_within(&below_real_home(root, selection, facts)) {
                let root = (*root).clone();
                return Err(match root == rule.path {
                    true => PrepareError::ThroughLink { path: root },
                    false => PrepareError::LeadsOut { root },
                });
            }
        }
        if let Some(what) = becomes(rule, source, selection, facts) {
            // An argument's path is not told, its tree is.
            let root = trees.iter().min_by_key(|root| root.depth()).map_or(&rule.path, |root| root);
            return Err(PrepareError::LeadsTo { root: root.clone(), what });
        }
    }
    Ok(())
}

/// The path without the links that lead to the caller's home, which is the caller's own choice.
fn below_real_home(path: &HostPath, selection: &Selection, facts: &HostFacts) -> HostPath {
    let homes = (&selection.surroundings.home, &facts.caller.home);
    let (Some(written), Some(real)) = homes else { return path.clone() };
    let below = path.as_bytes().get(written.as_bytes().len()..).unwrap_or_default();
    match below {
        _ if !path.is_within(written) => path.clone(),
        [b'/', below @ ..] => real.join(below).unwrap_or_else(|_| path.clone()),
        _ => real.clone(),
    }
}

/// What a capability leads to that its text does not name, and that has to be named.
fn becomes(
    rule: &FsRule,
    found: &Source,
    selection: &Selection,
    facts: &HostFacts,
) -> Option<&'static str> {
    let real = &found.path;
    let is_writable = rule.access == FsAccess::ReadWrite;
    // The project of an executor is the directory of its code.
    if is_writable && real.is_within(&selection.place.project) {
        return Some("the executor's own code");
    }
    let named = below_real_home(&rule.path, selection, facts);
    if *real == named {
        return None;
    }
    let home = facts.caller.home.as_ref();
    let object = match found.kind {
        FileKind::Directory => Object::Directory,
        FileKind::File => Object::File,
    };
    let is_protected = |path| protected::holding(home, path, object).is_some();
    if is_writable && is_protected(real) && !is_protected(&named) {
        return Some("a file that runs code on the host");
    }
    let homes = facts.caller.home.as_slice();
    let is_broad = needs_a_grant_by_name(real, homes) && !needs_a_grant_by_name(&named, homes);
    is_broad.then_some("a home, a system tree or a secret")
}

fn source<'a>(found: &ResolvedRule, facts: &'a HostFacts) -> Option<&'a Source> {
    match found {
        ResolvedRule::Found { source, .. } => facts.sources.get(usize::try_from(source.0).ok()?),
        ResolvedRule::NothingToHide | ResolvedRule::AllowedAhead { .. } => None,
    }
}
