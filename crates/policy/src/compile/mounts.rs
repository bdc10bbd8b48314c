//! Mounts of a policy: what the kernel can show by itself becomes memory or a link to what a rule of `fs` shows, the rest
//! is served by a process of ours.

use plan::{
    Access, Bind, BindPurpose, Execution, GuestPath, HostPath, INSIDE_PROGRAM, Mapping, MountOp,
    MountedFrom, Served, ServedFrom, TmpfsPurpose, TmpfsSize,
};

use super::areas::source;
use super::error::{CompileError, RuleConflict};
use super::tree::Tree;
use crate::facts::ResolvedRule;
use crate::{HostFacts, Mount, Policy};

/// Lays them where the cage has memory of its own and nothing in it.
pub(super) fn lay(tree: &mut Tree, policy: &Policy, facts: &HostFacts) -> Result<(), CompileError> {
    let mut conflicts = Vec::new();
    for (at, mount) in &policy.mounts {
        if !tree.is_free(at) {
            let (at, origin) = (at.clone(), mount.origin.clone());
            conflicts.push(RuleConflict::MountPlace { at, origin });
            continue;
        }
        tree.put(operation(policy, facts, at.clone(), mount)?);
    }
    if policy.mounts.values().any(|mount| matches!(mount.from, MountedFrom::Inside(_))) {
        tree.put(program(facts)?);
    }
    if conflicts.is_empty() { Ok(()) } else { Err(CompileError::Rules(conflicts)) }
}

/// What serves calls inside.
fn program(facts: &HostFacts) -> Result<MountOp, CompileError> {
    let source = facts.inside.ok_or(CompileError::bug("our own program was not looked for"))?;
    let at = GuestPath::new(INSIDE_PROGRAM)
        .map_err(|_| CompileError::bug("the place of our own program is none"))?;
    Ok(MountOp::Bind(Bind {
        source,
        at,
        access: Access::ReadOnly,
        execution: Execution::Allowed,
        mapping: Mapping::Plain,
        purpose: BindPurpose::Command,
    }))
}

fn operation(
    policy: &Policy,
    facts: &HostFacts,
    at: GuestPath,
    mount: &Mount,
) -> Result<MountOp, CompileError> {
    let from = match &mount.from {
        MountedFrom::Memory => {
            let (size, execution) = (TmpfsSize::PRIVATE, Execution::Allowed);
            let purpose = TmpfsPurpose::Private;
            return Ok(MountOp::Tmpfs { at, mode: 0o755, size, execution, purpose });
        }
        MountedFrom::Directory(path) => {
            let target = real_path(policy, facts, path)?.as_bytes().to_vec().into();
            return Ok(MountOp::Symlink { at, target });
        }
        MountedFrom::Store(path) => {
            let found = facts.stores.get(path);
            let (directory, name) = found.ok_or(CompileError::bug("a store was not looked for"))?;
            ServedFrom::Store { directory: *directory, name: name.clone() }
        }
        MountedFrom::Remote(store) => ServedFrom::Remote(store.clone()),
        MountedFrom::Inside(calls) => ServedFrom::Inside(calls.clone()),
    };
    let device = facts.fuse.ok_or(CompileError::bug("the device of FUSE was not looked for"))?;
    // What is asked is written, whatever comes of it.
    let access = match &from {
        ServedFrom::Inside(_) => Access::ReadWrite,
        ServedFrom::Store { .. } | ServedFrom::Remote(_) | ServedFrom::Layers(_) => mount.access,
    };
    Ok(MountOp::Served(Served { at, from, access, device }))
}

/// Where a directory is that a rule shows.
fn real_path<'facts>(
    policy: &Policy,
    facts: &'facts HostFacts,
    path: &HostPath,
) -> Result<&'facts HostPath, CompileError> {
    let found = policy.fs.iter().zip(&facts.rules).find_map(|(rule, resolved)| match resolved {
        ResolvedRule::Found { source, .. } if rule.path == *path => Some(*source),
        _ => None,
    });
    let found = found.ok_or(CompileError::bug("a mounted directory has no rule"))?;
    source(facts, found).map(|source| &source.path)
}
