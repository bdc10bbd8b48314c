//! After a cage with read-write grants has ended: files that run code on the host and appeared in
//! those grants are renamed in place, so that nothing runs them, and reported. Walks only below
//! the granted directories, never through a link or onto another file system, and removes nothing.

mod dating;
mod report;
mod sentence;
mod stored;
mod sweep;
mod unreviewed;
mod whereabouts;

pub use dating::Began;
pub use resolve::protected_names::tracked::{Tracked, Unknown};
pub use resolve::{AtStart, Index, Link, Listed};
pub use stored::{RestoreError, Stored, stored};
pub use unreviewed::Unreviewed;
pub use whereabouts::{Whereabouts, whereabouts};

use plan::HostPath;
use policy::protected::Entry;
use resolve::commits::hash_blob;
use rustix::io::Errno;
use walls::Wall;

use sweep::Limits;

#[cfg(test)]
mod tests;

/// What a sweep came upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A protected name appeared during the run and was renamed.
    Quarantined {
        /// Where it appeared.
        path: HostPath,
        /// Where it is now.
        moved_to: HostPath,
        /// Why it matters.
        entry: &'static Entry,
    },
    /// A protected file was changed during the run that existed before, or that the user has granted by
    /// its name; it stays where it is.
    Modified {
        /// Which file.
        path: HostPath,
        /// Why it matters.
        entry: &'static Entry,
    },
    /// A protected file has not changed itself, but is in a directory that may have been moved there during
    /// the run.
    PerhapsMoved {
        /// Which file.
        path: HostPath,
        /// Why it matters.
        entry: &'static Entry,
    },
    /// Protected names that may have been there before or not: they lie deeper than a start looks, on a file
    /// system whose dates say nothing.
    Undated {
        /// The first of them.
        path: HostPath,
        /// How many there are.
        count: usize,
    },
    /// A protected name appeared, could not be renamed, and was closed to everybody instead.
    Closed {
        /// Where it is.
        path: HostPath,
        /// Why it matters.
        entry: &'static Entry,
        /// Why it could not be renamed.
        errno: Errno,
    },
    /// A protected name appeared and could not be renamed.
    NotMoved {
        /// Where it is.
        path: HostPath,
        /// Why it matters.
        entry: &'static Entry,
        /// The kernel's answer.
        errno: Errno,
    },
    /// An index of Git has changed and names repositories that it did not name before: Git asks them for
    /// their state, and obeys their configuration, when it is asked for that of the one around them.
    Gitlinks {
        /// Which index.
        index: HostPath,
        /// Where the first of them is expected.
        path: HostPath,
        /// How many there are.
        count: usize,
    },
    /// An index of Git has changed and holds protected names that it did not hold before: they come back with
    /// the next checkout.
    Tracked {
        /// Which index.
        index: HostPath,
        /// Where the first of them belongs.
        path: HostPath,
        /// How many there are.
        count: usize,
    },
    /// Protected files were changed to what commits held when the run began, as a checkout does.
    CheckedOut {
        /// The work tree.
        work_tree: HostPath,
        /// The commit that was checked out when the run began.
        before: Option<String>,
        /// The first of them.
        path: HostPath,
        /// The others.
        others: Vec<HostPath>,
    },
    /// What a file held that was in no commit, and that something else was checked out over, is kept.
    Kept {
        /// Where the file is.
        path: HostPath,
        /// Where it is what it was.
        moved_to: HostPath,
    },
    /// A protected file was changed to what no commit held when the run began, and is what it was again.
    PutBack {
        /// Which file.
        path: HostPath,
        /// What the program made of it; none where it had removed it.
        moved_to: Option<HostPath>,
        /// Why it matters.
        entry: &'static Entry,
    },
    /// Commits have come that hold protected names as no commit held them before: they come with a checkout.
    Committed {
        /// Which repository.
        repository: HostPath,
        /// One of the commits.
        commit: String,
        /// Where the first of the files belongs.
        path: HostPath,
        /// How many there are.
        count: usize,
    },
    /// Commits have come, and not all of them were looked at.
    CommitsUnknown {
        /// Which repository.
        path: HostPath,
    },
    /// An index of Git has changed, and not all that it holds is known.
    IndexUnknown {
        /// Which index.
        path: HostPath,
        /// Why not.
        why: Unknown,
    },
    /// A part of a grant that the sweep did not see.
    NotSearched {
        /// Which part.
        path: HostPath,
        /// Why not.
        why: Unsearched,
    },
    /// More of the same than are told one by one.
    More {
        /// The first of them.
        path: HostPath,
        /// How many there are.
        count: usize,
        /// What became of them.
        fate: Fate,
    },
}

/// What became of something that a sweep has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was renamed.
    SetAside,
    /// It is where it was.
    Left,
}

/// Why a part of a grant was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsearched {
    /// More names than one sweep reads: it and all that was to come after it.
    TooManyNames,
    /// More bytes than one sweep reads: it and all that was to come after it.
    TooManyBytes,
    /// One sweep does not take longer: it and all that was to come after it.
    TooLong,
    /// Deeper than anybody works.
    TooDeep,
    /// The kernel refused to open or list it.
    Kernel(Errno),
}

impl Finding {
    /// What it is about, and where that is now if it was renamed.
    pub fn place(&self) -> (&HostPath, Option<&HostPath>) {
        match self {
            Self::Quarantined { path, moved_to, .. } | Self::Kept { path, moved_to } => {
                (path, Some(moved_to))
            }
            Self::PutBack { path, moved_to, .. } => (path, moved_to.as_ref()),
            Self::Modified { path, .. }
            | Self::PerhapsMoved { path, .. }
            | Self::Undated { path, .. }
            | Self::Closed { path, .. }
            | Self::NotMoved { path, .. }
            | Self::Gitlinks { path, .. }
            | Self::Tracked { path, .. }
            | Self::CheckedOut { path, .. }
            | Self::Committed { path, .. }
            | Self::CommitsUnknown { path }
            | Self::IndexUnknown { path, .. }
            | Self::NotSearched { path, .. }
            | Self::More { path, .. } => (path, None),
        }
    }
}

/// Looks through `watched` host directories for protected names that appeared or changed since a run
/// `began`.
///
/// What was covered at the start is not looked at, and a link that is what it was counts as old,
/// however new it is. `suffix` ends the names of what is renamed: a prefix of the invocation's id.
/// `unreviewed` is what only programs in cages have committed, and learns what this one has.
pub fn sweep(
    watched: &[HostPath],
    at_start: &AtStart,
    began: Began,
    suffix: &str,
    unreviewed: &mut Unreviewed,
) -> Vec<Finding> {
    if !walls::stands(Wall::Quarantine) {
        return Vec::new();
    }
    sweep_within(Limits::default(), watched, at_start, began, suffix, unreviewed)
}

fn sweep_within(
    limits: Limits,
    watched: &[HostPath],
    at_start: &AtStart,
    began: Began,
    suffix: &str,
    unreviewed: &mut Unreviewed,
) -> Vec<Finding> {
    let mut roots: Vec<&HostPath> = watched.iter().collect();
    roots.sort();
    roots.dedup();
    let mut sweep = sweep::Sweep::new(at_start, began, suffix, limits);
    let accepted = at_start.watched.iter().map(|watched| hash_blob(&watched.contents));
    // A list that cannot be written keeps what it had, which is the stricter.
    let _stricter = unreviewed.accept(accepted);
    sweep.distrust(unreviewed);
    for root in &roots {
        // A grant inside a grant is swept with the outer one.
        let inside = std::iter::successors(root.parent(), HostPath::parent)
            .any(|above| roots.binary_search(&&above).is_ok());
        if !inside {
            sweep.below(root);
        }
    }
    let (mut findings, made) = sweep.into_findings();
    if unreviewed.add(made).is_err()
        && let Some(repository) = at_start.repositories.first()
    {
        findings.push(Finding::CommitsUnknown { path: repository.common.clone() });
    }
    findings
}
