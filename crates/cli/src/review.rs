//! What `diff`, `apply`, `discard` and `undo` have in common: which session and which paths are meant, the record, and
//! why something did not happen, in words of the command line.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use audit::Log;
use cage::Recording;
use cage::session::{SessionId, Sessions};
use cage::state::Locations;
use plan::HostPath;
use policy::shown::{shortened, shown};
use review::{
    Found, Named, Place, Progress, Purpose, ReviewError, Style, TreePath, WorkspaceError,
};

use crate::arguments::review::WhichArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::{Colour, Messages};
use crate::session;
use terminal::progress::ProgressLine;

/// A session that is reviewed.
pub(crate) struct Review {
    pub(crate) session: SessionId,
    pub(crate) places: Vec<Place>,
    pub(crate) log: Log,
    directory: PathBuf,
    words: Vec<OsString>,
}

impl Review {
    /// Finds out which session and which paths a command line means, and says so where it is not plain.
    pub(crate) fn find(
        which: &WhichArguments,
        purpose: Purpose,
        messages: Messages,
    ) -> Result<Self, Failure> {
        let locations = Locations::of_this_process();
        let sessions = session::open(&locations)?;
        let mut words = which.rest.clone();
        let mut wanted = which.session.as_deref().map(session::parse).transpose()?;
        match (&wanted, &which.first) {
            (None, Some(first)) => match existing(&sessions, first) {
                Some(id) => wanted = Some(id),
                None => words.insert(0, first.clone()),
            },
            (Some(_), Some(first)) => words.insert(0, first.clone()),
            (_, None) => {}
        }
        words.extend(which.paths.iter().cloned());
        let (directory, found) = Self::found(&sessions, wanted, purpose, messages)?;
        let Found { session, places, .. } = found;
        Ok(Self { session, places, log: open_log(&locations)?, directory, words })
    }

    /// The same for a session alone.
    pub(crate) fn of_session(
        session: Option<&str>,
        purpose: Purpose,
        messages: Messages,
    ) -> Result<Self, Failure> {
        let locations = Locations::of_this_process();
        let sessions = session::open(&locations)?;
        let wanted = session.map(session::parse).transpose()?;
        let (directory, found) = Self::found(&sessions, wanted, purpose, messages)?;
        let Found { session, places, .. } = found;
        Ok(Self { session, places, log: open_log(&locations)?, directory, words: Vec::new() })
    }

    fn found(
        sessions: &Sessions,
        wanted: Option<SessionId>,
        purpose: Purpose,
        messages: Messages,
    ) -> Result<(PathBuf, Found), Failure> {
        let directory = std::env::current_dir().map_err(|error| {
            Failure::new(Exit::Usage, format!("the working directory is gone: {error}"))
        })?;
        let found = match wanted {
            Some(id) => review::of_session(sessions, id),
            None => {
                let directory = HostPath::new(directory.clone().into_os_string());
                let directory =
                    directory.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
                Found::newest(sessions, &directory, purpose)
            }
        };
        let found = found.map_err(failed)?;
        if !found.others.is_empty() {
            let others: Vec<String> =
                found.others.iter().take(MOST_SHOWN).map(|id| format!("`{id}`")).collect();
            let more = found.others.len().saturating_sub(MOST_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let (session, others) = (&found.session, others.join(", "));
            messages.note(&format!(
                "session `{session}`, the newest for this directory; there is also {others}{more}"
            ));
        }
        Ok((directory, found))
    }

    /// Says on standard error how far long work is.
    pub(crate) fn with_progress(mut self, line: &ProgressLine) -> Self {
        self.places = self
            .places
            .into_iter()
            .map(|place| place.with_progress(line.listener(progress_text)))
            .collect();
        self
    }

    /// The workspaces that are concerned, with the paths in them.
    pub(crate) fn named(&self) -> Result<Vec<Named<'_>>, Failure> {
        self.named_by(&self.words)
    }

    /// The same for other words.
    pub(crate) fn named_by(&self, words: &[OsString]) -> Result<Vec<Named<'_>>, Failure> {
        review::named(&self.places, &self.directory, words).map_err(failed)
    }

    /// Whether paths were named.
    pub(crate) fn names_paths(&self) -> bool {
        !self.words.is_empty()
    }

    /// A command for this session, to be copied: with these words after its name.
    pub(crate) fn command(&self, name: &str, rest: &str) -> String {
        let space = if rest.is_empty() { "" } else { " " };
        format!("`stockade {name} {}{space}{rest}`", self.session)
    }
}

/// The session of this name, if there is one.
fn existing(sessions: &Sessions, word: &OsString) -> Option<SessionId> {
    let id = SessionId::parse(word.to_str()?).ok()?;
    sessions.look(&id).ok().map(|_| id)
}

/// The record. Nothing of a review needs it to be written to before something is changed.
fn open_log(locations: &Locations) -> Result<Log, Failure> {
    Recording::of_nobody(locations)
        .open()
        .map_err(|error| Failure::new(Exit::CannotBuild, with_causes(&error)))
}

/// How changes are written to standard output.
pub(crate) fn style(colour: Colour) -> Style {
    match (colour.on_stdout(), std::io::stdout().is_terminal()) {
        (true, _) => Style::Coloured,
        (false, true) => Style::Terminal,
        (false, false) => Style::Plain,
    }
}

/// `1 path`, `2 paths`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Paths for a sentence, a few of them.
pub(crate) fn listed<'paths>(paths: impl ExactSizeIterator<Item = &'paths TreePath>) -> String {
    let count = paths.len();
    let mut listed: Vec<String> =
        paths.take(MOST_SHOWN).map(|path| format!("`{}`", shortened(path))).collect();
    if count > MOST_SHOWN {
        listed.push(format!("{} more", count - MOST_SHOWN));
    }
    listed.join(", ")
}

/// A path as a word of a command line, where it can be one without quotes.
pub(crate) fn as_word(path: &TreePath) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"./_-+,@%".contains(byte);
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) if !text.is_empty() && text.as_bytes().iter().all(plain) => text.to_owned(),
        Ok(text) if text.chars().all(|letter| !policy::shown::misleads(letter)) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        // Nobody can copy it from a terminal.
        _ => "PATH".to_owned(),
    }
}

/// How far long work is, in words.
fn progress_text(progress: Progress) -> String {
    match progress {
        Progress::Compared(names) => format!("compared {names} names …"),
        Progress::Staged { objects, of } => format!("prepared {objects} of {of} files …"),
        Progress::Done { steps, of } => format!("applied {steps} of {of} changes …"),
    }
}

/// A review that did not happen, as a failure of a command.
pub(crate) fn failed(error: ReviewError) -> Failure {
    let exit = match &error {
        ReviewError::Session(_) => Exit::No,
        ReviewError::NoWorkspace(_)
        | ReviewError::NothingCovers { .. }
        | ReviewError::Host { .. } => Exit::No,
        ReviewError::InUse { .. } => Exit::Refused,
        ReviewError::Outside(_) | ReviewError::BadPath { .. } => Exit::Usage,
        ReviewError::Record(_) => Exit::CannotBuild,
        ReviewError::Workspace(error) => exit_of(error),
    };
    let text = with_causes(&error);
    match error {
        ReviewError::Session(error) => session::failed(error),
        ReviewError::NothingCovers { others, .. } if others.is_empty() => Failure::new(exit, text)
            .help("`stockade run --cow . -- PROGRAM` runs a program on a copy of this directory"),
        ReviewError::NothingCovers { others, .. } => {
            let (id, path) = others.last().map_or_else(Default::default, |(id, path)| {
                (id.to_string(), shown(path))
            });
            Failure::new(exit, text)
                .help(format!("name one: session `{id}` has one for `{path}`"))
                .help("`stockade session list` shows them all")
        }
        ReviewError::NoWorkspace(_) => Failure::new(exit, text)
            .help("`stockade session list` shows which sessions have one"),
        ReviewError::Host { session, .. } => Failure::new(exit, text).help(format!(
            "put it back where it was, or `stockade session end {session}` removes the session with its changes"
        )),
        ReviewError::InUse { session, .. } => Failure::new(exit, text)
            .help(format!("`stockade diff {session}` shows the changes meanwhile")),
        ReviewError::Outside(_) => Failure::new(exit, text)
            .help("paths are relative to the working directory, or to the workspace where it is elsewhere"),
        ReviewError::Workspace(WorkspaceError::CannotUndo(_)) => Failure::new(exit, text)
            .help("`--overwrite PATH` puts back what was there before, and loses what the host has now"),
        ReviewError::Workspace(WorkspaceError::NotAChange(_)) => {
            Failure::new(exit, text).help("`stockade diff --stat` shows what was")
        }
        _ => Failure::new(exit, text),
    }
}

fn exit_of(error: &WorkspaceError) -> Exit {
    match error {
        WorkspaceError::Busy | WorkspaceError::WritableInCage | WorkspaceError::ApplyAtWork(_) => {
            Exit::Refused
        }
        WorkspaceError::NothingToUndo
        | WorkspaceError::CannotUndo(_)
        | WorkspaceError::NotAChange(_)
        | WorkspaceError::PartOf { .. }
        | WorkspaceError::ChangedSinceReview(_)
        | WorkspaceError::HostChanged(_)
        | WorkspaceError::InTheWay(_)
        | WorkspaceError::TooLarge { .. } => Exit::No,
        WorkspaceError::Kernel { .. }
        | WorkspaceError::Malformed { .. }
        | WorkspaceError::Unfinished(_)
        | WorkspaceError::Output(_) => Exit::CannotBuild,
    }
}

/// How many names a sentence has.
const MOST_SHOWN: usize = 5;
