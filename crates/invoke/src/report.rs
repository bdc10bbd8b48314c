//! What `stockade run` and a host of calls say about a run, on a descriptor that no program in a cage has: made by the
//! host, read and judged by the caller.

use std::time::Duration;

use cage::Ended;
use policy::{Fault, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Failure;

#[cfg(test)]
mod tests;

/// The parts of the result that a call needs; see `stockade run --json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) invocation: Option<String>,
    /// Of a program that ended by itself.
    exit_code: i32,
    signal: Option<i32>,
    reason: String,
    pub(crate) layers: Option<Value>,
    #[serde(default)]
    pub(crate) quarantined: Vec<Left>,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    duration_ms: Option<u64>,
    error: Option<ErrorReport>,
}

/// A file that a program left and that would run code on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Where the program left it.
    pub path: String,
    /// Where it is now; none where it was changed or reported, and not moved.
    pub moved_to: Option<String>,
    /// What became of it, in a sentence.
    pub what: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ErrorReport {
    code: String,
    message: String,
    #[serde(default)]
    help: Vec<String>,
}

/// How a program ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exited(pub(crate) i32);

impl Report {
    /// A program that ran, by its name in the record.
    pub(crate) fn of_run(name: &str, ended: &Ended) -> Self {
        let left = ended.findings.found.iter().map(|finding| {
            let (path, moved_to) = finding.place();
            let moved_to = moved_to.map(ToString::to_string);
            Left { path: path.to_string(), moved_to, what: finding.to_string() }
        });
        Self {
            invocation: Some(name.to_owned()),
            exit_code: ended.exit_code(),
            signal: ended.signal(),
            reason: ended.reason.word().to_owned(),
            layers: ended.layers.and_then(|layers| serde_json::to_value(layers).ok()),
            quarantined: left.collect(),
            notes: ended.findings.notes.iter().map(|note| note.text().to_owned()).collect(),
            duration_ms: u64::try_from(ended.duration.as_millis()).ok(),
            error: None,
        }
    }

    /// A program that did not run, or of which it is not known.
    pub(crate) fn of_failure(name: Option<String>, failure: &advice::Failure) -> Self {
        let code = failure.kind.word().to_owned();
        Self {
            invocation: name,
            exit_code: 0,
            signal: None,
            reason: code.clone(),
            layers: None,
            quarantined: Vec::new(),
            notes: Vec::new(),
            duration_ms: None,
            error: Some(ErrorReport { code, message: failure.text(), help: failure.help.clone() }),
        }
    }

    /// None where nothing was written, or nothing whole.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        self.duration_ms.map(Duration::from_millis)
    }

    /// The program's own exit code, or what ended it or kept it from starting.
    pub(crate) fn outcome(&self, seconds: u64) -> Result<Exited, Failure> {
        if let Some(error) = &self.error {
            return Err(error.failure());
        }
        let killed = |reason: String| Failure::Killed { reason };
        match (self.reason.as_str(), self.signal) {
            ("exited", _) => Ok(Exited(self.exit_code)),
            ("walltime_exceeded", _) => Err(Failure::Timeout { seconds }),
            ("signalled", Some(signal)) => Err(killed(format!("signal {signal}"))),
            (other, _) => Err(killed(other.to_owned())),
        }
    }
}

impl ErrorReport {
    fn failure(&self) -> Failure {
        // A call has no such flag.
        let help = self.help.iter().filter(|line| !line.contains("--degraded-limits"));
        let what = std::iter::once(&self.message).chain(help);
        let what = what.cloned().collect::<Vec<_>>().join("; ");
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == self.code);
        match kind.map(Kind::fault) {
            Some(Fault::CannotBuild) => Failure::Unavailable { reason: what },
            Some(Fault::RecordLost) => Failure::Killed { reason: self.code.clone() },
            // What is not known is no reason to go on.
            Some(
                Fault::Usage
                | Fault::BadPolicy
                | Fault::Refused
                | Fault::NotExecutable
                | Fault::NotFound,
            )
            | None => Failure::Refused { code: self.code.clone(), what },
        }
    }
}
