//! Questions to the commits that a repository had before a run: whether one of them held a version of a file,
//! whether one was without it, and which commits have come since with files that run code. Ends at a moment that
//! is given; what was not seen by then is not known.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::time::Instant;

use policy::protected::Object;

use super::objects::{Commit, Id, Kind, Objects, TreeEntry, Unreadable, entries};
use super::{Repository, Tips};
use crate::protected_names::{Begun, ProtectedNames};

#[cfg(test)]
mod tests;

/// One version of a file, as far as commits know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// What it holds; of a link where it leads.
    pub contents: Id,
    /// Whether it is a link.
    pub is_link: bool,
    /// Whether it can be executed.
    pub is_executable: bool,
}

/// What the commits of the start say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One of them is so.
    Yes,
    /// None is.
    No,
    /// None of those is that could be read in time.
    Unknown,
}

/// A commit that has come since the start and holds a file that runs code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Which one.
    pub commit: Id,
    /// Where the file belongs.
    pub path: Vec<u8>,
    /// What it holds.
    pub version: Version,
}

/// The commits of a repository before a run, as they are asked for.
#[derive(Debug)]
pub struct History {
    objects: Objects,
    tips: Tips,
    /// The trees of the commits that were read, the newest first.
    trees: Vec<Id>,
    waiting: BinaryHeap<(i64, Id)>,
    seen: HashSet<Id>,
    /// The trees of the tips themselves.
    tip_trees: Vec<Id>,
    has_begun: bool,
    /// Whether something could not be read.
    is_broken: bool,
    until: Instant,
}

impl History {
    /// Opens the store of a repository.
    pub fn of(repository: &Repository, until: Instant) -> Option<Self> {
        Some(Self {
            objects: Objects::of(&repository.common)?,
            tips: repository.tips.clone(),
            trees: Vec::new(),
            waiting: BinaryHeap::new(),
            seen: HashSet::new(),
            tip_trees: Vec::new(),
            has_begun: false,
            is_broken: false,
            until,
        })
    }

    /// Whether a commit of the start held this version by this path.
    pub fn held(&mut self, path: &[u8], version: Version) -> Answer {
        self.begin();
        for position in 0.. {
            let Some(tree) = self.tree(position) else { break };
            match self.objects.entry_at(tree, path) {
                Ok(Some(entry)) if version.is_of(entry) => return Answer::Yes,
                Ok(_) => {}
                Err(Unreadable) => self.is_broken = true,
            }
        }
        self.none_found()
    }

    /// Whether a tip of the start had nothing by this path.
    pub fn lacked(&mut self, path: &[u8]) -> Answer {
        self.begin();
        for tree in self.tip_trees.clone() {
            match self.objects.entry_at(tree, path) {
                Ok(None) => return Answer::Yes,
                Ok(Some(_)) => {}
                Err(Unreadable) => self.is_broken = true,
            }
        }
        self.none_found()
    }

    /// The commits that have come since the start, where files that run code come or change with them: all that
    /// no commit of the start held. Whether that is all comes with them.
    pub fn made_since(&mut self, now: &Tips) -> (Vec<Made>, bool) {
        self.begin();
        let mut made = Vec::new();
        let (commits, mut is_whole) = self.commits_since(now);
        is_whole &= now.is_whole;
        for commit in commits {
            let parent = commit.parents.first().copied();
            let before = parent.and_then(|parent| self.objects.commit(parent));
            let mut change =
                Change { found: BTreeMap::new(), trees_left: MOST_TREES, is_whole: true };
            let whole = (before.map(|before| before.tree), commit.tree);
            change.between(&mut self.objects, whole, &Place::default());
            is_whole &= change.is_whole;
            for (path, version) in change.found {
                if self.held(&path, version) != Answer::Yes {
                    made.push(Made { commit: commit.id, path, version });
                }
            }
            if made.len() >= MOST_MADE || self.is_late() {
                return (made, false);
            }
        }
        (made, is_whole)
    }

    fn none_found(&self) -> Answer {
        let is_all = !self.is_broken && self.waiting.is_empty() && self.tips.is_whole;
        if is_all { Answer::No } else { Answer::Unknown }
    }

    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        for id in self.tips.ids.clone() {
            if self.is_late() {
                self.is_broken = true;
                return;
            }
            // A tag of a tree or a file is nothing that is checked out; what a log names may be gone.
            let Some(commit) = self.objects.commit(id) else { continue };
            self.tip_trees.push(commit.tree);
            if self.seen.insert(commit.id) {
                self.waiting.push((commit.date, commit.id));
            }
        }
    }

    /// The tree of a commit, counted from the newest.
    fn tree(&mut self, position: usize) -> Option<Id> {
        while position >= self.trees.len() && !self.is_late() {
            let (_, id) = self.waiting.pop()?;
            let Some(commit) = self.objects.commit(id) else {
                self.is_broken = true;
                continue;
            };
            self.trees.push(commit.tree);
            for parent in commit.parents {
                if self.seen.insert(parent) {
                    // Its date only says when it is looked at.
                    let date = self.objects.commit(parent).map(|parent| parent.date);
                    self.waiting.push((date.unwrap_or(0), parent));
                }
            }
        }
        self.trees.get(position).copied()
    }

    /// Commits that tips of now lead to and those of the start do not, newest first.
    fn commits_since(&mut self, now: &Tips) -> (Vec<Commit>, bool) {
        let mut walk = Walk::default();
        for (ids, is_old) in [(&self.tips.ids, true), (&now.ids, false)] {
            for id in ids {
                let id = self.objects.commit(*id).map(|commit| (commit.date, commit.id));
                walk.reach(id, is_old);
            }
        }
        let (mut found, mut is_whole) = (Vec::new(), true);
        while walk.new_waiting > 0 && !self.is_late() && found.len() < MOST_MADE {
            let Some((_, id)) = walk.waiting.pop() else { break };
            let is_old = walk.is_old.get(&id).copied().unwrap_or(true);
            walk.new_waiting -= usize::from(!is_old && walk.counted.remove(&id));
            let Some(commit) = self.objects.commit(id) else {
                is_whole &= is_old;
                continue;
            };
            for parent in &commit.parents {
                let parent = self.objects.commit(*parent).map(|parent| (parent.date, parent.id));
                walk.reach(parent, is_old);
            }
            if !is_old {
                found.push(commit);
            }
        }
        found.retain(|commit| walk.is_old.get(&commit.id) == Some(&false));
        (found, is_whole && walk.new_waiting == 0)
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// Commits of the start and of now, followed to where they meet.
#[derive(Default)]
struct Walk {
    waiting: BinaryHeap<(i64, Id)>,
    is_old: HashMap<Id, bool>,
    /// Those that wait and are not old.
    counted: HashSet<Id>,
    new_waiting: usize,
}

impl Walk {
    fn reach(&mut self, commit: Option<(i64, Id)>, is_old: bool) {
        let Some((date, id)) = commit else { return };
        match self.is_old.insert(id, is_old) {
            // What is old stays so.
            Some(true) => {
                self.is_old.insert(id, true);
                return;
            }
            Some(false) if !is_old => return,
            Some(false) => self.new_waiting -= usize::from(self.counted.remove(&id)),
            None => {}
        }
        if !is_old && self.counted.insert(id) {
            self.new_waiting += 1;
        }
        self.waiting.push((date, id));
    }
}

impl Version {
    /// Whether a tree's entry is this version. A file system without permission bits has files that cannot be
    /// executed where the commit's could be.
    fn is_of(self, entry: TreeEntry) -> bool {
        let is_kind = if self.is_link { entry.is_link() } else { entry.is_file() };
        let is_allowed = !self.is_executable || entry.mode & 0o100 != 0;
        is_kind && is_allowed && entry.id == self.contents
    }

    /// What the mode and the name of an object in an index or a tree say.
    pub fn of_object(mode: u32, name: &[u8]) -> Option<Self> {
        Some(Self::of(TreeEntry { mode, id: Id::of_bytes(name)? }))
    }

    pub(super) fn of(entry: TreeEntry) -> Self {
        let is_executable = entry.is_file() && entry.mode & 0o100 != 0;
        Self { contents: entry.id, is_link: entry.is_link(), is_executable }
    }
}

/// What protected names a tree has that another one has not, or has otherwise.
struct Change {
    found: BTreeMap<Vec<u8>, Version>,
    trees_left: usize,
    is_whole: bool,
}

/// A directory of a tree.
#[derive(Clone, Default)]
struct Place {
    path: Vec<u8>,
    begun: Begun,
    is_protected: bool,
    depth: usize,
}

impl Change {
    fn between(&mut self, objects: &mut Objects, trees: (Option<Id>, Id), place: &Place) {
        let (before, now) = trees;
        if before == Some(now) {
            return;
        }
        if self.trees_left == 0 || place.depth > MOST_DEPTH {
            self.is_whole = false;
            return;
        }
        self.trees_left -= 1;
        let tree = |objects: &mut Objects, id| match objects.object(id) {
            Some((Kind::Tree, bytes)) => Some(bytes),
            _ => None,
        };
        let Some(now) = tree(objects, now) else {
            self.is_whole = false;
            return;
        };
        let before = before.and_then(|before| tree(objects, before));
        let before: HashMap<&[u8], (u32, Id)> = before
            .iter()
            .flat_map(|bytes| entries(bytes))
            .map(|entry| (entry.name, (entry.mode, entry.id)))
            .collect();
        for entry in entries(&now) {
            let known = before.get(entry.name).copied();
            if known == Some((entry.mode, entry.id)) {
                continue;
            }
            let found = TreeEntry { mode: entry.mode, id: entry.id };
            let object = if found.is_tree() { Object::Directory } else { Object::File };
            let step = ProtectedNames::shared().step(&place.begun, entry.name, object);
            let slash: &[u8] = if place.path.is_empty() { b"" } else { b"/" };
            let path = [place.path.as_slice(), slash, entry.name].concat();
            let is_protected = place.is_protected || step.entry.is_some();
            if found.is_tree() {
                let depth = place.depth + 1;
                let inside = Place { path, begun: step.below, is_protected, depth };
                let is_tree = |mode| TreeEntry { mode, id: found.id }.is_tree();
                let known = known.filter(|(mode, _)| is_tree(*mode)).map(|(_, id)| id);
                self.between(objects, (known, found.id), &inside);
            } else if is_protected && (found.is_file() || found.is_link()) {
                self.found.insert(path, Version::of(found));
            }
        }
    }
}

/// How many commits, and files in them, are looked at and told.
const MOST_MADE: usize = 10_000;

/// How many directories of one commit are compared.
const MOST_TREES: usize = 50_000;

/// Nobody works deeper.
const MOST_DEPTH: usize = 128;
