//! After a cage with read-write grants has ended: files that run code on the host and appeared in
//! those grants are renamed in place, so that nothing runs them, and reported. Walks only below
//! the granted directories, never through a link or onto another file system, and removes nothing.

mod dating;
mod report;
mod sweep;
mod whereabouts;

pub use dating::Began;
pub use resolve::protected_names::tracked::{Tracked, Unknown};
pub use resolve::{AtStart, Index, Link, Listed};
pub use whereabouts::{Whereabouts, whereabouts};

use std::fmt;

use plan::HostPath;
use policy::protected::Entry;
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
            Self::Quarantined { path, moved_to, .. } => (path, Some(moved_to)),
            Self::Modified { path, .. }
            | Self::PerhapsMoved { path, .. }
            | Self::Undated { path, .. }
            | Self::Closed { path, .. }
            | Self::NotMoved { path, .. }
            | Self::Gitlinks { path, .. }
            | Self::Tracked { path, .. }
            | Self::IndexUnknown { path, .. }
            | Self::NotSearched { path, .. }
            | Self::More { path, .. } => (path, None),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &HostPath| policy::shown::shortened(path);
        match self {
            Self::Quarantined { path, moved_to, entry } => write!(
                formatter,
                "`{}` appeared during the run and would be run by {}; it is now `{}`",
                shown(path),
                entry.runs_by,
                shown(moved_to)
            ),
            Self::Modified { path, entry } => write!(
                formatter,
                "`{}` was changed during the run and is run by {}; look at it",
                shown(path),
                entry.runs_by
            ),
            Self::PerhapsMoved { path, entry } => write!(
                formatter,
                "`{}` may have come there with its directory during the run and is run by {}; look at it",
                shown(path),
                entry.runs_by
            ),
            Self::Undated { path, count } => {
                let path = shown(path);
                let (others, them) = match count.saturating_sub(1) {
                    0 => (String::new(), "it"),
                    1 => (" and one other file".to_owned(), "them"),
                    others => (format!(" and {others} other files"), "them"),
                };
                write!(
                    formatter,
                    "`{path}`{others} may have appeared during the run, which the file system does not \
                     tell, and can run code; look at {them}"
                )
            }
            Self::Closed { path, entry, errno } => write!(
                formatter,
                "`{}` appeared during the run, would be run by {}, and could not be renamed: {errno}; its mode is \
                 000 now",
                shown(path),
                entry.runs_by
            ),
            Self::NotMoved { path, entry, errno } => write!(
                formatter,
                "`{}` appeared during the run, will be run by {}, and could not be renamed: {errno}",
                shown(path),
                entry.runs_by
            ),
            Self::Gitlinks { index, path, count } => {
                let (index, path) = (shown(index), shown(path));
                let (others, own) = match count.saturating_sub(1) {
                    0 => (String::new(), "a repository of its own"),
                    others => (format!(" and {others} more"), "repositories of their own"),
                };
                write!(
                    formatter,
                    "`{index}` was changed during the run and now names `{path}`{others} as {own}, whose \
                     configuration Git obeys from the one around it; look at it, or take it out: `git rm \
                     --cached`"
                )
            }
            Self::Tracked { index, path, count } => {
                let (index, path) = (shown(index), shown(path));
                let (others, come) = match count.saturating_sub(1) {
                    0 => (String::new(), "comes"),
                    1 => (" and one other file".to_owned(), "come"),
                    others => (format!(" and {others} other files"), "come"),
                };
                write!(
                    formatter,
                    "`{index}` was changed during the run and now holds `{path}`{others}, which can run code \
                     and {come} back with the next checkout; look at it, or take it out: `git rm --cached`"
                )
            }
            Self::IndexUnknown { path, why } => {
                let why = match why {
                    Unknown::Split => "it is split over two files",
                    Unknown::Sparse => "it names directories as a whole",
                    Unknown::TooLarge => "it is too large",
                    Unknown::Damaged => "it is not what Git writes",
                };
                let path = shown(path);
                write!(
                    formatter,
                    "`{path}` was changed during the run and was not searched for repositories and files that \
                     run code: {why}; `git ls-files --stage` shows what it holds"
                )
            }
            Self::NotSearched { path, why } => {
                let path = shown(path);
                let more =
                    "and all that was to come after it were not searched for files that run code";
                match why {
                    Unsearched::TooManyNames => {
                        write!(formatter, "`{path}` {more}: there are too many names")
                    }
                    Unsearched::TooManyBytes => {
                        write!(formatter, "`{path}` {more}: there is too much to read")
                    }
                    Unsearched::TooLong => write!(formatter, "`{path}` {more}: it took too long"),
                    Unsearched::TooDeep => {
                        let why = "it lies too deep";
                        write!(
                            formatter,
                            "`{path}` was not searched for files that run code: {why}"
                        )
                    }
                    Unsearched::Kernel(why) => {
                        write!(
                            formatter,
                            "`{path}` was not searched for files that run code: {why}"
                        )
                    }
                }
            }
            Self::More { path, count, fate } => {
                let path = shown(path);
                match fate {
                    Fate::SetAside => write!(
                        formatter,
                        "{count} more that appeared during the run are renamed in the same way, from \
                         `{path}` on"
                    ),
                    Fate::Left => write!(
                        formatter,
                        "{count} more were changed, could not be renamed or were not searched, from \
                         `{path}` on; look at all that the run has left"
                    ),
                }
            }
        }
    }
}

/// Looks through `watched` host directories for protected names that appeared or changed since a run
/// `began`.
///
/// What was covered at the start is not looked at, and a link that is what it was counts as old,
/// however new it is. `suffix` ends the names of what is renamed: a prefix of the invocation's id.
pub fn sweep(watched: &[HostPath], at_start: &AtStart, began: Began, suffix: &str) -> Vec<Finding> {
    if !walls::stands(Wall::Quarantine) {
        return Vec::new();
    }
    sweep_within(Limits::default(), watched, at_start, began, suffix)
}

fn sweep_within(
    limits: Limits,
    watched: &[HostPath],
    at_start: &AtStart,
    began: Began,
    suffix: &str,
) -> Vec<Finding> {
    let mut roots: Vec<&HostPath> = watched.iter().collect();
    roots.sort();
    roots.dedup();
    let mut sweep = sweep::Sweep::new(at_start, began, suffix, limits);
    for root in &roots {
        // A grant inside a grant is swept with the outer one.
        let inside = std::iter::successors(root.parent(), HostPath::parent)
            .any(|above| roots.binary_search(&&above).is_ok());
        if !inside {
            sweep.below(root);
        }
    }
    sweep.into_findings()
}
