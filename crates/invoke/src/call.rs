//! One call of an executor: one JSON object in on standard input, one out on standard output. Whatever
//! happens, the answer or the failure says what was around the program, and nothing of it is left.

use std::ffi::OsString;
use std::time::Duration;

use manifest::Autonomy;
use manifest::CheckedArguments;
use policy::shown::shown;
use serde_json::{Map, Value, json};

use crate::decide::{Decided, decide};
use crate::error::{Failure, InvokeError, Stream};
use crate::executor::Executor;
use crate::options::{Calls, Options, Unsandboxed};
use crate::process::{self, End, EndedFor, Job, Kind, REPORT_DESCRIPTOR, Ran};
use crate::report::{Exited, Left, Report};
use crate::sandbox::{Level, Sandbox};
use crate::status::{self, Availability};
use crate::wrap::{Enclosure, Start, enclose, enclosure};
use crate::{guest, host};

#[cfg(test)]
mod tests;

/// What an executor answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Invoked {
    /// The object that it printed.
    pub value: Map<String, Value>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Its exit code; an executor may say in its answer why it is not 0.
    pub exit_code: i32,
    /// What was around it.
    pub sandbox: Sandbox,
    /// The level that held.
    pub autonomy: Autonomy,
    /// What the manifest declares and this call did not get.
    pub narrowed: Vec<String>,
    /// What a person may want to know.
    pub notes: Vec<String>,
    /// Files that it left and that would run code on the host, and where they are now.
    pub left: Vec<Left>,
    /// The start's name in the record; none without a cage of ours.
    pub invocation: Option<String>,
    /// From its first instruction to its end, as far as that is known.
    pub duration: Duration,
}

/// Calls an executor and waits for its answer. M61, M63, M68
pub fn invoke(
    executor: &Executor,
    arguments: &Map<String, Value>,
    options: &Options<'_>,
) -> Result<Invoked, InvokeError> {
    let before = |failure: Failure| failure.before_start(options.autonomy);
    let text = serde_json::to_vec(arguments);
    let text = text.map_err(|error| before(Failure::refused("argument", error)))?;
    if text.len() > MOST_ARGUMENTS {
        let (stream, limit) = (Stream::Arguments, MOST_ARGUMENTS as u64);
        return Err(before(Failure::TooLarge { stream, limit }));
    }
    let command = executor.command();
    let enclosure = enclosure(executor, options).map_err(before)?;
    // Whoever is asked agrees to the executor's own words.
    let decide = |level| {
        let mut decided = decide(executor, &command, Some(arguments), options, level)?;
        let command = guest::command(&command, &mut decided, options)?;
        Ok((decided, command))
    };
    let (decided, words) = decide(enclosure.level()).map_err(before)?;
    let call = Call { executor, command: &words, decided: &decided, options };
    match call.run(enclosure) {
        Err(error) if options.unsandboxed == Unsandboxed::Allow => {
            let reason = call.why_without_cage(error)?;
            // Whoever agreed to a cage has not agreed to none.
            let (decided, _) = &decide(Level::None).map_err(before)?;
            Call { decided, ..call }.run(Enclosure::None(reason))
        }
        ended => ended,
    }
}

impl Invoked {
    /// The answer for a program to read.
    pub fn to_json(&self) -> Value {
        let duration_ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX);
        json!({
            "ok": true,
            "result": self.value,
            "exit_code": self.exit_code,
            "sandbox": self.sandbox,
            "autonomy": self.autonomy,
            "narrowed": self.narrowed,
            "notes": self.notes,
            "left": self.left,
            "invocation": self.invocation,
            "duration_ms": duration_ms,
            "stderr": self.stderr,
        })
    }
}

/// A call that may be made.
struct Call<'a> {
    executor: &'a Executor,
    command: &'a [OsString],
    decided: &'a Decided,
    options: &'a Options<'a>,
}

impl Call<'_> {
    /// Why it may run without a cage, if it is so that none can be built here: a start that failed for any
    /// other reason, or a program that may have run, is not started again.
    fn why_without_cage(&self, error: InvokeError) -> Result<String, InvokeError> {
        if !matches!(*error.failure, Failure::Unavailable { .. }) {
            return Err(error);
        }
        match status::available(self.options.stockade) {
            Ok(Availability::Unavailable { reason }) => Ok(reason),
            Ok(Availability::Available) | Err(_) => Err(error),
        }
    }

    fn run(&self, enclosure: Enclosure) -> Result<Invoked, InvokeError> {
        let before = |failure: Failure| failure.before_start(self.options.autonomy);
        let wrapped = enclose(self.executor, self.command, self.decided, self.options, enclosure);
        let wrapped = wrapped.map_err(before)?;
        let level = wrapped.sandbox.level;
        let ran = self.start(wrapped.start, level);
        let ran = ran.map_err(|error| before(Failure::unavailable(error)))?;
        let report = match level {
            Level::Native => Report::read(&ran.report),
            Level::Bwrap | Level::None => None,
        };
        let outcome = self.outcome(&ran, report.as_ref(), level);
        let answer = outcome.and_then(|exited| answer(&ran.stdout, exited));
        let layers = report.as_ref().and_then(|report| report.layers.clone());
        let sandbox = Sandbox { layers, ..wrapped.sandbox };
        let invocation = report.as_ref().and_then(|report| report.invocation.clone());
        let left = report.as_ref().map(|report| report.quarantined.clone()).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        match answer {
            Ok((value, Exited(exit_code))) => Ok(Invoked {
                notes: notes(wrapped.notes, report.as_ref()),
                left,
                value,
                stderr,
                exit_code,
                sandbox,
                autonomy: self.options.autonomy,
                narrowed: wrapped.narrowed,
                invocation,
                duration: report.and_then(|report| report.duration()).unwrap_or(ran.duration),
            }),
            Err(failure) => Err(InvokeError {
                failure: Box::new(failure),
                sandbox: Some(Box::new(sandbox)),
                autonomy: self.options.autonomy,
                invocation,
                stderr: tail(&stderr),
                left: left.into(),
                narrowed: wrapped.narrowed.into(),
                notes: notes(wrapped.notes, report.as_ref()).into(),
            }),
        }
    }

    fn start(&self, start: Start, level: Level) -> Result<Ran, process::RunFailure> {
        let time = Duration::from_secs(self.decided.seconds);
        let (kind, deadline) = match level {
            // It keeps the time itself, from the program's first instruction on.
            Level::Native => (Kind::Supervisor, time + cage::GRACE + LONGEST_START),
            Level::Bwrap | Level::None => {
                (Kind::Group, self.options.timeout.unwrap_or(time).min(time))
            }
        };
        let arguments = self.decided.arguments.as_ref().map(CheckedArguments::as_map);
        // An object of JSON's own values is always text.
        let input = serde_json::to_string(&arguments).unwrap_or_default();
        let job = Job {
            argv: self.command,
            working_directory: self.executor.code_directory.as_path(),
            input: input.as_bytes(),
            most_output: usize::try_from(self.executor.manifest.limits.max_output)
                .unwrap_or(usize::MAX),
            deadline,
            kind,
            is_cancelled: self.options.is_cancelled,
        };
        if let Start::Sealed(program, sealed) = &start
            && self.is_for_host()
            && let Some(ran) = host::run(program, sealed, &self.decided.caller, &job)?
        {
            return Ok(ran);
        }
        process::run(&Job { argv: &start.into_argv(self.command, &flags()), ..job })
    }

    /// How connections leave this machine is read anew for each cage with a network, and a host knows one way.
    fn is_for_host(&self) -> bool {
        self.options.calls == Calls::Many && self.decided.derived.policy.net.asks_for_nothing()
    }

    /// How the program ended. What this process ended it for comes first.
    fn outcome(&self, ran: &Ran, report: Option<&Report>, level: Level) -> Result<Exited, Failure> {
        let limit = self.executor.manifest.limits.max_output;
        let seconds = self.decided.seconds;
        match ran.ended_for {
            Some(EndedFor::Stdout) => {
                return Err(Failure::TooLarge { stream: Stream::Stdout, limit });
            }
            Some(EndedFor::Stderr) => {
                return Err(Failure::TooLarge { stream: Stream::Stderr, limit });
            }
            Some(EndedFor::Deadline) => return Err(Failure::Timeout { seconds }),
            Some(EndedFor::Cancelled) => {
                return Err(Failure::Killed { reason: "cancelled".to_owned() });
            }
            None => {}
        }
        if let Some(report) = report {
            return report.outcome(seconds);
        }
        match (level, ran.end) {
            (Level::Native, End::Exited(code)) => {
                let reason = format!("`stockade` ended with code {code} and without a report");
                Err(Failure::Unavailable { reason })
            }
            (Level::Native, End::Signalled(_) | End::Unknown) => {
                Err(Failure::Killed { reason: "supervisor_lost".to_owned() })
            }
            (_, End::Exited(code)) => Ok(Exited(code)),
            (_, End::Signalled(signal)) => {
                Err(Failure::Killed { reason: format!("signal {signal}") })
            }
            (_, End::Unknown) => Err(Failure::Killed { reason: "unknown".to_owned() }),
        }
    }
}

/// The answer on standard output: exactly one JSON object.
fn answer(stdout: &[u8], exited: Exited) -> Result<(Map<String, Value>, Exited), Failure> {
    let problem = match serde_json::from_slice(stdout) {
        Ok(Value::Object(value)) => return Ok((value, exited)),
        Ok(_) => "it is JSON, and no object".to_owned(),
        Err(_) if stdout.trim_ascii().is_empty() => "it is empty".to_owned(),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let place = format!("{:?} error at line {line}, column {column}", error.classify());
            format!("{}; it begins with `{}`", place.to_lowercase(), beginning(stdout))
        }
    };
    match exited {
        Exited(0) => Err(Failure::NonJson { problem }),
        Exited(code) => Err(Failure::Exited { code }),
    }
}

/// The first line that says something, safe to print.
fn beginning(stdout: &[u8]) -> String {
    let text = String::from_utf8_lossy(stdout.get(..MOST_SHOWN_BYTES).unwrap_or(stdout));
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let safe = shown(line.trim());
    match safe.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", safe.get(..end).unwrap_or_default()),
        None => safe,
    }
}

/// What is worth knowing before the run and after it.
fn notes(before: Vec<String>, report: Option<&Report>) -> Vec<String> {
    let left = report.map(|report| report.quarantined.as_slice()).unwrap_or_default();
    let after = report.map(|report| report.notes.as_slice()).unwrap_or_default();
    before
        .into_iter()
        .chain(left.iter().map(|one| one.what.clone()))
        .chain(after.to_vec())
        .collect()
}

/// How a `stockade` reports to this process and to nobody else.
fn flags() -> [OsString; 2] {
    ["--result-fd".into(), REPORT_DESCRIPTOR.to_string().into()]
}

/// The end of a text, from a whole character on.
fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(LONGEST_TAIL);
    let from = (from..=text.len()).find(|index| text.is_char_boundary(*index));
    from.and_then(|from| text.get(from..)).unwrap_or_default().to_owned()
}

/// How much of an output that is no answer is shown, in characters, and looked at for it.
const MOST_SHOWN: usize = 160;
const MOST_SHOWN_BYTES: usize = 4096;

/// The most bytes of arguments.
const MOST_ARGUMENTS: usize = 16 << 20;

/// How long a cage may take to start and to be taken down before it counts as stuck.
const LONGEST_START: Duration = Duration::from_secs(30);

const LONGEST_TAIL: usize = 8 << 10;
