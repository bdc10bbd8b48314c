//! What was done, as programs read it from the command and from the daemon. Data only.

use std::collections::{HashMap, HashSet};

use plan::HostPath;
use policy::protected::Entry;
use serde::Serialize;
use workspace::{Applied, Changes, Conflict, TreePath};

use crate::commits::CommittedReport;

/// What came of an apply, or would.
#[derive(Clone, Debug, Serialize)]
pub struct AppliedReport {
    /// The directory of the host.
    pub path: HostPath,
    /// The host has these as the cage saw them.
    pub applied: Vec<TreePath>,
    /// The host has the changes of both sides in these.
    pub merged: Vec<TreePath>,
    /// The host was changed here since, so it was left alone.
    pub conflicts: Vec<ConflictReport>,
    /// Left alone because their names run code and were not confirmed.
    pub held: Vec<HeldReport>,
    /// Commits that came with it and hold what runs code, as far as was looked.
    pub committed: Vec<CommittedReport>,
    /// Whether all commits that came were looked at.
    pub commits_read: bool,
}

fn is_index(path: &[u8]) -> bool {
    path == b".git/index" || path.ends_with(b"/.git/index")
}

/// A path about which host and cage disagree.
#[derive(Clone, Debug, Serialize)]
pub struct ConflictReport {
    /// Which path.
    pub path: TreePath,
    /// Its word.
    pub conflict: &'static str,
    /// What happened, in words.
    pub why: String,
    /// Whether a merge is possible.
    pub mergeable: bool,
}

/// A path that runs code on the host by its name.
#[derive(Clone, Debug, Serialize)]
pub struct HeldReport {
    /// Which path.
    pub path: TreePath,
    /// What runs it.
    pub runs_by: &'static str,
}

impl AppliedReport {
    /// Whether commits came to the host and the index did not: what it holds is older than they are, and the next
    /// commit would take back what is in them.
    pub fn has_stale_index(&self) -> bool {
        let index =
            self.conflicts.iter().map(|left| left.path.as_bytes()).find(|path| is_index(path));
        let Some(repository) = index.and_then(|path| path.strip_suffix(b"index")) else {
            return false;
        };
        let inside =
            self.applied.iter().filter_map(|path| path.as_bytes().strip_prefix(repository));
        let moves = |name: &[u8]| name == b"HEAD" || name.starts_with(b"refs/heads/");
        inside.into_iter().any(moves)
    }

    /// The report of an apply of these changes.
    pub fn new(path: &HostPath, changes: &Changes, applied: Applied) -> Self {
        let mergeable: HashSet<TreePath> = applied.mergeable.into_iter().collect();
        let conflict = |(path, conflict): (TreePath, Conflict)| ConflictReport {
            conflict: conflict.word(),
            why: conflict.to_string(),
            mergeable: mergeable.contains(&path),
            path,
        };
        let protected =
            changes.list.iter().filter_map(|change| Some((&change.path, change.protected?)));
        let protected: HashMap<&TreePath, &Entry> = protected.collect();
        let held = |path: TreePath| HeldReport {
            runs_by: protected.get(&path).map_or("", |entry| entry.runs_by),
            path,
        };
        Self {
            path: path.clone(),
            conflicts: applied.left.into_iter().map(conflict).collect(),
            held: applied.held.into_iter().map(held).collect(),
            applied: applied.applied,
            merged: applied.merged,
            committed: Vec::new(),
            commits_read: true,
        }
    }

    /// Whether the host was changed.
    pub fn has_done_something(&self) -> bool {
        !self.applied.is_empty() || !self.merged.is_empty()
    }

    /// Whether something that was asked for was left.
    pub fn has_left_something(&self) -> bool {
        !self.conflicts.is_empty() || !self.held.is_empty()
    }
}

/// What was thrown away.
#[derive(Clone, Debug, Serialize)]
pub struct DiscardedReport {
    /// The directory of the host.
    pub path: HostPath,
    /// The paths that were named; none if it was everything.
    pub discarded: Vec<TreePath>,
    /// Whether it was everything.
    pub all: bool,
}

/// What was taken back.
#[derive(Clone, Debug, Serialize)]
pub struct UndoneReport {
    /// The directory of the host.
    pub path: HostPath,
    /// The paths that are as before the last apply.
    pub undone: Vec<TreePath>,
}
