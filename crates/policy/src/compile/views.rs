//! Views with a layer that the kernel cannot show: a process of ours does, and what the rules say about places inside is
//! its to hold, because nothing can be mounted in what is not served yet.

use plan::{
    Access, ByteString, HostPath, MountOp, NotByKernel, Overlay, Served, ServedFrom, ServedLayers,
};

use super::areas::{Area, Areas, Reason};
use super::error::{CompileError, RuleConflict};
use crate::{FsAccess, HostFacts};

/// The served view that a path is in, or is.
pub(super) fn served_around<'areas>(
    facts: &HostFacts,
    areas: &'areas Areas<'_>,
    path: &HostPath,
) -> Option<&'areas HostPath> {
    if facts.kept.served.is_empty() {
        return None;
    }
    let mut around = areas.iter().filter(|(above, _)| path.is_within(above));
    let is_served =
        |area: &Area<'_>| area.access.is_layered() && facts.kept.served.contains_key(&area.source);
    around.find(|(_, area)| is_served(area)).map(|(above, _)| above)
}

/// What cannot be shown inside one: anything else of the host.
pub(super) fn conflict(
    areas: &Areas<'_>,
    path: &HostPath,
    area: &Area<'_>,
) -> Option<RuleConflict> {
    let Reason::Rule(rule) = area.reason else { return None };
    let is_part = areas.above(path).is_some_and(|above| above.access == area.access);
    match area.access {
        FsAccess::Hide | FsAccess::ReadOnly => None,
        FsAccess::Cow | FsAccess::Cache if is_part => None,
        FsAccess::Cow | FsAccess::Cache | FsAccess::ReadWrite => {
            let (path, origin) = (path.clone(), rule.origin.clone());
            Some(RuleConflict::InsideServed { path, access: area.access, origin })
        }
    }
}

/// One, with what is hidden and what is only read in it.
pub(super) fn served(
    facts: &HostFacts,
    areas: &Areas<'_>,
    path: &HostPath,
    overlay: Overlay,
    why: NotByKernel,
) -> Result<MountOp, CompileError> {
    let Overlay { lower, area, at, mapping, purpose } = overlay;
    let inside = |is_wanted: fn(&Area<'_>) -> bool| {
        let inside = areas.iter().filter(move |(other, area)| {
            is_wanted(area) && *other != path && other.is_within(path)
        });
        let below = inside.filter_map(|(other, _)| {
            let below = other.as_bytes().strip_prefix(path.as_bytes())?;
            Some(ByteString::from(below.strip_prefix(b"/")?.to_vec()))
        });
        below.collect::<Vec<_>>()
    };
    let hidden = inside(Areas::is_hidden);
    let read_only = inside(|area| area.access == FsAccess::ReadOnly);
    let layers = ServedLayers { lower, area, mapping, purpose, why, hidden, read_only };
    let device = facts.fuse.ok_or(CompileError::bug("the device of FUSE was not looked for"))?;
    let (from, access) = (ServedFrom::Layers(layers), Access::ReadWrite);
    Ok(MountOp::Served(Served { at, from, access, device }))
}
