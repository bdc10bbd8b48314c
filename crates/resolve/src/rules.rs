//! Opens the path of every rule, all problems at once. A project's rule is walked beneath the
//! project's root at every step; whatever a path leads to is judged again by where it really is.

use std::collections::HashSet;

use plan::HostPath;
use policy::facts::ResolvedRule;
use policy::protected::{self, Object};
use policy::{FsAccess, FsRule, Reach, RuleOrigin, ungrantable};
use rustix::fs::FileType;

use super::error::{PathProblem, RuleProblem};
use super::kept::check_layered;
use super::open::{OpenFailure, Opened, Opener, Status, is_shortage};
use super::similar::{most_similar, names_in};
use super::sockets::Listing;
use super::sources::Sources;
use super::traversal::Traversal;
use super::{Ownership, Places, ResolveError, Stage};

#[cfg(test)]
mod tests;

/// A rule whose path exists.
pub(super) struct PlacedRule {
    /// The rule with its path replaced by the real one.
    pub(super) rule: FsRule,
    /// Which of the policy's rules it is.
    position: usize,
    pub(super) status: Status,
    /// What a granted directory has in it.
    pub(super) listing: Option<Listing>,
}

/// What the rules came to.
pub(super) struct PlacedRules {
    /// One for each rule of the policy, in its order.
    pub(super) resolved: Vec<ResolvedRule>,
    /// Those whose path exists.
    pub(super) placed: Vec<PlacedRule>,
    /// Protected paths that do not exist, and that the user's own rules make writable.
    pub(super) allowed_ahead: Vec<HostPath>,
}

impl PlacedRules {
    /// Rules whose path exists and lies below a layer, with their real path and what is there.
    pub(super) fn with_places(&self) -> impl Iterator<Item = (&ResolvedRule, &FsRule, &Status)> {
        let layered = self.placed.iter().filter(|placed| placed.rule.access.is_layered());
        layered.filter_map(|placed| {
            Some((self.resolved.get(placed.position)?, &placed.rule, &placed.status))
        })
    }
}

/// Opens the path of every rule.
pub(super) fn resolve(
    rules: &[FsRule],
    places: &Places<'_>,
    opener: &Opener,
    sources: &mut Sources,
) -> Result<PlacedRules, ResolveError> {
    let mut resolved = Vec::with_capacity(rules.len());
    let mut placed = Vec::with_capacity(rules.len());
    let mut problems = Vec::new();
    let mut missing = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        let opened =
            open(rule, places, opener).and_then(|opened| look_into(opened, rule.access, opener));
        match opened {
            Ok(None) => resolved.push(ResolvedRule::NothingToHide),
            Ok(Some((opened, listing))) => {
                let status = opened.status;
                let path = opened.path.clone();
                let Ownership { owner, caller_owned } = places.ownership(&path, status.owner);
                let source = sources.add(opened)?;
                resolved.push(ResolvedRule::Found { source, owner, caller_owned });
                let FsRule { access, reach, ref origin, .. } = *rule;
                let rule = FsRule { access, path, reach, origin: origin.clone() };
                placed.push(PlacedRule { rule, position, status, listing });
            }
            // The next ones would fail for the same reason, which is not the policy's.
            Err(PathProblem::Kernel { call, errno }) if is_shortage(errno) => {
                return Err(ResolveError::kernel(call, &rule.path.to_string(), errno));
            }
            Err(PathProblem::Missing { similar }) if may_come(rule) => {
                let place = place_of_missing(rule, places, opener);
                let ahead = place.clone().unwrap_or_else(|| rule.path.clone());
                resolved.push(ResolvedRule::AllowedAhead { place: ahead });
                missing.push((rule, place, similar));
            }
            Err(problem) => problems.push(told(rule, problem)),
        }
    }
    let mut allowed_ahead = Vec::new();
    for (rule, place, similar) in missing {
        match place.filter(|place| is_in_writable_grant(place, &placed)) {
            Some(place) => allowed_ahead.push(place),
            None => problems.push(told(rule, PathProblem::Missing { similar })),
        }
    }
    if problems.is_empty() {
        problems = hidden_with_other_names(rules, &placed);
    }
    if problems.is_empty() {
        Ok(PlacedRules { resolved, placed, allowed_ahead })
    } else {
        Err(ResolveError::Rules(problems))
    }
}

/// Whether a path that does not exist may be made by the cage: the user's own rule names it, and without that it
/// would be set aside.
fn may_come(rule: &FsRule) -> bool {
    rule.access == FsAccess::ReadWrite
        && rule.reach == Reach::Anywhere
        && !matches!(rule.origin, RuleOrigin::Capability(_))
        && protected::matches(rule.path.as_bytes(), Object::Any).is_some()
}

/// Where something will be that does not exist: below the last directory on the way that does.
fn place_of_missing(rule: &FsRule, places: &Places<'_>, opener: &Opener) -> Option<HostPath> {
    let above = std::iter::successors(rule.path.parent(), HostPath::parent);
    let (directory, opened) = above.into_iter().find_map(|directory| {
        let opened = match below(&directory, places.project_as_given) {
            Some(relative) => opener.beneath(places.project, relative),
            None => opener.anywhere(&directory),
        };
        Some((directory, opened.ok()?))
    })?;
    opened.path.join(below(&rule.path, &directory)?).ok()
}

/// Whether a grant of a directory lets the cage make it, by a name that is protected there.
fn is_in_writable_grant(place: &HostPath, placed: &[PlacedRule]) -> bool {
    let above = placed.iter().filter(|rule| place.is_within(&rule.rule.path));
    let deepest = above.max_by_key(|rule| rule.rule.path.depth());
    deepest.is_some_and(|grant| {
        let relative = below(place, &grant.rule.path).unwrap_or_default();
        grant.rule.access == FsAccess::ReadWrite
            && grant.status.is_directory()
            && protected::matches(relative, Object::Any).is_some()
    })
}

/// Refuses rules that are written through a link which the cage could lead elsewhere.
pub(super) fn refuse_loose_links(rules: &[FsRule], stage: &Stage<'_>) -> Result<(), ResolveError> {
    let mut placed = stage.rules.iter().peekable();
    let mut problems = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        let real = placed.next_if(|placed| placed.position == position);
        if real.is_some_and(|real| is_written_without_links(rule, real, stage.places)) {
            continue;
        }
        let problem = Traversal::to(&rule.path).problem(stage.access);
        problems.extend(problem.map(|problem| told(rule, problem)));
    }
    if problems.is_empty() { Ok(()) } else { Err(ResolveError::Rules(problems)) }
}

/// Whether a rule's path is the real one, as far as it lies in the project.
fn is_written_without_links(rule: &FsRule, real: &PlacedRule, places: &Places<'_>) -> bool {
    match below(&rule.path, places.project_as_given) {
        Some(relative) => below(&real.rule.path, &places.project.path) == Some(relative),
        None => rule.path == real.rule.path,
    }
}

/// Looks into what a rule's path led to, if that is a directory and granted.
fn look_into(
    opened: Option<Opened>,
    access: FsAccess,
    opener: &Opener,
) -> Result<Option<(Opened, Option<Listing>)>, PathProblem> {
    let Some(opened) = opened else { return Ok(None) };
    if access == FsAccess::Hide || !opened.status.is_directory() {
        return Ok(Some((opened, None)));
    }
    let listing = match opener.list(&opened, Listing::of) {
        Ok(listing) => Some(listing),
        Err(errno) if is_shortage(errno) => {
            return Err(OpenFailure::Kernel { call: "openat2", errno }.into());
        }
        // A directory that the caller may not list is no less closed for its cage.
        Err(_) => None,
    };
    Ok(Some((opened, listing)))
}

/// Opens one rule's path, and judges what it led to. None where there is nothing to hide.
pub(super) fn open(
    rule: &FsRule,
    places: &Places<'_>,
    opener: &Opener,
) -> Result<Option<Opened>, PathProblem> {
    // A path in the project stays in it whoever named it: an earlier cage may have put a link
    // there, and the user who names it again means what it was before.
    let opened = match (below(&rule.path, places.project_as_given), rule.reach) {
        (Some(relative), _) => opener.beneath(places.project, relative),
        (None, Reach::Anywhere) => opener.anywhere(&rule.path),
        (None, Reach::BeneathProject) => Err(OpenFailure::Leaves),
    };
    let hides = rule.access == FsAccess::Hide;
    let opened = match opened {
        Ok(opened) => opened,
        Err(OpenFailure::Missing | OpenFailure::NotADirectory) if hides => return Ok(None),
        Err(OpenFailure::Missing) => {
            return Err(PathProblem::Missing { similar: similar(&rule.path) });
        }
        Err(failure) => return Err(failure.into()),
    };
    // Hiding gives nothing, so any kind of object at any place can be hidden.
    if hides {
        return Ok(Some(opened));
    }
    // The parser has judged the path as it was written; a link can lead to another one.
    ungrantable::check(&opened.path, places.own_state).map_err(|refusal| {
        PathProblem::Ungrantable { real: opened.path.clone(), reason: refusal.reason }
    })?;
    if let Some(kind) = wrong_kind(opened.status.file_type) {
        return Err(PathProblem::WrongKind { kind });
    }
    if rule.access.is_layered() {
        check_layered(&opened, &places.ownership(&opened.path, opened.status.owner))?;
    }
    Ok(Some(opened))
}

/// The part of a path below an ancestor, empty for the ancestor itself.
fn below<'a>(path: &'a HostPath, ancestor: &HostPath) -> Option<&'a [u8]> {
    let ancestor = match ancestor.as_bytes() {
        b"/" => b"",
        below_root => below_root,
    };
    match path.as_bytes().strip_prefix(ancestor)? {
        b"" => Some(b""),
        below => below.strip_prefix(b"/"),
    }
}

/// A socket is a door to whoever listens on it and a read-only mount does not close it; a device is
/// a door to the kernel; a FIFO to whoever holds its other end.
fn wrong_kind(file_type: FileType) -> Option<&'static str> {
    match file_type {
        FileType::Directory | FileType::RegularFile => None,
        FileType::Socket => Some("a socket"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("a device"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Symlink => Some("a symlink"),
        FileType::Unknown => Some("of an unknown kind"),
    }
}

/// A hidden file with several names stays readable by the others if a grant shows one of them. Only
/// a grant on the same file system can, and the one that covers the hidden name always might: on
/// layered file systems device numbers do not tell.
fn hidden_with_other_names(rules: &[FsRule], placed: &[PlacedRule]) -> Vec<RuleProblem> {
    let is_suspect = |rule: &&PlacedRule| {
        rule.rule.access == FsAccess::Hide && rule.status.is_regular_file() && rule.status.links > 1
    };
    let mut suspects = placed.iter().filter(is_suspect).peekable();
    if suspects.peek().is_none() {
        return Vec::new();
    }
    let grants = || placed.iter().filter(|rule| rule.rule.access != FsAccess::Hide);
    let devices: HashSet<u64> = grants().map(|grant| grant.status.device).collect();
    let exposed = |rule: &&PlacedRule| {
        devices.contains(&rule.status.device)
            || grants().any(|grant| rule.rule.path.is_within(&grant.rule.path))
    };
    suspects
        .filter(exposed)
        .map(|rule| {
            let written = rules.get(rule.position);
            let problem = PathProblem::HardLinks { links: rule.status.links };
            told(written.unwrap_or(&rule.rule), problem)
        })
        .collect()
}

fn told(rule: &FsRule, problem: PathProblem) -> RuleProblem {
    RuleProblem {
        path: rule.path.clone(),
        access: rule.access,
        origin: rule.origin.clone(),
        problem,
    }
}

/// A name that was probably meant: beside the first step that does not exist.
fn similar(path: &HostPath) -> Option<plan::ByteString> {
    let exists = |path: &HostPath| rustix::fs::lstat(path.as_path()).is_ok();
    let steps = path.ancestors_from_root().into_iter().skip(1).chain([path.clone()]);
    let missing = steps.into_iter().find(|step| !exists(step))?;
    let beside = missing.parent()?;
    let name = most_similar(missing.file_name()?, names_in(beside.as_path()))?;
    let rest = below(path, &missing)?;
    let mended = beside.join(name).ok()?.join(rest).ok()?;
    Some(plan::ByteString::from(mended.as_bytes()))
}
