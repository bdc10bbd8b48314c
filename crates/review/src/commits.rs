//! Commits that an apply brings to the host's repository: which of them hold files that run code. A later checkout
//! would put those where nobody has confirmed them. Reads within bounds; changes nothing, and judges no other repository
//! than the one at the top of the project.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use plan::HostPath;
use policy::protected::{self, Object};
use resolve::commits::{History, Repository, Tips, tips};
use serde::Serialize;
use workspace::TreePath;

/// A commit that has come with an apply, and what it holds that runs code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommittedReport {
    /// Which one, as short as people name it.
    pub commit: String,
    /// The path in it.
    pub path: TreePath,
    /// What runs it.
    pub runs_by: &'static str,
}

/// The commits of the host before an apply.
pub(crate) enum Before {
    /// Nothing of a repository is applied.
    Untouched,
    /// They cannot be read.
    Unknown,
    /// What they are; of a repository that comes with the apply, none.
    Known(Repository),
}

impl Before {
    /// Those at the top of a directory, if what is applied is about its repository.
    pub(crate) fn of<'a>(
        directory: &HostPath,
        mut concerned: impl Iterator<Item = &'a TreePath>,
    ) -> Self {
        if !concerned.any(|path| path.as_bytes().starts_with(b".git/")) {
            return Self::Untouched;
        }
        repository(directory).map_or(Self::Unknown, Self::Known)
    }

    /// What has come since and runs code, and whether that is all.
    pub(crate) fn came(self) -> (Vec<CommittedReport>, bool) {
        let repository = match self {
            Self::Untouched => return (Vec::new(), true),
            Self::Unknown => return (Vec::new(), false),
            Self::Known(repository) => repository,
        };
        let until = Instant::now() + MOST_TIME;
        let asked = tips(&repository.common).zip(History::of(&repository, until));
        let Some((made, is_whole)) = asked.map(|(now, mut history)| history.made_since(&now))
        else {
            return (Vec::new(), false);
        };
        let reports = made.into_iter().filter_map(|made| {
            let entry = protected::matches(&made.path, Object::Any)?;
            let path = TreePath::parse(&made.path).ok()?;
            Some(CommittedReport { commit: made.commit.short(), path, runs_by: entry.runs_by })
        });
        (reports.collect(), is_whole)
    }
}

fn repository(directory: &HostPath) -> Option<Repository> {
    let common = directory.join(".git").ok()?;
    let tips = match common.as_path().symlink_metadata() {
        Ok(found) if found.is_dir() => tips(&common)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Tips { is_whole: true, ..Tips::default() }
        }
        Ok(_) | Err(_) => return None,
    };
    Some(Repository { common, work_trees: Vec::new(), tips })
}

const MOST_TIME: Duration = Duration::from_secs(2);
