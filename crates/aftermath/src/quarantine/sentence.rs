//! What a finding is to a person: one sentence, with the command where there is one. Only words.

use std::fmt;

use plan::HostPath;
use plan::render::for_shell;
use resolve::protected_names::tracked::Unknown;

use super::{Fate, Finding, Unsearched};

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
            Self::CheckedOut { work_tree, before, path, others } => {
                checked_out(formatter, work_tree, before.as_deref(), path, others)
            }
            Self::Kept { path, moved_to } => write!(
                formatter,
                "`{}` was not committed as it was, and Git has put something else in its place; what it was is \
                 `{}`, and `stockade quarantine restore` takes it back",
                shown(path),
                shown(moved_to)
            ),
            Self::PutBack { path, moved_to, entry } => {
                let (path, runs_by) = (shown(path), entry.runs_by);
                match moved_to {
                    Some(moved_to) => write!(
                        formatter,
                        "`{path}` was changed during the run to what no commit of the host held before, and is run by \
                         {runs_by}; it is what it was again, and the program's is `{}`: `stockade quarantine \
                         restore` takes that",
                        shown(moved_to)
                    ),
                    None => write!(
                        formatter,
                        "`{path}` was removed during the run and not by a checkout, and is run by {runs_by}; it \
                         is there again"
                    ),
                }
            }
            Self::Committed { commit, path, count, .. } => {
                let path = shown(path);
                let (others, come) = match count.saturating_sub(1) {
                    0 => (String::new(), "comes"),
                    1 => (" and one other file".to_owned(), "come"),
                    others => (format!(" and {others} other files"), "come"),
                };
                write!(
                    formatter,
                    "commits of this run hold `{path}`{others} as no commit did before, which can run code and \
                     {come} with a checkout; look at them: `git show {commit}`"
                )
            }
            Self::CommitsUnknown { path } => write!(
                formatter,
                "not all commits of this run in `{}` were looked at for files that run code; look at them before \
                 you check them out",
                shown(path)
            ),
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

/// How what Git has changed can be looked at and taken back.
fn checked_out(
    formatter: &mut fmt::Formatter<'_>,
    work_tree: &HostPath,
    before: Option<&str>,
    path: &HostPath,
    others: &[HostPath],
) -> fmt::Result {
    let (more, was) = match others.len() {
        0 => (String::new(), "was"),
        1 => (" and one other file".to_owned(), "were"),
        others => (format!(" and {others} other files"), "were"),
    };
    write!(
        formatter,
        "`{}`{more}, which can run code, {was} changed to what commits from before the run hold",
        policy::shown::shortened(path)
    )?;
    let Some(before) = before else { return Ok(()) };
    let relative = |path: &HostPath| {
        let below = path.as_bytes().strip_prefix(work_tree.as_bytes()).unwrap_or_default();
        for_shell(&below.strip_prefix(b"/").unwrap_or(below).into())
    };
    let all = [path].into_iter().chain(others).take(MOST_NAMED);
    let paths = all.map(relative).collect::<Vec<_>>().join(" ");
    let git = format!("git -C {}", for_shell(&work_tree.as_bytes().into()));
    write!(
        formatter,
        "; `{git} diff {before} -- {paths}` shows the difference, and `{git} restore --source={before} -- \
         {paths}` takes it back"
    )
}

/// How many names a command has that a person may still read.
const MOST_NAMED: usize = 16;
