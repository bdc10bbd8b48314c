//! Well-known secrets that a grant would show although no rule names them. Looks only at paths of
//! the table, for the homes that a grant reaches; opens them for reference and never reads one.

use std::collections::HashSet;

use plan::HostPath;
use policy::FsAccess;
use policy::access::AccessMap;
use policy::secrets::{HiddenPath, Secret, conventional_home_of, hidden_paths, table};

use super::caller::{AccountHome, account_homes, can_be_of_one_user};
use super::error::{OwnMissing, PathProblem, Uncoverable};
use super::open::{OpenFailure, Opened};
use super::similar::names_in;
use super::sources::Sources;
use super::traversal::Traversal;
use super::{Found, ResolveError, Stage};

#[cfg(test)]
mod tests;

/// Finds the secrets that exist inside grants, each once, none inside another.
pub(super) fn find(stage: &Stage<'_>, sources: &mut Sources) -> Result<Vec<Found>, ResolveError> {
    let mut problems = Vec::new();
    let mut candidates = own_state(stage, &mut problems)?;
    candidates.extend(in_homes(stage)?);
    candidates.sort_by(|one, other| one.path.cmp(&other.path));
    candidates.dedup_by(|one, other| one.path == other.path);
    let mut found: Vec<Found> = Vec::new();
    for candidate in candidates {
        match open(stage, &candidate) {
            Ok(None) => {}
            Ok(Some(opened)) => {
                // A directory that is hidden as a whole hides what it holds. Two paths can lead to
                // one place by links, in any order.
                if found.iter().any(|hidden| opened.path.is_within(&hidden.path)) {
                    continue;
                }
                found.retain(|hidden| !hidden.path.is_within(&opened.path));
                found.push(stage.found(opened, candidate.name, sources)?);
            }
            // Our own places may be among the secrets of a home.
            Err(_) if problems.iter().any(|known| known.path == candidate.path) => {}
            Err(problem) => problems.push(Uncoverable {
                path: candidate.path,
                known_as: candidate.name,
                problem,
            }),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(ResolveError::Uncoverable(problems)) }
}

/// A path that may hold a secret.
struct Candidate {
    path: HostPath,
    name: &'static str,
}

/// Our own directories, where they really are. One that a cage could make, or lead elsewhere, would be
/// the next run's configuration.
fn own_state(
    stage: &Stage<'_>,
    problems: &mut Vec<Uncoverable>,
) -> Result<Vec<Candidate>, ResolveError> {
    let mut candidates = Vec::new();
    let mut missing = Vec::new();
    for HiddenPath { path, name } in hidden_paths(None, stage.places.own_state) {
        let traversal = Traversal::to(&path);
        if let Some(problem) = traversal.problem(stage.access) {
            problems.push(Uncoverable { path, known_as: name, problem });
        } else if traversal.is_whole {
            candidates.push(Candidate { path: traversal.place, name });
        } else if stage.access.level(&traversal.place) == FsAccess::ReadWrite {
            missing.push(OwnMissing { path });
        }
    }
    candidates.retain(|candidate| is_shown_unasked(stage.access, &candidate.path));
    // Nothing is to be made for a cage that is refused anyway.
    let is_refused = !problems.is_empty();
    if missing.is_empty() || is_refused {
        Ok(candidates)
    } else {
        Err(ResolveError::OwnMissing(missing))
    }
}

/// The table's paths in every home that a grant reaches into.
fn in_homes(stage: &Stage<'_>) -> Result<Vec<Candidate>, ResolveError> {
    let mut candidates = Vec::new();
    for home in homes(stage)? {
        for secret in secrets_reached(stage, &home) {
            let Ok(path) = home.join(secret.path) else { continue };
            if is_shown_unasked(stage.access, &path) {
                candidates.push(Candidate { path, name: secret.name });
            }
        }
    }
    Ok(candidates)
}

/// The homes of the caller, by the variable and by its account, and of everybody whose home a
/// grant shows. A variable alone would not do: who moves it must not uncover what it named before.
fn homes(stage: &Stage<'_>) -> Result<Vec<HostPath>, ResolveError> {
    let own_id = rustix::process::geteuid().as_raw();
    let mut homes: Vec<HostPath> = stage.places.home.into_iter().cloned().collect();
    for AccountHome { uid, home } in account_homes()? {
        if uid == own_id {
            homes.push(stage.opener.anywhere(&home).map_or(home, |opened| opened.path));
        } else {
            homes.push(home);
        }
    }
    // Accounts of a directory service are in no file; their homes are where homes are.
    if let Ok(shared) = HostPath::new("/home")
        && stage.access.level(&shared) > FsAccess::Hide
    {
        let names = names_in(shared.as_path());
        homes.extend(names.into_iter().filter_map(|name| shared.join(name).ok()));
    }
    // And of one whose home a grant is, or lies in.
    let granted = stage.rules.iter().filter(|placed| placed.rule.access > FsAccess::Hide);
    homes.extend(granted.filter_map(|placed| conventional_home_of(&placed.rule.path)));
    let mut known = HashSet::new();
    homes.retain(|home| can_be_of_one_user(home) && known.insert(home.clone()));
    Ok(homes)
}

/// The entries of the table that some grant may show: all if one shows the home, else those inside
/// a granted directory of it. Asks once for each entry, however many grants there are.
fn secrets_reached(stage: &Stage<'_>, home: &HostPath) -> Vec<&'static Secret> {
    if stage.access.level(home) > FsAccess::Hide {
        return table().iter().collect();
    }
    let inside: HashSet<&[u8]> = stage
        .rules
        .iter()
        .filter(|placed| placed.rule.access > FsAccess::Hide)
        .filter_map(|placed| placed.rule.path.as_bytes().strip_prefix(home.as_bytes()))
        .filter_map(|below| below.strip_prefix(b"/"))
        .collect();
    if inside.is_empty() {
        return Vec::new();
    }
    let is_inside = |secret: &&Secret| {
        let slashes = secret.path.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
        let mut above = slashes.filter_map(|(end, _)| secret.path.as_bytes().get(..end));
        above.any(|directory| inside.contains(directory))
    };
    table().iter().filter(is_inside).collect()
}

/// Whether a path would be seen although no rule names it: a wider grant covers it.
fn is_shown_unasked(access: &AccessMap<'_>, path: &HostPath) -> bool {
    access.at(path).is_some_and(|rule| rule.access > FsAccess::Hide && rule.path != *path)
}

/// Opens a candidate where it really is, if that place is shown.
fn open(stage: &Stage<'_>, candidate: &Candidate) -> Result<Option<Opened>, PathProblem> {
    let opened = match stage.opener.anywhere(&candidate.path) {
        Ok(opened) => opened,
        Err(OpenFailure::Missing | OpenFailure::NotADirectory | OpenFailure::MagicLink) => {
            return Ok(None);
        }
        // A link that leads in a circle leads nowhere.
        Err(OpenFailure::Loop | OpenFailure::TooLong) => return Ok(None),
        Err(OpenFailure::Denied) if !stage.caller_could_open_up(&candidate.path) => {
            return Ok(None);
        }
        Err(failure) => return Err(failure.into()),
    };
    if !is_shown_unasked(stage.access, &opened.path) {
        return Ok(None);
    }
    if opened.path != candidate.path
        && let Some(problem) = Traversal::to(&candidate.path).problem(stage.access)
    {
        return Err(problem);
    }
    if opened.status.is_regular_file() && opened.status.links > 1 {
        return Err(PathProblem::HardLinks { links: opened.status.links });
    }
    Ok(Some(opened))
}
