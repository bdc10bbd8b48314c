//! Somebody has to agree before an executor does certain things: a callback, a person at the terminal, an
//! answer that was stored, or nobody. Every answer is on record before it holds.

mod terminal;

use std::ffi::OsString;
use std::time::SystemTime;

use audit::Event;
use cage::Recording;
use cage::state::Locations;
use manifest::Asked;
use manifest::autonomy::Ask;
use plan::render::for_shell;
use plan::{ByteString, HostPath};
use policy::with_causes;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::error::Failure;
use crate::executor::Executor;
use crate::files::{Pinned, hexadecimal};
use crate::grants::{NewGrant, Store, StoreError};
use crate::sandbox::Level;

pub use terminal::Terminal;

#[cfg(test)]
mod tests;

/// Agrees or does not.
pub trait Approver {
    /// Asked once for each capability that needs somebody's word.
    fn ask(&self, question: &Question) -> Answer;
}

/// What somebody has to agree to. Texts of the executor and of the call: whoever shows them escapes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The executor's name.
    pub executor: String,
    /// Its version.
    pub version: String,
    /// The capability, such as `mail:send`.
    pub capability: String,
    /// What it is limited to, if it is.
    pub target: Option<String>,
    /// The command that will run, as a shell takes it.
    pub command: String,
    /// The arguments of the call; none where they are not known yet.
    pub arguments: Option<Map<String, Value>>,
    /// What will be around it.
    pub sandbox: Level,
    /// Whether the answer holds for this call alone, whatever it is.
    pub always: bool,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, for this call.
    Once,
    /// Yes, also for later calls of the same executor in the same way; for this call alone where the question is asked always.
    Always {
        /// Until when; for good where none.
        until: Option<SystemTime>,
    },
    /// No.
    No,
}

/// Says no.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: &Question) -> Answer {
        Answer::No
    }
}

/// Asks a function.
#[derive(Clone, Copy, Debug)]
pub struct Callback<F>(pub F);

impl<F: Fn(&Question) -> Answer> Approver for Callback<F> {
    fn ask(&self, question: &Question) -> Answer {
        (self.0)(question)
    }
}

/// Whom an answer is about, and where it is kept.
pub(crate) struct Asking<'a> {
    pub(crate) executor: &'a Executor,
    pub(crate) command: &'a [OsString],
    pub(crate) arguments: Option<&'a Map<String, Value>>,
    /// The code and the files that the manifest pins.
    pub(crate) files: &'a [Pinned],
    /// What will be around the program.
    pub(crate) around: Level,
    pub(crate) extra_ro: &'a [HostPath],
    pub(crate) extra_rw: &'a [HostPath],
    pub(crate) approver: &'a dyn Approver,
    /// The state directory; none for this user's own.
    pub(crate) state: Option<&'a HostPath>,
}

impl Asking<'_> {
    /// Has everything answered; the first no refuses the call.
    pub(crate) fn settle(&self, asks: &[Asked]) -> Result<(), Failure> {
        if asks.is_empty() {
            return Ok(());
        }
        let digest = self.digest();
        let state = self.state.cloned().or_else(|| Locations::of_this_process().state);
        let no_place =
            || Failure::unavailable("there is no place for a record of approvals: set HOME");
        let state = state.ok_or_else(no_place)?;
        let store = Store::open(&state);
        asks.iter().try_for_each(|asked| self.settle_one(asked, &digest, &store, &state))
    }

    fn settle_one(
        &self,
        asked: &Asked,
        digest: &str,
        store: &Store,
        state: &HostPath,
    ) -> Result<(), Failure> {
        let Asked { capability, target, ask } = asked;
        let name = &self.executor.manifest.name;
        let new = |until| NewGrant {
            executor: name.clone(),
            code_sha256: digest.to_owned(),
            capability: capability.clone(),
            target: target.clone(),
            until,
        };
        let kept = |error| match error {
            StoreError::Record(failure) => failure,
            other => Failure::refused("grants", with_causes(&other)),
        };
        if *ask == Ask::Storable && store.has(&new(None), SystemTime::now()).map_err(kept)? {
            return record(state, given(name, asked, "stored"));
        }
        let answer = self.approver.ask(&self.question(asked));
        let is_over =
            matches!(answer, Answer::Always { until: Some(until) } if until <= SystemTime::now());
        match answer {
            // An answer whose time is over is none.
            _ if is_over => self.not_approved(asked, state),
            Answer::No => self.not_approved(asked, state),
            Answer::Always { until } if *ask == Ask::Storable => {
                record(state, given(name, asked, "always"))?;
                store.add(&new(until)).map_err(kept)
            }
            Answer::Once | Answer::Always { .. } => record(state, given(name, asked, "once")),
        }
    }

    fn not_approved(&self, asked: &Asked, state: &HostPath) -> Result<(), Failure> {
        let Asked { capability, target, .. } = asked;
        let name = &self.executor.manifest.name;
        let target = target.as_deref().unwrap_or_default();
        let refused = Event::GrantRefused {
            executor: name.as_str().into(),
            capability: capability.as_str().into(),
            target: target.into(),
        };
        record(state, refused)?;
        let about = if target.is_empty() { String::new() } else { format!(" ({target})") };
        let what = format!("nobody approved `{capability}`{about} for `{name}`");
        Err(Failure::refused("not_approved", policy::shown::Shown(&what)))
    }

    /// By which a stored answer knows what it was given for: all that a manifest says, the files, the
    /// command, and what the caller puts around it. The form is that of `Debug`, which quotes every text, so
    /// that no two of them read the same; where another compiler writes it otherwise, it is asked again.
    fn digest(&self) -> String {
        let Self { executor, command, files, around, extra_ro, extra_rw, .. } = self;
        let Executor { manifest, code, .. } = executor;
        let whole = format!("{:?}", (manifest, code, files, command, around, extra_ro, extra_rw));
        hexadecimal(&Sha256::digest(whole))
    }

    fn question(&self, asked: &Asked) -> Question {
        let words = self.command.iter().map(|word| for_shell(&ByteString::from(word.clone())));
        Question {
            executor: self.executor.manifest.name.clone(),
            version: self.executor.manifest.version.clone(),
            capability: asked.capability.clone(),
            target: asked.target.clone(),
            command: words.collect::<Vec<_>>().join(" "),
            arguments: self.arguments.cloned(),
            sandbox: self.around,
            always: asked.ask == Ask::Always,
        }
    }
}

fn given(executor: &str, asked: &Asked, answer: &str) -> Event {
    Event::GrantGiven {
        executor: executor.into(),
        capability: asked.capability.as_str().into(),
        target: asked.target.as_deref().unwrap_or_default().into(),
        answer: answer.into(),
    }
}

/// Returns when the event is durable.
pub(crate) fn record(state: &HostPath, event: Event) -> Result<(), Failure> {
    let recording = Recording { state: Some(state.clone()), labels: cage::Labels::default() };
    let log = recording.open().map_err(|error| Failure::unavailable(with_causes(&error)))?;
    let durable = log.record(&event).and_then(|_| log.checkpoint());
    durable.map(drop).map_err(|error| Failure::unavailable(with_causes(&error)))
}
