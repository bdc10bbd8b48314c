//! Well-known secrets that a grant would show although no rule names them. Looks only at paths of
//! the table, for the homes that a grant reaches; opens them for reference and never reads one.

use plan::HostPath;
use policy::FsAccess;
use policy::access::AccessMap;
use policy::secrets::{hidden_paths, table};

use super::caller::{account_homes, can_be_of_one_user};
use super::error::{PathProblem, Uncoverable};
use super::open::{OpenFailure, Opened};
use super::similar::names_in;
use super::sources::Sources;
use super::{Found, ResolveError, Stage};

#[cfg(test)]
mod tests;

/// Finds the secrets that exist inside grants, each once, none inside another.
pub(super) fn find(stage: &Stage<'_>, sources: &mut Sources) -> Result<Vec<Found>, ResolveError> {
    let mut candidates = own_state(stage);
    candidates.extend(in_homes(stage)?);
    candidates.sort_by(|one, other| one.path.cmp(&other.path));
    candidates.dedup_by(|one, other| one.path == other.path);
    let mut found: Vec<Found> = Vec::new();
    let mut problems = Vec::new();
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
    whose: Whose,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The cage of an unprivileged caller has the caller's rights.
    Caller,
    /// What the caller cannot reach there, its cage cannot reach either.
    SomebodyElse,
}

fn own_state(stage: &Stage<'_>) -> Vec<Candidate> {
    hidden_paths(None, stage.places.own_state)
        .into_iter()
        .filter(|hidden| is_shown_unasked(stage.access, &hidden.path))
        .map(|hidden| Candidate { path: hidden.path, name: hidden.name, whose: Whose::Caller })
        .collect()
}

/// The table's paths in every home that a grant reaches into.
fn in_homes(stage: &Stage<'_>) -> Result<Vec<Candidate>, ResolveError> {
    let mut candidates = Vec::new();
    for (home, whose) in homes(stage)? {
        for secret in secrets_reached(stage, &home) {
            let Ok(path) = home.join(secret.path) else { continue };
            if is_shown_unasked(stage.access, &path) {
                candidates.push(Candidate { path, name: secret.name, whose });
            }
        }
    }
    Ok(candidates)
}

/// The homes of the caller, by the variable and by its account, and of everybody whose home a
/// grant shows. A variable alone would not do: who moves it must not uncover what it named before.
fn homes(stage: &Stage<'_>) -> Result<Vec<(HostPath, Whose)>, ResolveError> {
    let own_id = rustix::process::geteuid().as_raw();
    let mut homes: Vec<_> =
        stage.places.home.iter().map(|home| ((*home).clone(), Whose::Caller)).collect();
    for account in account_homes()? {
        if account.uid == own_id {
            let real = stage.opener.anywhere(&account.home);
            homes.push((real.map_or(account.home, |opened| opened.path), Whose::Caller));
        } else {
            homes.push((account.home, Whose::SomebodyElse));
        }
    }
    // Accounts of a directory service are in no file; their homes are where homes are.
    if let Ok(shared) = HostPath::new("/home")
        && stage.access.level(&shared) > FsAccess::Hide
    {
        let names = names_in(shared.as_path());
        homes.extend(
            names
                .into_iter()
                .filter_map(|name| shared.join(name).ok())
                .map(|home| (home, Whose::SomebodyElse)),
        );
    }
    // The first mention counts: it says that the home is the caller's.
    let mut known = std::collections::HashSet::new();
    homes.retain(|(home, _)| can_be_of_one_user(home) && known.insert(home.clone()));
    Ok(homes)
}

/// The entries of the table that some grant may show. Most grants lie beside all of them, and one
/// comparison of bytes says so.
fn secrets_reached<'a>(
    stage: &'a Stage<'_>,
    home: &'a HostPath,
) -> Box<dyn Iterator<Item = &'static policy::secrets::Secret> + 'a> {
    if stage.access.level(home) > FsAccess::Hide {
        return Box::new(table().iter());
    }
    let inside: Vec<&[u8]> = stage
        .rules
        .iter()
        .filter(|placed| placed.rule.access > FsAccess::Hide)
        .filter_map(|placed| placed.rule.path.as_bytes().strip_prefix(home.as_bytes()))
        .filter_map(|rest| rest.strip_prefix(b"/"))
        .collect();
    let reached = move |secret: &&policy::secrets::Secret| {
        let path = secret.path.as_bytes();
        inside
            .iter()
            .any(|grant| path.strip_prefix(*grant).is_some_and(|rest| rest.first() == Some(&b'/')))
    };
    Box::new(table().iter().filter(reached))
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
        Err(OpenFailure::Denied) if candidate.whose == Whose::SomebodyElse => return Ok(None),
        Err(failure) => return Err(failure.into()),
    };
    if !is_shown_unasked(stage.access, &opened.path) {
        return Ok(None);
    }
    if opened.status.is_regular_file() && opened.status.links > 1 {
        return Err(PathProblem::HardLinks { links: opened.status.links });
    }
    Ok(Some(opened))
}
