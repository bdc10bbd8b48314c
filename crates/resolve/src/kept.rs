//! Directories of the user's own that outlive a run: opened like what is granted, and described apart, because they
//! differ from start to start. And what a directory must be like to have a layer above it. Makes nothing.

use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::facts::{Kept, ResolvedRule};
use policy::{Home, Policy, State};

use super::error::PathProblem;
use super::open::{Opened, Opener};
use super::rules::PlacedRules;
use super::surroundings::KeptPlaces;
use super::{Ownership, ResolveError};

/// What was opened, in the order of the facts.
pub(super) struct OpenedKept {
    pub(super) facts: Kept,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// Opens what a policy has need of.
pub(super) fn open(
    policy: &Policy,
    rules: &PlacedRules,
    places: &KeptPlaces,
    opener: &Opener,
) -> Result<OpenedKept, ResolveError> {
    let mut kept = OpenedKept { facts: Kept::default(), descriptors: Vec::new() };
    let scratch = places.scratch.as_ref().filter(|_| policy.state == State::Scratch);
    let home = places.home.as_ref().filter(|_| policy.home == Home::Kept);
    let mut take = |path: &HostPath| -> Result<_, ResolveError> {
        let opened = open_one(path, opener)?;
        let source = opened.described();
        kept.descriptors.push(opened.descriptor);
        Ok(source)
    };
    kept.facts.scratch = scratch.map(&mut take).transpose()?;
    kept.facts.home = home.map(&mut take).transpose()?;
    for (rule, placed) in rules.with_places() {
        let ResolvedRule::Found { source, .. } = rule else { continue };
        let is_known = kept.facts.layers.iter().any(|(below, _)| below == source);
        if let Some(area) = places.layers.get(placed).filter(|_| !is_known) {
            kept.facts.layers.push((*source, take(area)?));
        }
    }
    Ok(kept)
}

fn open_one(path: &HostPath, opener: &Opener) -> Result<Opened, ResolveError> {
    let refused = |problem| ResolveError::Kept { path: path.clone(), problem };
    let opened = opener.without_links(path).map_err(|failure| refused(failure.into()))?;
    if opened.status.is_directory() { Ok(opened) } else { Err(refused(PathProblem::NotADirectory)) }
}

/// Whether a directory can have a layer above it: nothing of it could be changed if it were somebody else's, and
/// overlayfs shows nothing that is mounted below it.
pub(super) fn check_layered(opened: &Opened, ownership: &Ownership) -> Result<(), PathProblem> {
    if !opened.status.is_directory() {
        return Err(PathProblem::FileWithLayer);
    }
    let (own, own_group) = (rustix::process::geteuid(), rustix::process::getegid());
    let (owner, group) = opened.status.owner;
    if own.is_root() && !ownership.caller_owned {
        return Err(PathProblem::LayerOutside);
    }
    let as_whom = if own.is_root() { ownership.owner.0 } else { own.as_raw() };
    if owner != as_whom {
        return Err(PathProblem::LayerOverOthers { owner });
    }
    // A user can have no other group in a namespace, so that nothing of another one could be copied up.
    if !own.is_root() && group != own_group.as_raw() {
        return Err(PathProblem::LayerOfOtherGroup { group });
    }
    match mounted_below(&opened.path) {
        Some(place) => Err(PathProblem::MountedBelow { place }),
        None => Ok(()),
    }
}

/// The first mount below a directory. Where the table cannot be read none is known, and a view that
/// cannot be had is refused by the kernel.
fn mounted_below(directory: &HostPath) -> Option<HostPath> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    let places = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let place = line.split(|byte| *byte == b' ').nth(4)?;
        HostPath::new(unescape(place)).ok()
    });
    places.into_iter().find(|place| place != directory && place.is_within(directory))
}

/// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if let (b'\\', [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..]) =
            (first, tail)
        {
            bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
