//! What the indexes of Git name, after a run. One that names a repository makes Git ask that for its state, and
//! obey its configuration, whenever it is asked for its own: such a repository is judged before anything else,
//! wherever it lies. Reads indexes that have changed, within a bound, and changes none.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use plan::HostPath;
use resolve::commits::{Answer, Version};
use resolve::protected_names::git::{self, NamedPath, RUNS_CODE, Role};
use resolve::protected_names::tracked::Tracked;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::directory::{below, refer_to};
use super::named::{Lead, Suspicion, Wanted, of_git};
use super::novelty::Novelty;
use super::{Directory, Sweep, times};
use crate::quarantine::{Finding, Unsearched};

/// What is known of an index from before the run.
enum Before<'a> {
    /// All that matters.
    Known(&'a Tracked),
    /// It was not there.
    Absent,
    /// There may have been more than this.
    Unknown(Option<&'a Tracked>),
}

impl Before<'_> {
    fn has_gitlink(&self, path: &[u8]) -> bool {
        match self {
            Self::Known(tracked) | Self::Unknown(Some(tracked)) => tracked.gitlinks.contains(path),
            Self::Absent | Self::Unknown(None) => false,
        }
    }
}

impl Sweep<'_> {
    /// Remembers those of the start, and that of the grant's root.
    pub(super) fn note_known_indexes(&mut self, root: &HostPath) {
        let known = self.indexes_at_start.keys().filter(|path| path.is_within(root));
        let mut known: Vec<HostPath> = known.map(|path| (*path).clone()).collect();
        known.sort();
        known.extend(root.join(".git/index"));
        known.into_iter().for_each(|path| self.note_index(path));
    }

    /// Remembers one.
    pub(super) fn note_index(&mut self, path: HostPath) {
        if path.is_within(&self.root) && self.known_indexes.insert(path.clone()) {
            self.indexes.push_back(path);
        }
    }

    /// Looks at those that were not looked at yet.
    pub(super) fn look_at_indexes(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        waiting: &mut VecDeque<Directory>,
    ) {
        while let Some(path) = self.indexes.pop_front() {
            if let Some(why) = self.allowance.is_over() {
                self.tell_over(path, why);
                self.indexes.clear();
                return;
            }
            self.look_at_index(top, root, &path, waiting);
        }
    }

    fn look_at_index(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        path: &HostPath,
        waiting: &mut VecDeque<Directory>,
    ) {
        let Some(relative) = below(root, path) else { return };
        let Ok(object) = refer_to(top, relative) else { return };
        let times = times(&object, b"");
        let has_changed = times.map_or(true, |times| self.dating.is_recent(times.stx_ctime));
        let at_start = self.indexes_at_start.get(path).copied();
        let now = if has_changed {
            match Tracked::of(path, &object, &mut self.index_bytes_left, &mut self.reader) {
                Ok(Some(tracked)) => Cow::Owned(tracked),
                Ok(None) => return,
                Err(errno) => return self.not_searched(path.clone(), Unsearched::Kernel(errno)),
            }
        } else {
            match at_start {
                Some(tracked) if !tracked.gitlinks.is_empty() => Cow::Borrowed(tracked),
                _ => return,
            }
        };
        let before = match at_start {
            Some(tracked) if tracked.unknown.is_none() => Before::Known(tracked),
            None if self.is_in_new_directory(top, root, path) => Before::Absent,
            unknown => Before::Unknown(unknown),
        };
        let Some(repository) = path.parent() else { return };
        let work_trees = git::work_trees(&repository, &mut self.reader);
        for gitlink in now.gitlinks.iter().take(MOST_GITLINKS) {
            let suspicion = match before {
                _ if before.has_gitlink(gitlink) => Suspicion::Usual,
                Before::Unknown(_) => Suspicion::Wary,
                Before::Known(_) | Before::Absent => Suspicion::Strict,
            };
            for place in work_trees.iter().filter_map(|tree| git::resolve(tree, gitlink)) {
                self.judge_gitlink(top, root, &place, suspicion, waiting);
            }
        }
        if now.gitlinks.len() > MOST_GITLINKS {
            self.not_searched(path.clone(), Unsearched::TooManyNames);
        }
        if has_changed {
            self.tell_of_index(path, work_trees.first().unwrap_or(&repository), &before, &now);
        }
    }

    /// Tells what an index has come to hold. Where it is not known what it held, there is nothing to compare
    /// with, and what it names was judged.
    fn tell_of_index(
        &mut self,
        index: &HostPath,
        work_tree: &HostPath,
        before: &Before<'_>,
        now: &Tracked,
    ) {
        let nothing = Tracked::default();
        let before = match before {
            Before::Known(tracked) => tracked,
            Before::Absent => &nothing,
            Before::Unknown(_) => now,
        };
        let first_and_count = |new: Vec<&Vec<u8>>| {
            let path = git::resolve(work_tree, new.first()?)?;
            Some((path, new.len()))
        };
        let new = now.gitlinks.difference(&before.gitlinks).collect();
        if let Some((path, count)) = first_and_count(new) {
            self.report(Finding::Gitlinks { index: index.clone(), path, count });
        }
        let changed =
            now.protected.iter().filter(|(path, now)| before.protected.get(*path) != Some(now));
        let of_nobody = changed.filter(|(path, (mode, name))| {
            let version = Version::of_object(*mode, name);
            let place = git::resolve(work_tree, path);
            let is_known = version.zip(place).is_some_and(|(version, place)| {
                self.commits.held(&place, version, &mut self.reader) == Answer::Yes
            });
            !is_known
        });
        let new = of_nobody.map(|(path, _)| path).collect();
        if let Some((path, count)) = first_and_count(new) {
            self.report(Finding::Tracked { index: index.clone(), path, count });
        }
        if let Some(why) = now.unknown {
            self.report(Finding::IndexUnknown { path: index.clone(), why });
        }
    }

    fn is_in_new_directory(&self, top: &OwnedFd, root: &HostPath, path: &HostPath) -> bool {
        let reached = self.reach(top, root, path);
        reached.is_some_and(|reached| reached.above.novelty >= Novelty::UnlessCovered)
    }

    /// Judges the repository that a gitlink leads to, if there is one.
    fn judge_gitlink(
        &mut self,
        top: &OwnedFd,
        root: &HostPath,
        place: &HostPath,
        suspicion: Suspicion,
        waiting: &mut VecDeque<Directory>,
    ) {
        let (Ok(repository), Some(entry)) = (place.join(".git"), of_git()) else { return };
        let Some(relative) = below(root, &repository) else { return };
        let found = refer_to(top, relative).and_then(|object| rustix::fs::fstat(&object));
        let is_directory = match found {
            Ok(found) => FileType::from_raw_mode(found.st_mode) == FileType::Directory,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            // Perhaps in a directory that was closed: it is opened where it is judged.
            Err(_) => false,
        };
        if !is_directory {
            let named = NamedPath { path: repository.clone(), role: Role::Configuration };
            self.judge_named(top, root, &Wanted { named, entry, suspicion }, waiting);
        }
        for name in RUNS_CODE {
            let role = if name == "hooks" { Role::Hooks } else { Role::Configuration };
            if let Ok(path) = repository.join(name) {
                let named = NamedPath { path, role };
                self.judge_named(top, root, &Wanted { named, entry, suspicion }, waiting);
            }
        }
        let pointed_to = git::pointed_to(&repository, &mut self.reader);
        for repository in [repository].into_iter().chain(pointed_to) {
            let files = git::CONFIGURATION.iter().filter_map(|name| repository.join(name).ok());
            let work_tree = Some(place.clone());
            let leads =
                files.map(|path| Lead::Configuration { path, work_tree: work_tree.clone() });
            self.leads.extend(leads);
            if let Ok(index) = repository.join("index") {
                self.note_index(index);
            }
        }
    }
}

/// No project has as many submodules.
const MOST_GITLINKS: usize = 4096;
