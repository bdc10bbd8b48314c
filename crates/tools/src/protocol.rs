//! What an agent outside a cage and the worker inside it say to each other: one JSON object a line, bounded both ways.
//! What comes from the worker is the cage's word and proves nothing.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::Reader;

/// To the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ToWorker {
    /// First of all.
    Start(Start),
    /// Call a tool.
    Call {
        /// What answers repeat.
        id: u64,
        /// The tool.
        tool: String,
        /// What it gets.
        arguments: Map<String, Value>,
        /// When it is given up.
        seconds: u64,
        /// Who gets the result.
        reader: Reader,
    },
    /// Do not go on with a call.
    Cancel {
        /// Its id.
        id: u64,
    },
    /// What was read is no longer before the model's eyes.
    Forget,
    /// Start a worker that has less, as a child.
    OpenChild {
        /// What is said of it.
        child: u64,
        /// What it has: the first line that it reads.
        narrowing: Value,
        /// A directory of its own, which is made.
        directory: PathBuf,
    },
    /// A line for a child.
    ToChild {
        /// Which.
        child: u64,
        /// Without its end.
        line: String,
    },
    /// End a child, with all that it has started.
    CloseChild {
        /// Which.
        child: u64,
    },
}

/// What a worker begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The granted tools.
    pub tools: Vec<String>,
    /// Where relative paths begin.
    pub working_directory: PathBuf,
    /// Where large results may go: the first that can be written.
    pub spill: Vec<PathBuf>,
    /// Most bytes of a result.
    pub most_result: usize,
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FromWorker {
    /// It has begun.
    Ready {
        /// The granted tools.
        tools: Vec<Described>,
    },
    /// It cannot begin.
    Failed {
        /// Why.
        text: String,
    },
    /// Something to show of a call.
    Progress {
        /// Of the call.
        id: u64,
        /// What.
        text: String,
    },
    /// A line of a child's.
    FromChild {
        /// Which.
        child: u64,
        /// Without its end.
        line: String,
    },
    /// A child has ended, or did not begin.
    ChildGone {
        /// Which.
        child: u64,
    },
    /// A call has ended.
    Done {
        /// Of the call.
        id: u64,
        /// For the model.
        text: String,
        /// Where all of it is, if that is not all.
        file: Option<String>,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// What it does.
    pub doc: String,
    /// What it takes.
    pub schema: Value,
}

/// Reads the next line; none at the end.
///
/// # Errors
/// If it is too long or makes no sense.
pub fn receive<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    // `take` on a reference leaves the rest of the stream where it is.
    io::Read::take(&mut *input, MOST_LINE as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > MOST_LINE {
        return Err(io::Error::other(format!("a line is longer than {MOST_LINE} bytes")));
    }
    serde_json::from_slice(&line).map(Some).map_err(io::Error::other)
}

/// Writes a line.
///
/// # Errors
/// If the other side is gone.
pub fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

pub(crate) const MOST_LINE: usize = 8 << 20;
