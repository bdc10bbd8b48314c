//! What an agent said and did, one JSON object a line, from which it can go on. Written as it happens, bounded, readable
//! by its owner alone. What was cut short by a crash is left out when it is read.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use model::{Arguments, Content, Message, Role, ToolResult};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::budget::Spent;
use crate::event::Outcome;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A task has begun, or goes on.
    Begun {
        /// Of this form.
        version: u32,
        /// Seconds since 1970.
        at: u64,
        /// The model.
        model: String,
        /// The cage's session, which keeps what the agent changes.
        session: Option<String>,
    },
    /// A turn.
    Said {
        /// The turn.
        message: Message,
    },
    /// A tool has called another, before the turn with its own result.
    Called {
        /// Of the call.
        call: u64,
        /// The call whose tool made it.
        within: u64,
        /// The other tool.
        tool: String,
        /// What it got.
        arguments: serde_json::Map<String, serde_json::Value>,
        /// What it came to.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// What was spent so far.
    Spent {
        /// All of it.
        spent: Spent,
    },
    /// From here on these turns stand for all before.
    Compacted {
        /// The turns.
        messages: Vec<Message>,
    },
    /// It ended. More may follow, when it goes on.
    Ended {
        /// How.
        outcome: Outcome,
    },
}

/// A transcript that is open.
#[derive(Debug)]
pub struct Transcript {
    file: File,
    path: PathBuf,
    bytes: u64,
}

/// Why there is no transcript.
#[derive(Debug, Error)]
pub enum TranscriptError {
    /// It cannot be read or written.
    #[error("the transcript `{}` cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Another agent writes it.
    #[error("the transcript `{}` is in use", .0.display())]
    InUse(PathBuf),
    /// A line of it makes no sense.
    #[error("line {line} of the transcript `{}` makes no sense: {why}", path.display())]
    Line {
        /// Which.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// Why.
        why: String,
    },
    /// It is too long.
    #[error("the transcript `{}` has more than {} MiB", .0.display(), MOST_BYTES >> 20)]
    TooLong(PathBuf),
}

/// What a transcript says of an agent so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The turns, complete: a call that nothing answered is answered by an error.
    pub messages: Vec<Message>,
    /// What was spent.
    pub spent: Spent,
    /// The cage's session.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
}

impl Transcript {
    /// Opens a transcript, which is made if it is missing, and reads what it says.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(path: &Path) -> Result<(Self, Told), TranscriptError> {
        let failed = |source| TranscriptError::File { path: path.to_owned(), source };
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        let nofollow = rustix::fs::OFlags::NOFOLLOW.bits();
        options.custom_flags(i32::try_from(nofollow).unwrap_or_default());
        let mut file = options.open(path).map_err(failed)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| TranscriptError::InUse(path.to_owned()))?;
        let length = file.metadata().map_err(failed)?.len();
        if length > MOST_BYTES {
            return Err(TranscriptError::TooLong(path.to_owned()));
        }
        let (told, whole) = read(&mut file, path)?;
        if whole < length {
            file.set_len(whole).map_err(failed)?;
        }
        Ok((Self { file, path: path.to_owned(), bytes: whole }, told))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written, or there are too many.
    pub fn add(&mut self, line: &Line) -> Result<(), TranscriptError> {
        let failed = |source| TranscriptError::File { path: self.path.clone(), source };
        let mut bytes =
            serde_json::to_vec(line).map_err(|error| failed(io::Error::other(error)))?;
        bytes.push(b'\n');
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(TranscriptError::TooLong(self.path.clone()));
        }
        self.file.write_all(&bytes).map_err(failed)
    }

    /// The line of a beginning.
    pub fn begun(model: &str, session: Option<&str>) -> Line {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Line::Begun { version: 1, at, model: model.to_owned(), session: session.map(str::to_owned) }
    }
}

/// What the lines say, and how many bytes they have.
fn read(file: &mut File, path: &Path) -> Result<(Told, u64), TranscriptError> {
    let failed = |source| TranscriptError::File { path: path.to_owned(), source };
    file.rewind().map_err(failed)?;
    let mut reader = BufReader::new(file).take(MOST_BYTES);
    let (mut told, mut whole) = (Told::default(), 0);
    for number in 1.. {
        let mut line = Vec::new();
        let count = reader.read_until(b'\n', &mut line).map_err(failed)?;
        // A line without its end was cut short.
        if count == 0 || line.last() != Some(&b'\n') {
            break;
        }
        whole += count as u64;
        let line: Line = serde_json::from_slice(&line).map_err(|error| TranscriptError::Line {
            path: path.to_owned(),
            line: number,
            why: error.to_string(),
        })?;
        match line {
            Line::Begun { session, model, .. } => {
                told.session = session.or(told.session);
                told.model = Some(model);
            }
            Line::Said { message } => told.messages.push(message),
            Line::Spent { spent } => told.spent = spent,
            Line::Compacted { messages } => told.messages = messages,
            Line::Called { .. } | Line::Ended { .. } => {}
        }
    }
    complete(&mut told.messages);
    Ok((told, whole))
}

/// Answers what nothing has answered: a provider takes no call without a result.
fn complete(messages: &mut Vec<Message>) {
    let Some(last) = messages.last().filter(|last| last.role == Role::Assistant) else { return };
    let results: Vec<Content> = last
        .calls()
        .map(|call| {
            let text = "error: the agent was interrupted before this call ended".to_owned();
            Content::Result(ToolResult { id: call.id.clone(), text, is_error: true })
        })
        .collect();
    if !results.is_empty() {
        messages.push(Message { role: Role::User, content: results });
    }
}

/// The arguments of a call as an event shows them.
pub(crate) fn shown(arguments: &Arguments) -> serde_json::Map<String, serde_json::Value> {
    match arguments {
        Arguments::Object(map) => map.clone(),
        Arguments::Unreadable(_) => serde_json::Map::new(),
    }
}

const MOST_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests;
