//! What holds at each place of the host once links are resolved: the policy's rules, the secrets
//! that stay hidden and the files that stay read-only, by real path. The deepest entry at or above
//! a path decides. Says what should hold; `grants` says with which mounts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use plan::{FileKind, HostPath, Mapping, Source, SourceIndex};
use walls::Wall;

use super::error::{CompileError, RuleConflict};
use crate::facts::{FoundPath, ResolvedRule};
use crate::{FsAccess, FsRule, HostFacts, Policy, Reach};

/// All places that something is said about.
pub(super) struct Areas<'policy> {
    by_path: BTreeMap<HostPath, Area<'policy>>,
    /// Directories that may have to be pinned, parents first.
    between: Vec<(HostPath, SourceIndex, Mapping)>,
}

/// One place and what lies below it.
#[derive(Clone, Copy)]
pub(super) struct Area<'policy> {
    pub(super) access: FsAccess,
    pub(super) source: SourceIndex,
    pub(super) kind: FileKind,
    pub(super) mapping: Mapping,
    pub(super) reason: Reason<'policy>,
}

/// Why an area is as it is.
#[derive(Clone, Copy)]
pub(super) enum Reason<'policy> {
    /// A rule says so.
    Rule(&'policy FsRule),
    /// A well-known secret inside a grant.
    Secret,
    /// A file that runs code on the host, inside a read-write grant.
    Protected,
}

impl<'policy> Areas<'policy> {
    pub(super) fn new(policy: &'policy Policy, facts: &HostFacts) -> Result<Self, CompileError> {
        let mut areas = Self { by_path: BTreeMap::new(), between: Vec::new() };
        areas.add_rules(policy, facts)?;
        for found in &facts.secrets {
            let (path, area) = found_area(facts, found, FsAccess::Hide, Reason::Secret)?;
            // A rule on the very path has named the secret; it decides.
            areas.by_path.entry(path).or_insert(area);
        }
        areas.add_protected(facts)?;
        for found in &facts.between {
            let source = source(facts, found.source)?;
            let mapping = mapping(facts, found.owner, found.caller_owned);
            areas.between.push((source.path.clone(), found.source, mapping));
        }
        Ok(areas)
    }

    /// Every area, parents first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&HostPath, &Area<'policy>)> {
        self.by_path.iter()
    }

    /// The area that decides at a path.
    pub(super) fn at(&self, path: &HostPath) -> Option<&Area<'policy>> {
        self.by_path.get(path).or_else(|| self.above(path))
    }

    /// The area that decides at a path from above.
    pub(super) fn above(&self, path: &HostPath) -> Option<&Area<'policy>> {
        path.ancestors().find_map(|ancestor| self.by_path.get(ancestor))
    }

    /// Whether a place is covered, so that nothing of the host's shows there.
    pub(super) fn is_hidden(area: &Area<'_>) -> bool {
        area.access == FsAccess::Hide && walls::stands(Wall::HiddenPaths)
    }

    /// Whether a path lies in a view with a layer of ours above the host's files.
    pub(super) fn is_layered_above(&self, path: &HostPath) -> bool {
        self.above(path).is_some_and(|above| above.access.is_layered())
    }

    /// What may be done at a path; hidden and not spoken of are the same.
    pub(super) fn access(&self, path: &HostPath) -> FsAccess {
        self.at(path).map_or(FsAccess::Hide, |area| area.access)
    }

    /// Whether something is granted strictly below a path.
    pub(super) fn has_grant_below(&self, path: &HostPath) -> bool {
        let from: (Bound<&HostPath>, Bound<&HostPath>) = (Bound::Excluded(path), Bound::Unbounded);
        // Between a path and what lies below it others can stand: `/a`, `/a-b`, `/a/b`.
        let possible = self
            .by_path
            .range::<HostPath, _>(from)
            .take_while(|(other, _)| other.as_bytes().starts_with(path.as_bytes()));
        possible
            .into_iter()
            .any(|(other, area)| other.is_within(path) && area.access != FsAccess::Hide)
    }

    /// Directories above a hidden or protected path that the cage could otherwise rename.
    pub(super) fn pins(&self) -> impl Iterator<Item = &(HostPath, SourceIndex, Mapping)> {
        self.between.iter().filter(|(path, ..)| {
            !self.by_path.contains_key(path) && self.access(path) == FsAccess::ReadWrite
        })
    }

    /// Directories in which files that run code on the host must not appear: every read-write
    /// grant that does not lie in another.
    pub(super) fn watched(&self) -> Vec<HostPath> {
        let is_top = |path: &HostPath| {
            self.above(path).is_none_or(|above| above.access != FsAccess::ReadWrite)
        };
        self.by_path
            .iter()
            .filter(|(path, area)| {
                area.access == FsAccess::ReadWrite
                    && area.kind == FileKind::Directory
                    && is_top(path)
            })
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn add_rules(
        &mut self,
        policy: &'policy Policy,
        facts: &HostFacts,
    ) -> Result<(), CompileError> {
        let mut conflicts = Vec::new();
        for (rule, resolved) in policy.fs.iter().zip(&facts.rules) {
            let ResolvedRule::Found { source: index, owner, caller_owned } = resolved else {
                continue;
            };
            let source = source(facts, *index)?;
            let area = Area {
                access: rule.access,
                source: *index,
                kind: source.kind,
                mapping: mapping(facts, *owner, *caller_owned),
                reason: Reason::Rule(rule),
            };
            match self.by_path.entry(source.path.clone()) {
                Entry::Vacant(place) => {
                    place.insert(area);
                }
                Entry::Occupied(place) => {
                    conflicts.extend(conflict(place.key(), place.get(), rule))
                }
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(CompileError::Rules(conflicts)) }
    }

    fn add_protected(&mut self, facts: &HostFacts) -> Result<(), CompileError> {
        for found in &facts.protected {
            let (path, area) = found_area(facts, found, FsAccess::ReadOnly, Reason::Protected)?;
            if self.access(&path) == FsAccess::ReadWrite {
                self.by_path.insert(path, area);
            }
        }
        // A project's own file cannot lift the protection from inside a protected directory.
        let lifted: Vec<HostPath> = self
            .by_path
            .iter()
            .filter(|(path, area)| {
                let from_project = matches!(area.reason, Reason::Rule(rule)
                    if rule.access == FsAccess::ReadWrite && rule.reach == Reach::BeneathProject);
                from_project
                    && self
                        .above(path)
                        .is_some_and(|above| matches!(above.reason, Reason::Protected))
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in lifted {
            self.by_path.remove(&path);
        }
        Ok(())
    }
}

/// K236: the same thing said twice is said once; different things at one place are an error, since
/// either choice would surprise someone.
fn conflict(path: &HostPath, known: &Area<'_>, rule: &FsRule) -> Option<RuleConflict> {
    let Reason::Rule(first) = known.reason else { return None };
    (first.access != rule.access).then(|| RuleConflict::SamePlace {
        path: path.clone(),
        first: first.access,
        first_origin: first.origin.clone(),
        second: rule.access,
        second_origin: rule.origin.clone(),
    })
}

fn found_area<'policy>(
    facts: &HostFacts,
    found: &FoundPath,
    access: FsAccess,
    reason: Reason<'policy>,
) -> Result<(HostPath, Area<'policy>), CompileError> {
    let source = source(facts, found.source)?;
    let mapping = mapping(facts, found.owner, found.caller_owned);
    let area = Area { access, source: found.source, kind: source.kind, mapping, reason };
    Ok((source.path.clone(), area))
}

/// The object behind an index of the facts.
pub(super) fn source(facts: &HostFacts, index: SourceIndex) -> Result<&Source, CompileError> {
    usize::try_from(index.0)
        .ok()
        .and_then(|index| facts.sources.get(index))
        .ok_or_else(|| CompileError::bug("a fact refers to an object that was not opened"))
}

/// Only the cages of a privileged caller need a mapping, and only for what is the caller's: files
/// of the system keep their owners, so that what only root may read stays unreadable (T64).
fn mapping(facts: &HostFacts, owner: (u32, u32), caller_owned: bool) -> Mapping {
    if facts.caller.privileged && caller_owned {
        Mapping::Owner { uid: owner.0, gid: owner.1 }
    } else {
        Mapping::Plain
    }
}
