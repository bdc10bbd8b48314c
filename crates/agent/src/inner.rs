//! Calls of tools, whoever makes them. A tool that runs may have the agent call others: such a call has a number of its own,
//! is recorded before it is made as the model's are, and goes where the model's would go. Nothing can be called by it that the
//! model could not call, and not the tool itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::Cancel;
use serde_json::{Map, Value};

use crate::elsewhere::{During, Elsewhere};
use crate::event::{CallId, Event, Watch};
use crate::hands::{Hands, Ran};
use crate::transcript::Line;

/// Calls other tools for one that runs.
pub trait CallsTools: Sync {
    /// Calls one of the agent's tools. What fails is a result like any other.
    fn call(&self, tool: &str, arguments: &Map<String, Value>, cancel: &Cancel) -> Ran;
}

/// Where the calls of one agent go.
pub(crate) struct Dispatch<'a> {
    pub(crate) hands: &'a Hands,
    pub(crate) elsewhere: &'a [&'a dyn Elsewhere],
    pub(crate) watch: &'a dyn Watch,
    /// The longest call.
    pub(crate) longest: Duration,
    /// The end of the budget of time.
    pub(crate) until: Option<Instant>,
    /// The number of the last call.
    pub(crate) called: &'a AtomicU64,
    /// What tools have called, for the transcript.
    pub(crate) lines: Mutex<Vec<Line>>,
}

impl Dispatch<'_> {
    /// Tells of a call and records it. One that cannot be recorded is not made.
    pub(crate) fn begins(
        &self,
        id: CallId,
        tool: &str,
        arguments: Map<String, Value>,
        text: &[u8],
    ) -> Result<(), Ran> {
        let CallId { number: call, within } = id;
        self.watch.saw(&Event::Call { call, within, tool: tool.to_owned(), arguments });
        self.watch.calls(id, tool, text).map_err(|error| {
            Ran::failed(format!(
                "error: the call was not made, because it cannot be recorded: {error}"
            ))
        })
    }

    /// How long a call may take that begins now.
    pub(crate) fn limit(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(self.longest, |left| left.min(self.longest))
    }

    /// Who has a tool that is not the worker's.
    pub(crate) fn elsewhere(&self, tool: &str) -> Option<&dyn Elsewhere> {
        let is_there = |more: &&&dyn Elsewhere| more.tools().iter().any(|known| known.name == tool);
        self.elsewhere.iter().find(is_there).copied()
    }

    pub(crate) fn is_of_hands(&self, tool: &str) -> bool {
        self.hands.tools().iter().any(|known| known == tool)
    }

    /// That there is no such tool, and which there are.
    pub(crate) fn unknown(&self, tool: &str) -> Ran {
        let others = self.elsewhere.iter().flat_map(|more| more.tools());
        let known: Vec<&str> = (self.hands.tools().iter().map(String::as_str))
            .chain(others.map(|tool| tool.name.as_str()))
            .collect();
        let (name, known) = (tool.chars().take(60).collect::<String>(), known.join(", "));
        Ran::failed(format!("error: there is no tool `{name}`; there are {known}"))
    }

    /// What its tool may call.
    pub(crate) fn within<'a>(&'a self, number: u64, tool: &'a str) -> Inner<'a> {
        Inner { dispatch: self, number, tool }
    }
}

/// Records and tells what a call came to.
pub(crate) fn ended(watch: &dyn Watch, call: u64, ran: &Ran) {
    watch.called(call, ran.text.as_bytes(), ran.is_error);
    watch.saw(&Event::Result { call, text: ran.text.clone(), is_error: ran.is_error });
}

/// Calls for one call.
pub(crate) struct Inner<'a> {
    dispatch: &'a Dispatch<'a>,
    number: u64,
    /// Who calls.
    tool: &'a str,
}

impl CallsTools for Inner<'_> {
    fn call(&self, tool: &str, arguments: &Map<String, Value>, cancel: &Cancel) -> Ran {
        let Dispatch { hands, watch, called, .. } = *self.dispatch;
        let limit = self.dispatch.limit();
        let number = called.fetch_add(1, Ordering::Relaxed) + 1;
        let id = CallId { number, within: Some(self.number) };
        let text = serde_json::to_vec(arguments).unwrap_or_default();
        let ran = match self.dispatch.begins(id, tool, arguments.clone(), &text) {
            Err(refused) => refused,
            Ok(()) if tool == self.tool => {
                Ran::failed(format!("error: `{tool}` cannot be called by itself"))
            }
            Ok(()) => match self.dispatch.elsewhere(tool) {
                Some(by) => by.call(
                    tool,
                    arguments,
                    &During { limit, cancel, progress: &|_| {}, tools: self },
                ),
                None if self.dispatch.is_of_hands(tool) => {
                    hands.run(tool, arguments, limit, cancel)
                }
                None => self.dispatch.unknown(tool),
            },
        };
        ended(watch, number, &ran);
        self.dispatch.lines.lock().unwrap_or_else(PoisonError::into_inner).push(Line::Called {
            call: number,
            within: self.number,
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            text: ran.text.clone(),
            is_error: ran.is_error,
        });
        ran
    }
}
