//! Files inside read-write grants that run code on the host: found so that the compiler can keep
//! them read-only. Walks the top of each such grant in breadth, within a bound and never through a
//! link; what lies deeper is watched by the sweep after the run. Of their contents only those of Git
//! repositories are read, for what they name.

mod committed;
mod inside;
mod walk;

use std::collections::{BTreeMap, HashSet};

use plan::HostPath;
use policy::protected::{Change, Entry, Object, change_of};
use policy::{FsAccess, Reach};
use rustix::fs::CWD;

use committed::Committed;

use super::error::{PathProblem, RuleProblem, Uncoverable};
use super::open::{OpenFailure, Opened};
use super::sources::Sources;
use super::traversal::Traversal;
use super::{Found, ResolveError, Stage, Surroundings, second_names};
use crate::protected_names::ProtectedNames;
use crate::protected_names::git::{self, NamedPath, Role};
use crate::protected_names::reader::Reader;
use crate::protected_names::tracked::Tracked;
use crate::{Index, Link, Listed};

#[cfg(test)]
mod tests;

/// What was found.
pub(super) struct Protected {
    /// Files and directories, each once, none inside another.
    pub(super) found: Vec<Found>,
    /// Links that lead to them, or would if there were something.
    pub(super) links: Vec<Link>,
    /// Those inside protected directories that lead out of them.
    pub(super) links_inside: Vec<Link>,
    /// The directories that were read.
    pub(super) directories: Vec<Listed>,
    /// The indexes of repositories that were found.
    pub(super) indexes: Vec<Index>,
    /// What the cage may change because commits hold it.
    pub(super) committed: Committed,
}

/// Finds the protected files and directories that exist.
pub(super) fn find(
    stage: &Stage<'_>,
    secrets: &[Found],
    surroundings: &Surroundings,
    sources: &mut Sources,
) -> Result<Protected, ResolveError> {
    refuse_grants_by_the_project(stage, surroundings.executable.as_ref())?;
    let mut search = Search {
        stage,
        secrets,
        found: BTreeMap::new(),
        followed: HashSet::new(),
        links: Vec::new(),
        links_inside: Vec::new(),
        directories: Vec::new(),
        indexes: Vec::new(),
        inside: Vec::new(),
        problems: Vec::new(),
        reader: Reader::new(MOST_BYTES),
        index_bytes_left: MOST_INDEX_BYTES,
    };
    for file in &surroundings.policy_files {
        search.refuse_loose_link(file);
        search.at(file, POLICY_FILE);
    }
    let writable: Vec<_> = stage
        .rules
        .iter()
        .filter(|placed| placed.rule.access == FsAccess::ReadWrite && placed.status.is_directory())
        .collect();
    for grant in &writable {
        walk::walk(&mut search, &grant.rule.path);
    }
    if !writable.is_empty() {
        search.follow_repository_around(&stage.places.project.path);
        surroundings.executable.iter().for_each(|program| search.own_program(program));
    }
    search.follow_gitlinks();
    search.follow_links_inside();
    let committed = search.leave_what_commits_hold();
    let unread = search.reader.take_unread().into_iter();
    search.problems.extend(unread.map(|(path, errno)| {
        let problem = OpenFailure::Kernel { call: "open", errno }.into();
        Uncoverable { path, known_as: GIT_CONFIGURATION, problem }
    }));
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
    let Search { links, links_inside, directories, indexes, .. } = search;
    Ok(Protected { found: outermost, links, links_inside, directories, indexes, committed })
}

/// A project's file may not make writable what runs code outside the cage: a repository could else
/// bring a policy that opens its own hooks. The user's own rules may, by naming exactly that.
fn refuse_grants_by_the_project(
    stage: &Stage<'_>,
    executable: Option<&HostPath>,
) -> Result<(), ResolveError> {
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
        let entry = ProtectedNames::shared().covering(relative, object);
        let runs_by = match entry {
            Some(entry) => entry.runs_by,
            None if executable == Some(&rule.path) => "whoever starts a cage",
            None => continue,
        };
        problems.push(RuleProblem {
            path: rule.path.clone(),
            access: rule.access,
            origin: rule.origin.clone(),
            problem: PathProblem::Protected { runs_by },
        });
    }
    if problems.is_empty() { Ok(()) } else { Err(ResolveError::Rules(problems)) }
}

/// A search and what it has found.
struct Search<'a> {
    stage: &'a Stage<'a>,
    secrets: &'a [Found],
    found: BTreeMap<HostPath, (Opened, &'static str)>,
    /// Configuration that was read, with the work tree that it was read for.
    followed: HashSet<(HostPath, Option<HostPath>)>,
    links: Vec<Link>,
    links_inside: Vec<Link>,
    directories: Vec<Listed>,
    indexes: Vec<Index>,
    /// Protected directories whose links were not followed yet.
    inside: Vec<inside::Inside>,
    problems: Vec<Uncoverable>,
    reader: Reader,
    /// How much may still be read of indexes. What of them is not known stops no start.
    index_bytes_left: usize,
}

impl Search<'_> {
    /// A policy that is found through a link is another one, or none, where the link is led elsewhere.
    fn refuse_loose_link(&mut self, file: &HostPath) {
        if let Some(problem) = Traversal::to(file).problem(self.stage.access) {
            self.problems.push(Uncoverable { path: file.clone(), known_as: POLICY_FILE, problem });
        }
    }

    /// Protects whatever a path leads to, if the cage could write there. Returns where that is.
    fn at(&mut self, path: &HostPath, known_as: &'static str) -> Option<HostPath> {
        match self.stage.opener.anywhere(path) {
            Ok(opened) => {
                let place = opened.path.clone();
                self.note_inside(&opened, known_as);
                self.take(opened, known_as);
                Some(place)
            }
            Err(failure) => {
                self.fail(path, known_as, failure);
                None
            }
        }
    }

    /// Protects the program that starts cages, by all names that the cage could write to: Cargo gives a
    /// program that it builds two.
    fn own_program(&mut self, path: &HostPath) {
        let opened = match self.stage.opener.anywhere(path) {
            Ok(opened) => opened,
            Err(failure) => return self.fail(path, OWN_PROGRAM, failure),
        };
        let links = opened.status.links;
        if links < 2 {
            return self.take(opened, OWN_PROGRAM);
        }
        match second_names::of(self.stage, &opened) {
            Some(names) => {
                let others = names.iter().filter_map(|name| self.stage.opener.anywhere(name).ok());
                let all: Vec<Opened> = others.chain([opened]).collect();
                all.into_iter().for_each(|opened| self.take_one_name(opened, OWN_PROGRAM));
            }
            None => {
                let problem = PathProblem::NamesNotFound { links };
                self.problems.push(Uncoverable {
                    path: opened.path,
                    known_as: OWN_PROGRAM,
                    problem,
                });
            }
        }
    }

    /// Remembers a link, over which nothing can be mounted.
    fn link(&mut self, path: &HostPath) {
        if let Ok(target) = rustix::fs::readlinkat(CWD, path.as_path(), Vec::new()) {
            let target = target.into_bytes().into();
            self.links.push(Link { path: path.clone(), target });
        }
    }

    /// Remembers the links on the way to a path: a cage could lead any of them elsewhere.
    fn links_on_the_way(&mut self, path: &HostPath) {
        Traversal::to(path).links.iter().for_each(|link| self.link(link));
    }

    /// Protects what Git runs or obeys in a repository's directory, and what this names.
    fn repository(&mut self, repository: &HostPath, work_tree: Option<&HostPath>) {
        for name in git::RUNS_CODE {
            let Ok(path) = repository.join(name) else { continue };
            let place = self.at(&path, GIT_CONFIGURATION);
            if let Some(place) = place
                && git::CONFIGURATION.contains(&name)
            {
                self.follow_configuration(place, work_tree);
            }
        }
    }

    /// Protects what a repository's configuration names: other files of configuration, hooks, the
    /// project's own programs. Reads no further file that the cage is not shown.
    fn follow_configuration(&mut self, configuration: HostPath, work_tree: Option<&HostPath>) {
        if !self.followed.insert((configuration.clone(), work_tree.cloned())) {
            return;
        }
        let stage = self.stage;
        let real = |path: &HostPath| {
            let place = stage.opener.anywhere(path).ok()?.path;
            (stage.access.level(&place) > FsAccess::Hide).then_some(place)
        };
        let named =
            git::named_by(&configuration, work_tree, stage.places.home, &real, &mut self.reader);
        for NamedPath { path, role } in named {
            self.links_on_the_way(&path);
            match role {
                Role::Configuration | Role::Hooks => {
                    self.at(&path, GIT_CONFIGURATION);
                }
                Role::Program | Role::PerhapsProgram => {
                    // A word of a command can be the name of a directory by chance.
                    if let Ok(opened) = stage.opener.anywhere(&path)
                        && opened.status.is_regular_file()
                    {
                        self.take(opened, GIT_CONFIGURATION);
                    }
                }
            }
        }
    }

    /// Remembers what an index holds; nothing where there is none.
    fn index(&mut self, path: HostPath) {
        let tracked = match self.stage.opener.without_links(&path) {
            Ok(opened) => {
                let bytes_left = &mut self.index_bytes_left;
                Tracked::of(&path, &opened.descriptor, bytes_left, &mut self.reader)
            }
            Err(_) => Ok(None),
        };
        // One that cannot be opened now is taken for an empty one: what it holds after the run is told.
        let tracked = tracked.unwrap_or_default().unwrap_or_default();
        self.indexes.push(Index { path, tracked });
    }

    /// Protects the repositories that indexes name, however deep they lie: Git goes there by itself.
    fn follow_gitlinks(&mut self) {
        let mut places = Vec::new();
        for Index { path, tracked } in &self.indexes {
            if tracked.gitlinks.is_empty() {
                continue;
            }
            let Some(repository) = path.parent() else { continue };
            for tree in git::work_trees(&repository, &mut self.reader) {
                let found = tracked.gitlinks.iter().filter_map(|path| git::resolve(&tree, path));
                places.extend(found.take(MOST_GITLINKS));
            }
        }
        for place in places {
            self.follow_gitlink(&place);
        }
    }

    fn follow_gitlink(&mut self, place: &HostPath) {
        let Ok(pointer) = place.join(".git") else { return };
        let is_found = |path: &HostPath| self.found.contains_key(path);
        if is_found(&pointer) || pointer.join("config").is_ok_and(|path| is_found(&path)) {
            return;
        }
        match self.stage.opener.anywhere(&pointer) {
            Ok(opened) if opened.status.is_directory() => {
                self.repository(&opened.path, Some(place))
            }
            Ok(opened) => {
                self.take(opened, GIT_CONFIGURATION);
                for repository in git::pointed_to(&pointer, &mut self.reader) {
                    self.repository(&repository, Some(place));
                }
            }
            Err(failure) => self.fail(&pointer, GIT_CONFIGURATION, failure),
        }
    }

    /// The repository that the project is in, which need not lie in a writable grant itself.
    fn follow_repository_around(&mut self, project: &HostPath) {
        for directory in std::iter::successors(Some(project.clone()), HostPath::parent) {
            let Ok(pointer) = directory.join(".git") else { return };
            let Ok(configuration) = pointer.join("config") else { return };
            if self.followed.contains(&(configuration.clone(), None)) {
                return;
            }
            match self.stage.opener.anywhere(&configuration) {
                Ok(_) => return self.repository(&pointer, None),
                Err(OpenFailure::NotADirectory) => {
                    for repository in git::pointed_to(&pointer, &mut self.reader) {
                        self.repository(&repository, Some(&directory));
                    }
                    return;
                }
                Err(_) => {}
            }
        }
    }

    /// Protects an object, if the cage could write to it.
    fn take(&mut self, opened: Opened, known_as: &'static str) {
        // Written by another name, it would change under its cover.
        let has_others = opened.status.is_regular_file() && opened.status.links > 1;
        if has_others && self.is_exposed(&opened.path) && !self.found.contains_key(&opened.path) {
            let problem = PathProblem::HardLinks { links: opened.status.links };
            self.problems.push(Uncoverable { path: opened.path, known_as, problem });
            return;
        }
        self.take_one_name(opened, known_as);
    }

    /// Protects one name of an object, if the cage could write there.
    fn take_one_name(&mut self, opened: Opened, known_as: &'static str) {
        if self.is_exposed(&opened.path) && !self.is_found_already(&opened.path, known_as) {
            self.found.insert(opened.path.clone(), (opened, known_as));
        }
    }

    /// Whether a path is protected already. Of two reasons the stricter counts.
    fn is_found_already(&mut self, path: &HostPath, known_as: &'static str) -> bool {
        let Some((_, reason)) = self.found.get_mut(path) else { return false };
        if change_of(known_as) == Change::Never {
            *reason = known_as;
        }
        true
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

/// What a file that Git obeys is called in facts and errors.
const GIT_CONFIGURATION: &str = ".git/config";

const POLICY_FILE: &str = "the policy file";

const OWN_PROGRAM: &str = "the program that starts cages";

/// The most that is read of repositories before a start.
const MOST_BYTES: usize = 64 << 20;

/// The most that is read of indexes: those of a hundred thousand files. A start must not take longer than a
/// person notices.
const MOST_INDEX_BYTES: usize = 16 << 20;

/// How many repositories that one index names are protected.
const MOST_GITLINKS: usize = 1024;
