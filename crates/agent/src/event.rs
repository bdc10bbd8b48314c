//! What happens to an agent, for whoever shows it, records it, or answers its questions.

use std::io;

use model::{Cost, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::budget::{Exhausted, Spent};

/// Something that happened. Texts are the model's and the cage's: a terminal filters them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A task has begun, or goes on.
    Begun {
        /// The name by which it can be resumed.
        session: String,
        /// The model.
        model: String,
        /// What it may call.
        tools: Vec<String>,
    },
    /// The model says something.
    Text {
        /// The next piece.
        text: String,
    },
    /// The model thinks.
    Thinking {
        /// The next piece.
        text: String,
    },
    /// The answer broke off, and is asked for again: what came of it does not count.
    Again {
        /// Why.
        why: String,
    },
    /// The model may not be asked yet.
    Waiting {
        /// Why.
        why: String,
        /// So many seconds.
        seconds: u64,
    },
    /// The model calls a tool.
    Call {
        /// Counted from one.
        call: u64,
        /// The call whose tool makes this one, where it is not the model that does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<u64>,
        /// The tool.
        tool: String,
        /// What it gets.
        arguments: Map<String, Value>,
    },
    /// A tool shows something meanwhile.
    Progress {
        /// Of the call.
        call: u64,
        /// What.
        text: String,
    },
    /// A call has ended.
    Result {
        /// Of the call.
        call: u64,
        /// What the model gets.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The model has answered.
    Step {
        /// What has been spent so far.
        spent: Spent,
    },
    /// What was said before was summed up.
    Compacted {
        /// Messages before.
        before: usize,
        /// Messages afterwards.
        after: usize,
    },
    /// Something to know.
    Warning {
        /// What.
        text: String,
    },
    /// It has ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// What was spent.
        spent: Spent,
    },
}

/// Which call of a tool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallId {
    /// Counted from one.
    pub number: u64,
    /// The call whose tool makes it.
    pub within: Option<u64>,
}

impl CallId {
    /// Of a call that no tool makes.
    pub const fn outermost(number: u64) -> Self {
        Self { number, within: None }
    }
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model has said its last word.
    Finished {
        /// The word.
        text: String,
    },
    /// A budget is used up.
    Exhausted {
        /// Which.
        budget: Exhausted,
    },
    /// Somebody stopped it.
    Cancelled,
    /// It does the same again and again.
    Stuck,
    /// The model, or its provider, refuses.
    Refused {
        /// In its words.
        text: String,
    },
    /// The model cannot be asked, or something that is needed failed.
    Failed {
        /// Why.
        text: String,
    },
}

/// Whoever watches an agent. The calls for the record come before what they are about happens; where one fails, it does
/// not happen.
pub trait Watch: Sync {
    /// Something happened.
    fn saw(&self, event: &Event);

    /// The model is about to be asked.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn asks(&self, call: u64, model: &str, request: &[u8]) -> io::Result<()> {
        let _ = (call, model, request);
        Ok(())
    }

    /// The model has answered, or not.
    fn answered(
        &self,
        call: u64,
        answer: &[u8],
        usage: &Usage,
        cost: Option<Cost>,
        failure: Option<&str>,
    ) {
        let _ = (call, answer, usage, cost, failure);
    }

    /// A tool is about to be called.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn calls(&self, call: CallId, tool: &str, arguments: &[u8]) -> io::Result<()> {
        let _ = (call, tool, arguments);
        Ok(())
    }

    /// A call has ended.
    fn called(&self, call: u64, result: &[u8], is_error: bool) {
        let _ = (call, result, is_error);
    }

    /// The model asks the person something. No answer is a refusal.
    fn ask(&self, question: &str) -> Option<String> {
        let _ = question;
        None
    }
}
