//! What a caller asks a [`Runner`](super::Runner) to start, as plain data and descriptors.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use limits::Degraded;

pub use audit::UncagedReason;

use prepare::Prepared;
use session::Session;

use crate::record::Labels;

/// A program to start.
#[derive(Debug)]
pub struct Request {
    /// In a cage, or without one.
    pub confinement: Confinement,
    /// Whom it is for.
    pub labels: Labels,
    /// Where its standard streams lead.
    pub streams: Streams,
    /// The session that it is in, which it leaves when nothing of it is left. That of a single run
    /// ends then.
    pub session: Option<Session>,
    /// Whether it may start with limits that are held less well than asked for. A runner that allows
    /// this for all of its programs does so whatever is said here. K148
    pub degraded_limits: Degraded,
}

impl Request {
    /// A program in a cage, without input, whose output is kept.
    pub fn caged(prepared: Prepared) -> Self {
        Self::of(Confinement::Caged(Box::new(prepared)))
    }

    /// A program without a cage, without input, whose output is kept. Runners refuse it unless they
    /// were told to allow it.
    pub fn uncaged(program: UncagedProgram) -> Self {
        Self::of(Confinement::Uncaged(program))
    }

    fn of(confinement: Confinement) -> Self {
        let (labels, streams) = (Labels::default(), Streams::default());
        let degraded_limits = Degraded::Refuse;
        Self { confinement, labels, streams, session: None, degraded_limits }
    }
}

impl From<Prepared> for Request {
    fn from(prepared: Prepared) -> Self {
        Self::caged(prepared)
    }
}

/// What is around a program.
#[derive(Debug)]
pub enum Confinement {
    /// A cage. The `invocation` of its Plan names the start.
    Caged(Box<Prepared>),
    /// Nothing.
    Uncaged(UncagedProgram),
}

/// A program that runs as the caller, with the caller's files and network. K157
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncagedProgram {
    /// The name of this start, such as a [`Name`](prepare::Name). No other start has it.
    pub invocation: String,
    /// The program and its arguments. A name without a slash is looked up in this process's `PATH`.
    pub argv: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub working_directory: PathBuf,
    /// Its longest life, which holds without a cage as well. K162
    pub walltime: Option<Duration>,
    /// Who said that it needs no cage. K161
    pub reason: UncagedReason,
}

impl Confinement {
    /// The name of the start.
    pub(crate) fn invocation(&self) -> &str {
        match self {
            Self::Caged(prepared) => &prepared.plan.start.invocation,
            Self::Uncaged(program) => &program.invocation,
        }
    }
}

impl UncagedProgram {
    /// The program's name, as it was asked for.
    pub(crate) fn name(&self) -> &OsStr {
        self.argv.first().map(OsString::as_os_str).unwrap_or_default()
    }
}

/// Where a program's standard streams lead.
#[derive(Debug)]
pub enum Streams {
    /// Each its own way.
    Separate {
        /// Standard input.
        stdin: Input,
        /// Standard output.
        stdout: Output,
        /// Standard error.
        stderr: Output,
    },
    /// All three to a terminal that is made for the cage. What is written to it is kept as standard
    /// output. Not for programs without a cage.
    Terminal {
        /// Its size before the program starts.
        size: TerminalSize,
        /// How much of what is written is kept.
        keep: Keep,
    },
}

impl Streams {
    /// Whether an output waits to be read that has no room to read it from.
    pub(super) fn wait_for_ever(&self) -> bool {
        let waits = |keep: &Keep| keep.bytes == 0 && keep.overflow == Overflow::Backpressure;
        let output = |output: &Output| matches!(output, Output::Keep(keep) if waits(keep));
        match self {
            Self::Terminal { keep, .. } => waits(keep),
            Self::Separate { stdout, stderr, .. } => output(stdout) || output(stderr),
        }
    }
}

impl Default for Streams {
    /// No input, and both outputs kept.
    fn default() -> Self {
        let keep = || Output::Keep(Keep::default());
        Self::Separate { stdin: Input::Null, stdout: keep(), stderr: keep() }
    }
}

/// Where standard input comes from.
#[derive(Debug)]
pub enum Input {
    /// Nowhere.
    Null,
    /// From [`Handle::take_stdin`](super::Handle::take_stdin).
    Pipe,
    /// From something that the caller opened. Never a terminal of the host and never a directory:
    /// the caller sees to that.
    Descriptor(OwnedFd),
}

/// Where standard output or error goes.
#[derive(Debug)]
pub enum Output {
    /// Nowhere.
    Null,
    /// Into memory, for any number of readers.
    Keep(Keep),
    /// To something that the caller opened. Never a terminal of the host and never a directory: the
    /// caller sees to that.
    Descriptor(OwnedFd),
}

/// How much of an output is kept. K238
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Most bytes; memory is taken as it is needed.
    pub bytes: usize,
    /// What happens when there are more.
    pub overflow: Overflow,
}

impl Default for Keep {
    /// The last 8 MiB.
    fn default() -> Self {
        Self { bytes: 8 << 20, overflow: Overflow::Discard }
    }
}

/// What happens to output that nobody has read when there is no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The program waits until every reader has read on. With no reader at all it waits for one. Needs room
    /// for a byte at least.
    Backpressure,
    /// The oldest bytes are dropped, and readers that have not had them are told how many.
    Discard,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in each.
    pub columns: u16,
}
