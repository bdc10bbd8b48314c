//! What an agent does, on record: each question to the model and each call of a tool before it happens, by the hash of
//! its content. The content itself is in the transcript alone.

use std::io;
use std::sync::Arc;

use agent::{CallId, Spent};
use audit::{Event, Log};
use model::{Cost, Usage};
use sha2::{Digest as _, Sha256};

/// Writes about one start.
#[derive(Clone)]
pub(crate) struct Record {
    log: Arc<Log>,
    invocation: String,
}

impl Record {
    pub(crate) fn new(log: &Arc<Log>, invocation: &str) -> Self {
        Self { log: Arc::clone(log), invocation: invocation.to_owned() }
    }

    pub(crate) fn asks(&self, call: u64, model: &str, request: &[u8]) -> io::Result<()> {
        self.asked(call, model, (request.len() as u64, &hash(request)))
    }

    /// The same of a request whose length and hash are known.
    pub(crate) fn asked(&self, call: u64, model: &str, request: (u64, &str)) -> io::Result<()> {
        self.write(&Event::ModelCall {
            invocation_id: self.invocation.as_str().into(),
            call,
            model: model.into(),
            bytes: request.0,
            sha256: request.1.into(),
        })
    }

    pub(crate) fn answered(
        &self,
        call: u64,
        answer: &[u8],
        usage: &Usage,
        cost: Option<Cost>,
        failure: Option<&str>,
    ) {
        self.ended(call, (answer.len() as u64, &hash(answer)), usage, cost, failure);
    }

    /// The same of an answer whose length and hash are known.
    pub(crate) fn ended(
        &self,
        call: u64,
        answer: (u64, &str),
        usage: &Usage,
        cost: Option<Cost>,
        failure: Option<&str>,
    ) {
        let event = Event::ModelAnswer {
            invocation_id: self.invocation.as_str().into(),
            call,
            failure: failure.map(Into::into),
            bytes: answer.0,
            sha256: answer.1.into(),
            tokens_in: usage.total().saturating_sub(usage.output),
            tokens_out: usage.output,
            cost_micros: cost.unwrap_or_default().0,
        };
        // The next call is refused where the record cannot be written.
        let _unwritten = self.write(&event);
    }

    pub(crate) fn calls(&self, call: CallId, tool: &str, arguments: &[u8]) -> io::Result<()> {
        self.write(&Event::ToolCall {
            invocation_id: self.invocation.as_str().into(),
            call: call.number,
            within: call.within.unwrap_or_default(),
            tool: tool.into(),
            bytes: arguments.len() as u64,
            sha256: hash(arguments).into(),
        })
    }

    pub(crate) fn called(&self, call: u64, result: &[u8], failed: bool) {
        let event = Event::ToolResult {
            invocation_id: self.invocation.as_str().into(),
            call,
            failed,
            bytes: result.len() as u64,
            sha256: hash(result).into(),
        };
        let _unwritten = self.write(&event);
    }

    /// A child begins, whose record this is. Durable when this returns.
    pub(crate) fn begins_child(
        &self,
        parent: &str,
        depth: u32,
        tools: &[String],
        grants: &str,
        task: &[u8],
    ) -> io::Result<()> {
        let event = Event::AgentSpawn {
            invocation_id: self.invocation.as_str().into(),
            parent_id: parent.into(),
            depth: depth.into(),
            tools: tools.join(",").as_str().into(),
            grants: grants.into(),
            sha256: hash(task).into(),
        };
        self.log.record(&event).map(drop).map_err(io::Error::other)
    }

    /// A child has ended.
    pub(crate) fn ended_child(&self, outcome: &str, spent: &Spent) {
        let usage = &spent.usage;
        let event = Event::AgentExit {
            invocation_id: self.invocation.as_str().into(),
            outcome: outcome.into(),
            steps: spent.steps.into(),
            tokens_in: usage.total().saturating_sub(usage.output),
            tokens_out: usage.output,
        };
        let _unwritten = self.write(&event);
    }

    fn write(&self, event: &Event) -> io::Result<()> {
        self.log.append(event).map(drop).map_err(io::Error::other)
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
