//! What has to be looked at on the host when a cage has ended: files that would run code there, and
//! covers that somebody took away from outside. Renames what was planted, as `quarantine` does;
//! changes nothing else.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use plan::{Access, HostPath, Source};
use policy::shown::shortened;

use prepare::Prepared;

use crate::quarantine::{self, AtStart, Began, Finding, Unreviewed, Whereabouts};
use crate::settings::Settings;

/// What a look after the end has to know of a cage.
#[derive(Debug)]
pub struct Aftermath {
    /// Nothing where no directory is watched.
    began: Option<Began>,
    watched: Vec<HostPath>,
    at_start: AtStart,
    covered: Vec<Source>,
    hidden_once_there: Vec<HostPath>,
    single_files: Vec<(Source, Access)>,
    settings: Settings,
    suffix: String,
}

/// What a look came upon.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Files that run code on the host.
    pub found: Vec<Finding>,
    /// The rest, in words.
    pub notes: Vec<Note>,
}

/// A sentence for a person.
#[derive(Clone, Debug)]
pub enum Note {
    /// Worth knowing.
    Worth(String),
    /// May not be wanted.
    Warning(String),
}

impl Note {
    /// The sentence.
    pub fn text(&self) -> &str {
        match self {
            Self::Worth(text) | Self::Warning(text) => text,
        }
    }
}

impl Aftermath {
    /// What is known of a cage right before its start.
    pub fn of(prepared: &Prepared) -> Self {
        let single_files = prepared.single_files();
        Self {
            began: (!prepared.plan.walls.watched.is_empty()).then(Began::now),
            watched: prepared.plan.walls.watched.clone(),
            at_start: prepared.at_start(),
            covered: prepared.covered().cloned().collect(),
            hidden_once_there: prepared.hidden_once_there.clone(),
            single_files: single_files.map(|(source, access)| (source.clone(), access)).collect(),
            settings: Settings::of(&prepared.writable_by_name, prepared.home.as_ref()),
            suffix: prepared.plan.start.invocation.to_ascii_lowercase(),
        }
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
            && self.covered.is_empty()
            && self.hidden_once_there.is_empty()
            && self.single_files.is_empty()
            && self.settings.is_empty()
    }

    /// Looks, after the end. What commits are to be reviewed is kept below the state directory.
    pub fn look(&self, state: Option<&Path>) -> Findings {
        let found = self.began.map(|began| {
            let mut unreviewed = Unreviewed::read(state);
            quarantine::sweep(&self.watched, &self.at_start, began, &self.suffix, &mut unreviewed)
        });
        let found = found.unwrap_or_default();
        let covered = self.covered.iter().filter_map(of_covered);
        let came = self.hidden_once_there.iter().filter_map(of_one_that_came);
        let replaced = self.single_files.iter().filter_map(|(source, access)| {
            let lost = match access {
                Access::ReadOnly => "the program saw the old file",
                Access::ReadWrite => "what the program wrote went to the old file",
            };
            let path = shortened(&source.path);
            (!is_same(source)).then(|| {
                Note::Warning(format!(
                    "`{path}` was replaced or removed on the host during the run; {lost}; grant its \
                     directory instead"
                ))
            })
        });
        let changed = self.settings.changed().into_iter().map(Note::Warning);
        Findings { found, notes: covered.chain(came).chain(replaced).chain(changed).collect() }
    }
}

fn of_covered(source: &Source) -> Option<Note> {
    match quarantine::whereabouts(source) {
        // Of what is gone nothing is left to look at.
        Whereabouts::Same | Whereabouts::Removed => None,
        Whereabouts::SetAside(place) => Some(Note::Worth(format!(
            "`{}` had appeared during the run of another cage, which has ended and set it aside as \
             `{}`",
            shortened(&source.path),
            shortened(&place)
        ))),
        Whereabouts::Replaced => Some(Note::Warning(format!(
            "`{}` was replaced on the host during the run, which took away what hid it or kept it \
             read-only; look at it before you use it",
            shortened(&source.path)
        ))),
    }
}

/// The rule was there, and nothing that it could have been laid over.
fn of_one_that_came(path: &HostPath) -> Option<Note> {
    path.as_path().symlink_metadata().ok()?;
    let path = shortened(path);
    Some(Note::Warning(format!(
        "`{path}` is to be hidden and came into being during the run, when it was too late for that: the \
         program could see it; make it before the next run"
    )))
}

/// Whether a path still leads to the object that was resolved.
fn is_same(source: &Source) -> bool {
    let now = std::fs::symlink_metadata(source.path.as_path());
    now.is_ok_and(|now| (now.dev(), now.ino()) == (source.device, source.inode))
}
