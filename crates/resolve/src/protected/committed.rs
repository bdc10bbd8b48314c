//! Protected files that stay writable: a checkout may rightly change those that the commit holds which is checked
//! out, and the user may have allowed some by their names before they exist. What they hold is kept for the look
//! after the run. Where commits cannot be read, or there is too much to keep, everything stays read-only, and that
//! is said.

use std::collections::BTreeMap;

use plan::HostPath;
use policy::protected::{Change, change_of};
use rustix::fs::FileType;

use super::super::open::Opened;
use super::walk::list;
use super::{Index, Search};
use crate::commits::{
    CommitTree, Held, Repository, Version, Watched, WorkTree, hash_blob, head, tips,
};
use crate::protected_names::git;
use crate::protected_names::git_index::ObjectNames;
use crate::protected_names::reader::read_object;

/// What the cage may change.
#[derive(Default)]
pub(crate) struct Committed {
    pub(crate) repositories: Vec<Repository>,
    pub(crate) watched: Vec<Watched>,
    /// What it may not although a commit may hold it, with the reason.
    pub(crate) kept_locked: Vec<(HostPath, &'static str)>,
}

/// A protected path, where it belongs in a commit.
#[derive(Clone)]
struct Place {
    is_in_work_tree: bool,
    /// Below the top of the work tree.
    relative: Vec<u8>,
    known_as: &'static str,
}

impl Search<'_> {
    /// Takes out of what was found what a checkout may change, and what is allowed by its name.
    pub(super) fn leave_what_commits_hold(&mut self) -> Committed {
        let mut leaving = Leaving {
            committed: Committed::default(),
            heads: BTreeMap::new(),
            files_left: MOST_FILES,
            names_left: MOST_NAMES,
            bytes_left: MOST_BYTES,
        };
        leaving.note_repositories(self);
        let paths: Vec<HostPath> = self.found.keys().cloned().collect();
        for path in paths {
            let Some(known_as) = self.found.get(&path).map(|(_, known_as)| *known_as) else {
                continue;
            };
            let is_locked = |path: &HostPath| {
                let found = self.found.get(path);
                found.is_some_and(|(_, known_as)| change_of(known_as) == Change::Never)
            };
            let ahead = self.stage.allowed_ahead.iter().any(|ahead| ahead.is_within(&path));
            let is_locked_above =
                std::iter::successors(path.parent(), HostPath::parent).any(|path| is_locked(&path));
            if is_locked_above || (is_locked(&path) && !ahead) {
                continue;
            }
            let place = match change_of(known_as) {
                Change::ToCommitted => leaving.place(&path, known_as),
                Change::Never => Place { is_in_work_tree: false, relative: Vec::new(), known_as },
            };
            leaving.leave(self, &path, &place);
        }
        let Leaving { mut committed, .. } = leaving;
        committed.watched.sort_by(|one, other| one.path.cmp(&other.path));
        committed
    }
}

struct Leaving {
    committed: Committed,
    /// By the top of a work tree, what is checked out there.
    heads: BTreeMap<HostPath, CommitTree>,
    files_left: usize,
    names_left: usize,
    bytes_left: usize,
}

impl Leaving {
    /// Notes the repositories that the cage can write to.
    fn note_repositories(&mut self, search: &mut Search<'_>) {
        let directories: Vec<HostPath> =
            search.indexes.iter().filter_map(|Index { path, .. }| path.parent()).collect();
        for directory in directories.into_iter().take(MOST_REPOSITORIES) {
            let Some(directory) = git::real(&directory) else { continue };
            let shared = git::shared_by(&directory, &mut search.reader);
            let common = shared.and_then(|shared| git::real(&shared));
            let common = common.unwrap_or_else(|| directory.clone());
            let Ok(inside) = common.join("HEAD") else { continue };
            if !search.is_exposed(&inside) {
                continue;
            }
            let trees = git::work_trees(&directory, &mut search.reader);
            let trees: Vec<HostPath> = trees.iter().filter_map(git::real).collect();
            let known = self.committed.repositories.iter().position(|known| known.common == common);
            let position = match known {
                Some(position) => position,
                None => {
                    let is_long =
                        git::object_names(&common, &mut search.reader) == ObjectNames::Sha256;
                    let tips = if is_long { None } else { tips(&common) };
                    let Some(tips) = tips else {
                        let reason = if is_long { LONG_NAMES } else { OTHER_REFERENCES };
                        self.committed
                            .kept_locked
                            .extend(trees.into_iter().map(|tree| (tree, reason)));
                        continue;
                    };
                    let work_trees = Vec::new();
                    self.committed.repositories.push(Repository {
                        common: common.clone(),
                        work_trees,
                        tips,
                    });
                    self.committed.repositories.len() - 1
                }
            };
            let head = head(&directory, &common);
            let Some(repository) = self.committed.repositories.get_mut(position) else { continue };
            for tree in trees {
                if repository.work_trees.iter().any(|known| known.path == tree) {
                    continue;
                }
                repository.work_trees.push(WorkTree { path: tree, head });
            }
        }
        // A tree that could not be asked is named where it matters: where something of it stays locked.
        let roots = std::mem::take(&mut self.committed.kept_locked);
        self.committed.kept_locked = roots
            .into_iter()
            .filter(|(root, _)| {
                search.found.iter().any(|(path, (_, known_as))| {
                    path.is_within(root) && change_of(known_as) == Change::ToCommitted
                })
            })
            .collect();
    }

    /// Where a path belongs in the deepest work tree that it lies in.
    fn place(&mut self, path: &HostPath, known_as: &'static str) -> Place {
        let trees =
            self.committed.repositories.iter().enumerate().flat_map(|(position, one)| {
                one.work_trees.iter().map(move |tree| (position, tree))
            });
        let tree = trees
            .filter(|(_, tree)| path.is_within(&tree.path) && *path != tree.path)
            .max_by_key(|(_, tree)| tree.path.depth());
        let nothing = Place { is_in_work_tree: false, relative: Vec::new(), known_as };
        let Some((position, WorkTree { path: top, head: Some(head) })) = tree else {
            return nothing;
        };
        let Some(relative) = path.as_bytes().strip_prefix(top.as_bytes()) else { return nothing };
        let relative = relative.strip_prefix(b"/").unwrap_or(relative).to_vec();
        if !self.heads.contains_key(top) {
            let repository = self.committed.repositories.get(position);
            let tree = repository.and_then(|one| CommitTree::of(&one.common, *head));
            let Some(tree) = tree else {
                self.committed.kept_locked.push((path.clone(), UNREADABLE));
                return nothing;
            };
            self.heads.insert(top.clone(), tree);
        }
        Place { is_in_work_tree: true, relative, known_as }
    }

    fn leave(&mut self, search: &mut Search<'_>, path: &HostPath, place: &Place) {
        let Some((opened, _)) = search.found.get(path) else { return };
        let is_directory = opened.status.is_directory();
        let ahead = search.stage.allowed_ahead.iter().any(|ahead| ahead.is_within(path));
        let held = if place.is_in_work_tree { self.held(path, &place.relative) } else { None };
        match held {
            Some(Held::File(version)) if opened.status.is_regular_file() => {
                match self.watch(path, opened, place.known_as, version) {
                    Ok(()) => {
                        search.found.remove(path);
                    }
                    Err(reason) => self.committed.kept_locked.push((path.clone(), reason)),
                }
            }
            Some(Held::Directory) if is_directory => self.open_up(search, path, place),
            _ if ahead && is_directory => self.open_up(search, path, place),
            _ => {}
        }
    }

    /// Leaves a directory writable, and judges what is in it one by one.
    fn open_up(&mut self, search: &mut Search<'_>, path: &HostPath, place: &Place) {
        let Ok(directory) = search.stage.opener.open_to_list(path) else { return };
        let (names, is_whole) = list(&directory, self.names_left);
        self.names_left = self.names_left.saturating_sub(names.len());
        if !is_whole {
            self.committed.kept_locked.push((path.clone(), TOO_MANY));
            return;
        }
        search.found.remove(path);
        for name in names {
            let Ok(child) = path.join(&name.bytes) else { continue };
            if name.file_type == FileType::Symlink {
                search.link(&child);
                continue;
            }
            let slash: &[u8] = if place.relative.is_empty() { b"" } else { b"/" };
            let relative = [place.relative.as_slice(), slash, &name.bytes].concat();
            let place = Place { relative, ..place.clone() };
            let Ok(opened) = search.stage.opener.anywhere(&child) else { continue };
            // Whatever is not left stays protected, each by itself.
            search.take_one_name(opened, place.known_as);
            let is_still = search.found.get(&child).map(|(_, known_as)| *known_as);
            if is_still == Some(place.known_as) {
                self.leave(search, &child, &place);
            }
        }
    }

    /// Keeps what a file holds.
    fn watch(
        &mut self,
        path: &HostPath,
        opened: &Opened,
        known_as: &'static str,
        version: Version,
    ) -> Result<(), &'static str> {
        let most = MOST_FILE_BYTES.min(self.bytes_left);
        let contents = read_object(&opened.descriptor, most).ok().flatten().ok_or(UNREADABLE)?;
        if contents.len() >= most || self.files_left == 0 {
            return Err(TOO_MANY);
        }
        self.files_left -= 1;
        self.bytes_left -= contents.len();
        let is_committed = hash_blob(&contents) == version.contents;
        let (mode, owner) = (opened.status.permissions, opened.status.owner);
        let path = path.clone();
        self.committed.watched.push(Watched {
            path,
            known_as,
            contents,
            mode,
            owner,
            is_committed,
        });
        Ok(())
    }

    /// What the commit that is checked out holds by a path.
    fn held(&mut self, path: &HostPath, relative: &[u8]) -> Option<Held> {
        let trees = self.heads.iter_mut().filter(|(top, _)| path.is_within(top));
        let (_, tree) = trees.max_by_key(|(top, _)| top.depth())?;
        tree.held(relative)
    }
}

const LONG_NAMES: &str = "the repository names its objects by SHA-256, which are not read here";
const OTHER_REFERENCES: &str =
    "the repository keeps its references in a form that is not read here";
const UNREADABLE: &str = "what the commits of the repository hold cannot be read";
const TOO_MANY: &str = "there is too much of it to be watched";

/// How much is kept of what can be changed, in all and of one file.
const MOST_BYTES: usize = 16 << 20;
const MOST_FILE_BYTES: usize = 1 << 20;
const MOST_FILES: usize = 1024;
/// Each name that is not left writable takes a mount.
const MOST_NAMES: usize = 1024;
const MOST_REPOSITORIES: usize = 64;
