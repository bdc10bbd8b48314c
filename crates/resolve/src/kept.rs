//! Directories of the user's own that outlive a run: opened like what is granted, and described apart, because they
//! differ from start to start. And what a directory must be like to have a layer above it. Makes nothing.

use std::os::fd::OwnedFd;

use plan::{HostPath, NotByKernel};
use policy::facts::{Kept, ResolvedRule};
use policy::{FsRule, Home, Policy, State};

use super::error::{PathProblem, RuleProblem};
use super::open::{Opened, Opener, Status};
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
    for (rule, placed, status) in rules.with_places() {
        let ResolvedRule::Found { source, owner, .. } = rule else { continue };
        let is_known = kept.facts.layers.iter().any(|(below, _)| below == source);
        if let Some(area) = places.layers.get(&placed.path).filter(|_| !is_known) {
            kept.facts.layers.push((*source, take(area)?));
            if let Some(why) = not_by_kernel(status, *owner) {
                kept.facts.served.insert(*source, why);
            }
        }
    }
    Ok(kept)
}

/// Whether a process of ours has to show one of the views that are wanted.
pub(super) fn any_is_served(rules: &PlacedRules) -> bool {
    served(rules).next().is_some()
}

/// What to say of each, where such a process has no device to do so.
pub(super) fn without_device(rules: &PlacedRules, error: ResolveError) -> ResolveError {
    let ResolveError::Device { why: device, .. } = error else { return error };
    let problems = served(rules).map(|(rule, why)| RuleProblem {
        path: rule.path.clone(),
        access: rule.access,
        origin: rule.origin.clone(),
        problem: PathProblem::OnlyServed { why, device },
    });
    ResolveError::Rules(problems.collect())
}

fn served(rules: &PlacedRules) -> impl Iterator<Item = (&FsRule, NotByKernel)> {
    rules.with_places().filter_map(|(rule, placed, status)| match rule {
        ResolvedRule::Found { owner, .. } => Some((placed, not_by_kernel(status, *owner)?)),
        ResolvedRule::NothingToHide | ResolvedRule::AllowedAhead { .. } => None,
    })
}

/// Why the kernel cannot lay a layer over a directory, if it cannot: overlayfs copies a file with its owner and group,
/// and in a cage's namespace there are no others than the cage's own. For root these are `owner`'s, whose files its
/// cages have as their own.
fn not_by_kernel(status: &Status, owner: (u32, u32)) -> Option<NotByKernel> {
    let (own, own_group) = (rustix::process::geteuid(), rustix::process::getegid());
    let (uid, gid) = status.owner;
    if own.is_root() {
        return if uid != owner.0 {
            Some(NotByKernel::OtherOwner { uid })
        } else if is_older(&rustix::system::uname().release().to_string_lossy(), IDMAPPED_LAYERS) {
            Some(NotByKernel::OldKernel)
        } else {
            None
        };
    }
    if uid != own.as_raw() {
        return Some(NotByKernel::OtherOwner { uid });
    }
    (gid != own_group.as_raw()).then_some(NotByKernel::OtherGroup { gid })
}

/// Whether a kernel is older than a version. One whose name says nothing is taken to be new.
fn is_older(release: &str, than: (u32, u32)) -> bool {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number().zip(number()).is_some_and(|version| version < than)
}

fn open_one(path: &HostPath, opener: &Opener) -> Result<Opened, ResolveError> {
    let refused = |problem| ResolveError::Kept { path: path.clone(), problem };
    let opened = opener.without_links(path).map_err(|failure| refused(failure.into()))?;
    if opened.status.is_directory() { Ok(opened) } else { Err(refused(PathProblem::NotADirectory)) }
}

/// Whether a directory can have a layer above it, made by the kernel or by a process of ours: neither shows what is mounted
/// below it, and of root's directories outside the project and the home a cage has no more than everybody.
pub(super) fn check_layered(opened: &Opened, ownership: &Ownership) -> Result<(), PathProblem> {
    if !opened.status.is_directory() {
        return Err(PathProblem::FileWithLayer);
    }
    if rustix::process::geteuid().is_root() && !ownership.caller_owned {
        return Err(PathProblem::LayerOutside);
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

/// The first Linux whose overlayfs takes layers with mapped owners.
const IDMAPPED_LAYERS: (u32, u32) = (5, 19);

#[cfg(test)]
mod tests;
