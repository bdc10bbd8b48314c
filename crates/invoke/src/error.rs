//! Why a call has no answer, in kinds that a program can tell apart. Messages name arguments, never
//! their values.

use manifest::Autonomy;
use policy::shown::shortened;
use serde_json::{Map, Value, json};

use crate::report::Left;
use crate::sandbox::Sandbox;

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvokeError {
    /// What went wrong. Boxed as what follows is: an answer is the common case.
    pub failure: Box<Failure>,
    /// What was around the program; none where it was not started.
    pub sandbox: Option<Box<Sandbox>>,
    /// The level that held.
    pub autonomy: Autonomy,
    /// The start's name in the record, if it has one.
    pub invocation: Option<String>,
    /// The end of what the program wrote to standard error.
    pub stderr: String,
    /// Files that it left and that would run code on the host, and where they are now.
    pub left: Box<[Left]>,
    /// What the manifest declares and the call did not get, one sentence each: often the cause.
    pub narrowed: Box<[String]>,
    /// What else a person may want to know, one sentence each.
    pub notes: Box<[String]>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Its time was over.
    #[error("the executor did not end within {seconds} seconds, and was ended")]
    Timeout {
        /// The time that it had.
        seconds: u64,
    },
    /// Standard output is not one JSON object.
    #[error("the executor's output is not one JSON object: {problem}")]
    NonJson {
        /// What is wrong with it, and how it begins.
        problem: String,
    },
    /// There is more of something than may be.
    #[error("{stream} is larger than {limit} bytes")]
    TooLarge {
        /// Of what.
        stream: Stream,
        /// The most, in bytes.
        limit: u64,
    },
    /// It was ended by something else than itself.
    #[error("the executor was killed: {reason}")]
    Killed {
        /// A word: `oom`, `seccomp`, `signal N`, `cancelled`, `supervisor_lost` and others.
        reason: String,
    },
    /// It failed and said nothing in JSON.
    #[error("the executor ended with code {code} and without an answer")]
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// The call is not allowed, or makes no sense.
    #[error("{what}")]
    Refused {
        /// A stable word for what kind of refusal it is.
        code: String,
        /// What is refused and why.
        what: String,
    },
    /// No cage can be built here.
    #[error("no cage can be built: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// What can be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The arguments of the call.
    Arguments,
    /// What the executor wrote to standard output.
    Stdout,
    /// What it wrote to standard error.
    Stderr,
}

impl Failure {
    /// The stable word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::NonJson { .. } => "non_json",
            Self::TooLarge { .. } => "too_large",
            Self::Killed { .. } => "killed",
            Self::Exited { .. } => "exited",
            Self::Refused { .. } => "refused",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    pub(crate) fn refused(code: &str, what: impl std::fmt::Display) -> Self {
        Self::Refused { code: code.to_owned(), what: what.to_string() }
    }

    pub(crate) fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self::Unavailable { reason: reason.to_string() }
    }

    /// The same for a call that started nothing.
    pub fn before_start(self, autonomy: Autonomy) -> InvokeError {
        InvokeError {
            failure: Box::new(self),
            sandbox: None,
            autonomy,
            invocation: None,
            stderr: String::new(),
            left: Box::default(),
            narrowed: Box::default(),
            notes: Box::default(),
        }
    }
}

impl Stream {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

impl std::fmt::Display for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Arguments => "the JSON of the arguments",
            Self::Stdout => "the executor's standard output",
            Self::Stderr => "the executor's standard error",
        })
    }
}

impl InvokeError {
    /// The failure for a program to read.
    pub fn to_json(&self) -> Value {
        let Self { failure, sandbox, autonomy, invocation, stderr, left, narrowed, notes } = self;
        let details: Vec<(&str, Value)> = match &**failure {
            Failure::Timeout { seconds } => vec![("seconds", json!(seconds))],
            Failure::NonJson { problem } => vec![("problem", json!(problem))],
            Failure::TooLarge { stream, limit } => {
                vec![("stream", json!(stream.word())), ("limit", json!(limit))]
            }
            Failure::Killed { reason } | Failure::Unavailable { reason } => {
                vec![("reason", json!(reason))]
            }
            Failure::Exited { code } => vec![("code", json!(code))],
            Failure::Refused { code, .. } => vec![("code", json!(code))],
        };
        let always = [("kind", json!(failure.kind())), ("message", json!(self.to_string()))];
        let error = always.into_iter().chain(details);
        let error: Map<String, Value> = error.map(|(key, value)| (key.to_owned(), value)).collect();
        json!({
            "ok": false,
            "error": error,
            "sandbox": sandbox,
            "autonomy": autonomy,
            "invocation": invocation,
            "stderr": stderr,
            "left": left,
            "narrowed": narrowed,
            "notes": notes,
        })
    }
}

impl std::fmt::Display for InvokeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.failure.fmt(formatter)?;
        // A traceback ends with what went wrong.
        let last = self.stderr.lines().rfind(|line| !line.trim().is_empty());
        match (&*self.failure, last) {
            (Failure::Exited { .. }, Some(last)) => {
                write!(formatter, "; its last line of standard error: {}", shortened(last))
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for InvokeError {}
