//! The directories between a read-write grant and what lies inside it under a stricter rule. The
//! compiler mounts each on itself: a directory that is a mount point cannot be renamed, and so the
//! path to the strict thing cannot be moved aside and built anew.

use std::collections::BTreeSet;

use plan::HostPath;
use policy::FsAccess;

use super::error::{PathProblem, Uncoverable};
use super::open::OpenFailure;
use super::sources::Sources;
use super::{Found, ResolveError, Stage};

/// Opens those directories, each once, parents first.
pub(super) fn find<'a>(
    stage: &Stage<'_>,
    covered: impl Iterator<Item = &'a Found>,
    sources: &mut Sources,
) -> Result<Vec<Found>, ResolveError> {
    let stricter = stage.rules.iter().filter(|placed| placed.rule.access != FsAccess::ReadWrite);
    let targets = stricter.map(|placed| &placed.rule.path).chain(covered.map(|found| &found.path));
    let mut directories = BTreeSet::new();
    for target in targets {
        add_between(stage, target, &mut directories);
    }
    let mut found = Vec::with_capacity(directories.len());
    for directory in directories {
        let opened = stage.opener.without_links(&directory).map_err(|failure| {
            let problem = match failure {
                // What was found below it a moment ago is gone with it, or a link is in its place.
                OpenFailure::Missing | OpenFailure::NotADirectory | OpenFailure::Loop => {
                    PathProblem::Moved
                }
                failure => failure.into(),
            };
            let known_as = "a directory above a hidden or protected path";
            ResolveError::Uncoverable(vec![Uncoverable { path: directory, known_as, problem }])
        })?;
        found.push(stage.found(opened, "", sources)?);
    }
    Ok(found)
}

/// The directories strictly between a path and the rule that decides above it, if that rule lets
/// the cage rename things.
fn add_between(stage: &Stage<'_>, target: &HostPath, directories: &mut BTreeSet<HostPath>) {
    let Some(rule) = stage.access.above(target) else {
        return;
    };
    if rule.access != FsAccess::ReadWrite {
        return;
    }
    let above = std::iter::successors(target.parent(), HostPath::parent);
    for directory in above.take_while(|directory| *directory != rule.path) {
        // Whoever put it in has put in those above it, too.
        if !directories.insert(directory) {
            break;
        }
    }
}
