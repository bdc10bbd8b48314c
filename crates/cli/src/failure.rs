//! Why a command did not do what it was asked, as it is told to the caller: the exit code, one
//! message and what to do about it.

use advice::failure::Message;
use cage::{Fault, Kind};
use policy::text::Diagnostics;
use serde::Serialize;

use crate::exit::Exit;
use crate::message::Messages;

pub(crate) use advice::with_causes;

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How this process ends.
    pub(crate) exit: Exit,
    /// What kind of failure it is; none where no start was asked for.
    kind: Option<Kind>,
    /// What went wrong, in one sentence or several lines.
    pub(crate) message: Message,
    /// What to do about it.
    pub(crate) help: Vec<String>,
}

/// A failure as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    code: &'static str,
    message: String,
    help: Vec<String>,
    /// Every error of a policy text with its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Diagnostics>,
}

impl Failure {
    /// A failure with one sentence.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, kind: None, message: Message::Sentence(message.into()), help: Vec::new() }
    }

    /// The same with one more line of help.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The failure as plain text, for a program.
    pub(crate) fn text(&self) -> String {
        self.message.to_string()
    }

    /// Its word, for a program to compare.
    pub(crate) fn code(&self) -> &'static str {
        self.kind.map_or_else(|| self.exit.code(), Kind::word)
    }

    /// The kind of failure that is on record, where it is of one.
    pub(crate) fn recorded(&self) -> Option<Kind> {
        self.kind.filter(|kind| kind.is_recorded())
    }

    /// The failure for a program.
    pub(crate) fn report(&self) -> ErrorReport {
        ErrorReport {
            code: self.code(),
            message: self.text(),
            help: self.help.clone(),
            diagnostics: self.message.diagnostics().cloned(),
        }
    }

    /// The failure for a program that reads the answer of a command.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        serde_json::json!({ "exit_code": self.exit.number(), "error": self.report() })
    }

    /// Tells a person.
    pub(crate) fn tell(&self, messages: Messages) {
        match &self.message {
            Message::Sentence(text) => messages.error(text),
            Message::Policy(diagnostics) => {
                messages.drawn(&diagnostics.render(messages.style()));
                messages.error("the policy cannot be used");
            }
        }
        for help in &self.help {
            messages.help(help);
        }
    }
}

impl From<advice::Failure> for Failure {
    fn from(failure: advice::Failure) -> Self {
        let advice::Failure { kind, message, help } = failure;
        let exit = match kind.fault() {
            Fault::Usage => Exit::Usage,
            Fault::BadPolicy => Exit::BadPolicy,
            Fault::Refused => Exit::Refused,
            Fault::CannotBuild => Exit::CannotBuild,
            Fault::NotExecutable => Exit::NotExecutable,
            Fault::NotFound => Exit::NotFound,
            Fault::RecordLost => Exit::RecordLost,
        };
        Self { exit, kind: Some(kind), message, help }
    }
}

/// Errors that say themselves whose fault they are.
macro_rules! explained_by_advice {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                advice::Failure::from(error).into()
            }
        })*
    };
}

explained_by_advice!(
    cage::SpawnError,
    cage::prepare::PrepareError,
    cage::prepare::SelectionError,
    cage::EgressError,
    cage::resolve::SurroundingsError,
    cage::state::StateError,
    cage::prepare::trust::TrustError,
);
