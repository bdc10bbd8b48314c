//! Paths that one grant would give are told together: below which directory they may be joined, and never a
//! home, a tree of the system or a directory of secrets. Pure.

use plan::HostPath;
use policy::{Place, ungrantable};
use prepare::Grounds;

use super::{Ground, PathProblem};

/// Paths with the same problem, for the same reason, below one directory.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) problem: PathProblem,
    pub(super) root: HostPath,
    pub(super) ground: Ground,
    pub(super) first: HostPath,
    /// The path itself, or the directory that holds all of them.
    pub(super) common: HostPath,
    pub(super) paths: usize,
    pub(super) count: u64,
}

impl Group {
    pub(super) fn new(
        problem: PathProblem,
        root: HostPath,
        ground: Ground,
        path: HostPath,
        count: u64,
    ) -> Self {
        Self { problem, root, ground, first: path.clone(), common: path, paths: 1, count }
    }

    pub(super) fn add(&mut self, path: HostPath, count: u64) {
        let above = std::iter::successors(Some(self.common.clone()), HostPath::parent);
        let holds_both = above.into_iter().find(|directory| path.is_within(directory));
        self.common = holds_both.unwrap_or_else(HostPath::root);
        self.paths = self.paths.saturating_add(1);
        self.count = self.count.saturating_add(count);
    }
}

/// The broadest directory that a path may be joined with others in: the path itself for a secret.
pub(super) fn root(path: &HostPath, grounds: &Grounds, is_secret: bool) -> HostPath {
    if is_secret {
        return path.clone();
    }
    let rules = grounds.policy.fs.iter().map(|rule| &rule.path);
    // What a rule covers has its broadest directory named already.
    let granted = rules.filter(|rule| path.is_within(rule)).max_by_key(|rule| rule.depth());
    if let Some(granted) = granted {
        return granted.clone();
    }
    broadest_grant(path, &grounds.place)
}

/// The broadest directory that somebody who needs a path would grant: that of one tool or of one piece of work, or
/// the path itself.
pub fn broadest_grant(path: &HostPath, place: &Place) -> HostPath {
    let depth = if path.is_within(&place.project) {
        place.project.depth() + 1
    } else if let Some(home) = place.home.as_ref().filter(|home| path.is_within(home)) {
        home.depth() + below_home(path, home)
    } else {
        below_root(path)
    };
    let at = path.ancestors_from_root().into_iter().find(|above| above.depth() == depth);
    let at = at.unwrap_or_else(|| path.clone());
    let homes: Vec<HostPath> = place.home.iter().cloned().collect();
    if ungrantable::is_home_or_system_tree(&at, &homes) { path.clone() } else { at }
}

/// How many names below a home make a directory of one program or one piece of work.
fn below_home(path: &HostPath, home: &HostPath) -> usize {
    let below = path.as_bytes().strip_prefix(home.as_bytes()).unwrap_or_default();
    let mut names = below.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    match (names.next(), names.next()) {
        (Some(b".local"), _) => 3,
        (Some(b".config" | b".cache"), _) => 2,
        (Some(name), _) if name.starts_with(b".") => 1,
        _ => 2,
    }
}

/// The same elsewhere.
fn below_root(path: &HostPath) -> usize {
    let mut names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    match names.next() {
        Some(b"var" | b"home") => 3,
        Some(b"etc" | b"run" | b"dev" | b"proc" | b"sys") => path.depth(),
        _ => 2,
    }
}
