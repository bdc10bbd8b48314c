//! Files inside read-write grants that run code on the host: found so that the compiler can keep
//! them read-only. Walks the top of each such grant in breadth, within a bound and never through a
//! link; what lies deeper is watched by the sweep after the run.

mod git;
mod walk;

use std::collections::BTreeMap;

use plan::HostPath;
use policy::protected::{Entry, Object};
use policy::{FsAccess, Reach};

use super::error::{PathProblem, RuleProblem, Uncoverable};
use super::open::{OpenFailure, Opened};
use super::sources::Sources;
use super::{Found, ResolveError, Stage};
use crate::protected_names::ProtectedNames;

#[cfg(test)]
mod tests;

/// Finds the protected files and directories that exist, each once, none inside another.
pub(super) fn find(
    stage: &Stage<'_>,
    secrets: &[Found],
    policy_files: &[HostPath],
    sources: &mut Sources,
) -> Result<Vec<Found>, ResolveError> {
    refuse_grants_by_the_project(stage)?;
    let mut search = Search { stage, secrets, found: BTreeMap::new(), problems: Vec::new() };
    for file in policy_files {
        search.at(file, POLICY_FILE);
    }
    let writable = stage
        .rules
        .iter()
        .filter(|placed| placed.rule.access == FsAccess::ReadWrite && placed.status.is_directory());
    for grant in writable {
        walk::walk(&mut search, &grant.rule.path);
    }
    if !search.problems.is_empty() {
        return Err(ResolveError::Uncoverable(search.problems));
    }
    let mut outermost: Vec<Found> = Vec::new();
    // In the order of paths a directory comes before what it holds, though not always directly.
    for (path, (opened, entry)) in search.found {
        let inside = std::iter::successors(path.parent(), HostPath::parent)
            .any(|above| outermost.iter().any(|found| found.path == above));
        if !inside {
            outermost.push(stage.found(opened, entry, sources)?);
        }
    }
    Ok(outermost)
}

/// A project's file may not make writable what runs code outside the cage: a repository could else
/// bring a policy that opens its own hooks. The user's own rules may, by naming exactly that.
fn refuse_grants_by_the_project(stage: &Stage<'_>) -> Result<(), ResolveError> {
    let names = ProtectedNames::shared();
    let mut problems = Vec::new();
    for placed in stage.rules {
        let rule = &placed.rule;
        if rule.access != FsAccess::ReadWrite || rule.reach != Reach::BeneathProject {
            continue;
        }
        let below = rule.path.as_path().strip_prefix(stage.places.project.path.as_path());
        let Ok(below) = below else { continue };
        let object = if placed.status.is_directory() { Object::Directory } else { Object::File };
        let relative = std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str());
        if let Some(entry) = names.covering(relative, object) {
            problems.push(RuleProblem {
                path: rule.path.clone(),
                access: rule.access,
                origin: rule.origin.clone(),
                problem: PathProblem::Protected { runs_by: entry.runs_by },
            });
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(ResolveError::Rules(problems)) }
}

/// A search and what it has found.
struct Search<'a> {
    stage: &'a Stage<'a>,
    secrets: &'a [Found],
    found: BTreeMap<HostPath, (Opened, &'static str)>,
    problems: Vec<Uncoverable>,
}

impl Search<'_> {
    /// Protects whatever a path leads to, if the cage could write there.
    fn at(&mut self, path: &HostPath, known_as: &'static str) {
        match self.stage.opener.anywhere(path) {
            Ok(opened) => self.take(opened, known_as),
            Err(failure) => self.fail(path, known_as, failure),
        }
    }

    /// Protects an object, if the cage could write to it.
    fn take(&mut self, opened: Opened, known_as: &'static str) {
        if !self.is_exposed(&opened.path) || self.found.contains_key(&opened.path) {
            return;
        }
        // Written by another name, it would change under its cover.
        if opened.status.is_regular_file() && opened.status.links > 1 {
            let problem = PathProblem::HardLinks { links: opened.status.links };
            self.problems.push(Uncoverable { path: opened.path, known_as, problem });
            return;
        }
        self.found.insert(opened.path.clone(), (opened, known_as));
    }

    /// What does not exist needs no cover; what the caller cannot reach, its cage could make
    /// reachable if it owns the directories on the way.
    fn fail(&mut self, path: &HostPath, known_as: &'static str, failure: OpenFailure) {
        match failure {
            OpenFailure::Missing
            | OpenFailure::NotADirectory
            | OpenFailure::MagicLink
            | OpenFailure::Leaves
            | OpenFailure::Loop
            | OpenFailure::TooLong => {}
            OpenFailure::Denied if !self.stage.caller_could_open_up(path) => {}
            OpenFailure::Denied | OpenFailure::Moved | OpenFailure::Kernel { .. } => {
                let problem = failure.into();
                self.problems.push(Uncoverable { path: path.clone(), known_as, problem });
            }
        }
    }

    /// Whether the cage could write there: a read-write rule decides, and it is not the very rule
    /// on this path, by which the user has asked for just that.
    fn is_exposed(&self, path: &HostPath) -> bool {
        let decided = self.stage.access.at(path);
        decided.is_some_and(|rule| rule.access == FsAccess::ReadWrite && rule.path != *path)
            && !self.secrets.iter().any(|secret| path.is_within(&secret.path))
    }
}

fn known_as(entry: &'static Entry) -> &'static str {
    entry.pattern
}

const POLICY_FILE: &str = "the policy file";
