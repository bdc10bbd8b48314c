//! Second names (hard links) of files that a directory hides or keeps read-only: a cover over the directory
//! does not reach a name beside it. Looks at numbers and counts of links, and only where there are files with
//! several names does it look for the others in what the cage is shown. Never opens a file.

mod walk;

use std::collections::{HashMap, HashSet};

use plan::{FileKind, HostPath};
use policy::FsAccess;

use super::error::{PathProblem, Uncoverable};
use super::open::{Opened, Status};
use super::sources::Sources;
use super::{Found, ResolveError, Stage};
use walk::{Incomplete, Walk};

#[cfg(test)]
mod tests;

/// What is covered inside grants.
pub(super) struct Covered<'a> {
    /// Hidden although no rule names it.
    pub(super) secrets: &'a [Found],
    /// Read-only although a rule makes it writable.
    pub(super) protected: &'a [Found],
}

/// Refuses files that could be reached past the directory that covers them.
pub(super) fn refuse(
    stage: &Stage<'_>,
    covered: &Covered<'_>,
    sources: &Sources,
) -> Result<(), ResolveError> {
    let parts = parts(stage, covered, sources);
    if parts.is_empty() {
        return Ok(());
    }
    let covered = parts.iter().map(|part| part.path).collect();
    let suspects = HashMap::new();
    let mut search = Search { stage, parts: &parts, covered, suspects, names_left: MOST_NAMES };
    let problems = match search.collect() {
        Err(part) => vec![part.problem(PathProblem::TooManyFiles)],
        Ok(()) => {
            search.suspects.retain(|_, suspect| suspect.names < suspect.links);
            search.elsewhere()
        }
    };
    if problems.is_empty() { Ok(()) } else { Err(ResolveError::Uncoverable(problems)) }
}

/// The other names of a file in what the cage may write to; nothing where there is too much to search.
pub(super) fn of(stage: &Stage<'_>, file: &Opened) -> Option<Vec<HostPath>> {
    let key = (file.status.device, file.status.inode);
    let wanted = usize::try_from(file.status.links).unwrap_or(usize::MAX).saturating_sub(1);
    let mut found = Vec::new();
    let mut names_left = MOST_NAMES;
    // Cargo puts the second name of a program into a directory beside the first one.
    let near = file.path.parent();
    let grants = stage.rules.iter().filter(|placed| placed.rule.access == FsAccess::ReadWrite);
    for root in near.iter().chain(grants.map(|placed| &placed.rule.path)) {
        let mut walk = Walk::new(stage, root, &mut names_left);
        let searched = walk.each_file(
            |_| true,
            |entry| {
                if entry.may_be(key.1) && entry.status().is_some_and(|status| status.key() == key) {
                    let path = entry.path();
                    found.extend(path.filter(|path| *path != file.path && !found.contains(path)));
                }
                found.len() < wanted
            },
        );
        if found.len() >= wanted {
            break;
        }
        searched.ok()?;
    }
    Some(found)
}

/// How files below a directory are kept from the program, in the order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cover {
    ReadOnly,
    Hidden,
}

/// A path that is covered inside a grant.
struct Part<'a> {
    path: &'a HostPath,
    cover: Cover,
    known_as: &'static str,
}

impl Part<'_> {
    fn problem(&self, problem: PathProblem) -> Uncoverable {
        Uncoverable { path: self.path.clone(), known_as: self.known_as, problem }
    }
}

/// Everything in which there may be files with other names. Single files that are hidden or protected were
/// refused where they have any.
fn parts<'a>(stage: &'a Stage<'_>, covered: &Covered<'a>, sources: &Sources) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for placed in stage.rules {
        let path = &placed.rule.path;
        let Some(above) = stage.access.above(path) else { continue };
        let is_directory = placed.status.is_directory();
        let (cover, known_as) = match (placed.rule.access, above.access) {
            (
                FsAccess::Hide,
                FsAccess::ReadOnly | FsAccess::Cache | FsAccess::Cow | FsAccess::ReadWrite,
            ) if is_directory => (Cover::Hidden, "of a hidden directory"),
            (FsAccess::ReadOnly | FsAccess::Cache | FsAccess::Cow, FsAccess::ReadWrite) => {
                (Cover::ReadOnly, "read-only inside a writable directory")
            }
            (FsAccess::Hide | FsAccess::ReadOnly | FsAccess::Cache, _) => continue,
            (FsAccess::Cow | FsAccess::ReadWrite, _) => continue,
        };
        parts.push(Part { path, cover, known_as });
    }
    let of_table = |found: &'a [Found], cover| {
        let directories = found
            .iter()
            .filter(|found| sources.kind(found.fact.source) == Some(FileKind::Directory));
        directories.map(move |found| Part {
            path: &found.path,
            cover,
            known_as: found.fact.table_entry,
        })
    };
    parts.extend(of_table(covered.secrets, Cover::Hidden));
    parts.extend(of_table(covered.protected, Cover::ReadOnly));
    parts
}

/// A file that has more names than one.
struct Suspect {
    /// One of its names.
    path: HostPath,
    known_as: &'static str,
    cover: Cover,
    links: u64,
    /// How many of them are under a cover that is as strong.
    names: u64,
}

struct Search<'a> {
    stage: &'a Stage<'a>,
    parts: &'a [Part<'a>],
    /// The paths of all parts.
    covered: HashSet<&'a HostPath>,
    /// By device and inode.
    suspects: HashMap<(u64, u64), Suspect>,
    names_left: usize,
}

impl<'a> Search<'a> {
    /// Collects the files with several names under covers, the strongest first.
    fn collect(&mut self) -> Result<(), &'a Part<'a>> {
        for cover in [Cover::Hidden, Cover::ReadOnly] {
            for part in self.parts.iter().filter(|part| part.cover == cover) {
                self.collect_from(part).map_err(|Incomplete| part)?;
            }
        }
        Ok(())
    }

    fn collect_from(&mut self, part: &Part<'_>) -> Result<(), Incomplete> {
        let (stage, suspects) = (self.stage, &mut self.suspects);
        let mut note = |path: Option<HostPath>, status: Status| {
            let Some(path) = path.filter(|_| status.links > 1) else { return };
            let suspect = suspects.entry(status.key()).or_insert(Suspect {
                path,
                known_as: part.known_as,
                cover: part.cover,
                links: status.links,
                names: 0,
            });
            // A name that may be read hides nothing.
            if part.cover >= suspect.cover {
                suspect.names += 1;
            }
        };
        let mut walk = Walk::new(stage, part.path, &mut self.names_left);
        if let Some(status) = walk.single_file() {
            note(Some(part.path.clone()), status);
            return Ok(());
        }
        // What has a rule of its own is another part, or none.
        let is_of_part = |path: &HostPath| stage.access.exactly(path).is_none();
        walk.each_file(is_of_part, |entry| {
            if let Some(status) = entry.status() {
                note(entry.path(), status);
            }
            true
        })
    }

    /// Looks for other names of the suspects where their covers do not reach.
    fn elsewhere(&mut self) -> Vec<Uncoverable> {
        if self.suspects.is_empty() {
            return Vec::new();
        }
        self.names_left = MOST_NAMES;
        let has_hidden = self.suspects.values().any(|suspect| suspect.cover == Cover::Hidden);
        let mut found: HashMap<(u64, u64), HostPath> = HashMap::new();
        let mut is_whole = true;
        for placed in self.stage.rules {
            let is_shown = match placed.rule.access {
                FsAccess::Hide => false,
                // The host's file is not written to by any name of it.
                FsAccess::ReadOnly | FsAccess::Cache | FsAccess::Cow => has_hidden,
                FsAccess::ReadWrite => true,
            };
            if is_shown {
                let searched = self.look_in(&placed.rule.path, placed.rule.access, &mut found);
                is_whole &= searched.is_ok();
            }
        }
        let protected =
            self.parts.iter().filter(|part| part.cover == Cover::ReadOnly && has_hidden);
        for part in protected.filter(|part| self.stage.access.exactly(part.path).is_none()) {
            is_whole &= self.look_in(part.path, FsAccess::ReadOnly, &mut found).is_ok();
        }
        self.problems(&found, is_whole)
    }

    /// Looks in what one rule decides about, or one protected directory.
    fn look_in(
        &mut self,
        root: &HostPath,
        access: FsAccess,
        found: &mut HashMap<(u64, u64), HostPath>,
    ) -> Result<(), Incomplete> {
        let stage = self.stage;
        let (covered, suspects) = (&self.covered, &self.suspects);
        let inodes: HashSet<u64> = suspects.keys().map(|(_, inode)| *inode).collect();
        let mut note = |path: Option<HostPath>, status: Status| {
            let Some(path) = path else { return };
            let is_exposed = suspects.get(&status.key()).is_some_and(|suspect| {
                suspect.cover == Cover::Hidden || access == FsAccess::ReadWrite
            });
            if is_exposed {
                found.entry(status.key()).or_insert(path);
            }
        };
        let mut walk = Walk::new(stage, root, &mut self.names_left);
        if let Some(status) = walk.single_file() {
            note(Some(root.clone()), status);
            return Ok(());
        }
        let is_uncovered =
            |path: &HostPath| stage.access.exactly(path).is_none() && !covered.contains(path);
        walk.each_file(is_uncovered, |entry| {
            if entry.may_be_one_of(&inodes)
                && let Some(status) = entry.status()
            {
                // A file with a rule of its own is under its own cover.
                note(entry.path().filter(is_uncovered), status);
            }
            true
        })
    }

    fn problems(&self, found: &HashMap<(u64, u64), HostPath>, is_whole: bool) -> Vec<Uncoverable> {
        let problem = |(key, suspect): (&(u64, u64), &Suspect)| {
            let problem = match found.get(key) {
                Some(other) => PathProblem::SecondName { other: other.clone() },
                None if is_whole => return None,
                None => PathProblem::NamesNotFound { links: suspect.links },
            };
            Some(Uncoverable { path: suspect.path.clone(), known_as: suspect.known_as, problem })
        };
        let mut problems: Vec<Uncoverable> = self.suspects.iter().filter_map(problem).collect();
        problems.sort_by(|one, other| one.path.cmp(&other.path));
        // One that can be reached is reason enough, and there can be as many as files.
        problems.truncate(MOST_TOLD);
        problems
    }
}

/// How many names of covered directories are looked at, and how many of the rest where that is needed: about a
/// second's work.
const MOST_NAMES: usize = 1_000_000;

const MOST_TOLD: usize = 8;
