//! The mounts that make the areas hold: grants, covers over what is hidden, read-only binds over
//! what is protected, pins. The most specific path wins in both directions.

use plan::{
    Access, Bind, BindPurpose, Execution, FileKind, GuestPath, HostPath, MountOp, Overlay,
    OverlayPurpose, SCRATCH, TmpfsPurpose, TmpfsSize,
};

use super::areas::{Area, Areas, Reason, source};
use super::base::is_home_private;
use super::error::{CompileError, RuleConflict};
use super::tree::Tree;
use super::views;
use crate::facts::ResolvedRule;
use crate::{FsAccess, FsRule, HostFacts, Policy, RuleOrigin};

/// Lays what the areas ask for over the base layer.
pub(super) fn lay(
    tree: &mut Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
    home: &GuestPath,
) -> Result<(), CompileError> {
    let mut conflicts = Vec::new();
    for (path, area) in areas.iter() {
        let at = GuestPath::same_as(path);
        if views::served_around(facts, areas, path).is_some_and(|view| view != path) {
            conflicts.extend(views::conflict(areas, path, area));
            continue;
        }
        match area.access {
            FsAccess::Hide if Areas::is_hidden(area) => hide(tree, areas, home, path, area),
            FsAccess::Hide => {}
            FsAccess::ReadOnly | FsAccess::Cache | FsAccess::Cow | FsAccess::ReadWrite => {
                conflicts.extend(show(tree, facts, areas, at, path, area)?);
            }
        }
    }
    for (path, index, mapping) in areas.pins() {
        tree.put(MountOp::Bind(Bind {
            source: *index,
            at: GuestPath::same_as(path),
            access: Access::ReadWrite,
            execution: Execution::Allowed,
            mapping: *mapping,
            purpose: BindPurpose::Pin,
        }));
    }
    if conflicts.is_empty() { Ok(()) } else { Err(CompileError::Rules(conflicts)) }
}

/// A grant is shown where the host has it. If it was written through a link, that name leads
/// there as well, as long as it lies in memory of the cage's own; elsewhere the host's own link is
/// shown or nothing is.
pub(super) fn lay_written_links(
    tree: &mut Tree,
    policy: &Policy,
    facts: &HostFacts,
) -> Result<(), CompileError> {
    let mut links = Vec::new();
    for (rule, resolved) in policy.fs.iter().zip(&facts.rules) {
        if let ResolvedRule::Found { source: index, .. } = resolved
            && rule.access != FsAccess::Hide
        {
            links.push((&rule.path, &source(facts, *index)?.path));
        }
    }
    // Shortest first: what lies below a link is reached through it.
    links.sort();
    for (written, real) in links {
        let at = GuestPath::same_as(written);
        if written != real && tree.is_free(&at) {
            tree.put(MountOp::Symlink { at, target: real.as_bytes().to_vec().into() });
        }
    }
    Ok(())
}

/// Covers a place that something wider would show; where nothing does, it is not there anyway.
fn hide(tree: &mut Tree, areas: &Areas<'_>, home: &GuestPath, path: &HostPath, area: &Area<'_>) {
    let at = GuestPath::same_as(path);
    if areas.above(path).is_none_or(|above| above.access == FsAccess::Hide) {
        match tree.base_bind_over(&at) {
            None => return,
            // The whole entry is hidden: it is left out.
            Some((entry, _)) if entry == at.as_bytes() => {
                tree.take_within(&at);
                return;
            }
            Some(_) => {}
        }
    }
    let private_home = is_home_private(areas, home) && home.is_within(&at);
    let node = match area.kind {
        // The cage's own home covers the caller's.
        FileKind::Directory if private_home && *home == at => return,
        FileKind::Directory if private_home || areas.has_grant_below(path) => MountOp::Tmpfs {
            at,
            mode: 0o555,
            size: HIDDEN_SIZE,
            execution: Execution::Refused,
            purpose: TmpfsPurpose::Hidden,
        },
        // In a view with a layer the program may have removed it in an earlier run.
        FileKind::Directory | FileKind::File if areas.is_layered_above(path) => {
            MountOp::MaskIfPresent { at }
        }
        FileKind::Directory | FileKind::File => MountOp::Mask { at, kind: area.kind },
    };
    tree.put(node);
}

/// Shows a place with the access that its area has, unless what is around it does so already.
fn show(
    tree: &mut Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
    at: GuestPath,
    path: &HostPath,
    area: &Area<'_>,
) -> Result<Option<RuleConflict>, CompileError> {
    let shown_by_above = areas
        .above(path)
        .is_some_and(|above| above.access == area.access && above.mapping == area.mapping);
    if shown_by_above {
        return Ok(None);
    }
    let access = match area.access {
        FsAccess::ReadWrite | FsAccess::Cow | FsAccess::Cache => Access::ReadWrite,
        FsAccess::ReadOnly | FsAccess::Hide => Access::ReadOnly,
    };
    let purpose = match area.reason {
        Reason::Rule(rule) => {
            match place_in_base(tree, facts, &at, rule, access) {
                PlaceInBase::Apart => {}
                PlaceInBase::AlreadyShown => return Ok(None),
                PlaceInBase::Refused(conflict) => return Ok(Some(conflict)),
            }
            BindPurpose::Grant
        }
        Reason::Secret | Reason::Protected => BindPurpose::Protected,
    };
    let overlaid = match area.access {
        FsAccess::Cow => Some(OverlayPurpose::Workspace),
        FsAccess::Cache => Some(OverlayPurpose::Cache),
        FsAccess::Hide | FsAccess::ReadOnly | FsAccess::ReadWrite => None,
    };
    let (source, mapping) = (area.source, area.mapping);
    tree.put(match overlaid {
        None => {
            let execution = Execution::Allowed;
            MountOp::Bind(Bind { source, at, access, execution, mapping, purpose })
        }
        Some(purpose) => {
            let above = facts.layer_above(source);
            let layer = above.ok_or(CompileError::NotKept("changes of a directory"))?;
            let overlay = Overlay { lower: source, area: layer, at, mapping, purpose };
            match facts.kept.served.get(&source) {
                None => MountOp::Overlay(overlay),
                Some(why) => views::served(facts, areas, path, overlay, *why)?,
            }
        }
    });
    Ok(None)
}

/// How a grant lies to the base layer.
enum PlaceInBase {
    Apart,
    AlreadyShown,
    Refused(RuleConflict),
}

fn place_in_base(
    tree: &mut Tree,
    facts: &HostFacts,
    at: &GuestPath,
    rule: &FsRule,
    access: Access,
) -> PlaceInBase {
    let refused = |conflict: fn(HostPath, RuleOrigin) -> RuleConflict| {
        PlaceInBase::Refused(conflict(rule.path.clone(), rule.origin.clone()))
    };
    let own_place = |path, origin| RuleConflict::OwnPlace { path, origin };
    let writable_system = |path, origin| RuleConflict::WritableSystem { path, origin };
    let is_below_one_of = |tops: &[&str]| {
        let is = |path: &[u8]| tops.iter().any(|top| top.as_bytes() == path);
        is(at.as_bytes()) || at.ancestors().any(is)
    };
    if OWN_PLACES.iter().any(|own| at.as_bytes() == own.as_bytes())
        || (facts.kept.scratch.is_some() && is_below_one_of(&[SCRATCH]))
    {
        return refused(own_place);
    }
    let writes = access == Access::ReadWrite;
    if writes && is_below_one_of(SYSTEM) && !is_below_one_of(SOURCES_IN_SYSTEM) {
        return refused(writable_system);
    }
    if let Some((_, base)) = tree.base_bind_over(at) {
        return if access == base { PlaceInBase::AlreadyShown } else { PlaceInBase::Apart };
    }
    // A wider grant shows what the base layer would.
    if !tree.take_within(at).is_empty() && writes {
        return refused(writable_system);
    }
    PlaceInBase::Apart
}

/// Room for mount points and nothing else.
const HIDDEN_SIZE: TmpfsSize = TmpfsSize { bytes: 1 << 20, inodes: 1 << 16 };

/// Where a cage has its own files.
const OWN_PLACES: &[&str] = &["/dev", "/proc", "/run", SCRATCH, "/tmp", "/var"];

/// What is the system's, whether a cage shows all of it or not.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot"];

/// Where people put projects inside it; containers often have theirs there.
const SOURCES_IN_SYSTEM: &[&str] = &["/usr/src", "/usr/local/src"];
