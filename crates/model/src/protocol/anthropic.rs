//! Anthropic Messages: thoughts are given back with their signatures, and the conversation so far is marked for the
//! provider's cache.

use serde_json::{Value, json};

use super::parts::{Growing, GrowingCall, json as read, object, reported, text};
use super::{Protocol, StreamError};
use crate::message::{Content, Delta, Message, Reply, Request, Role, Stop, Thinking};
use crate::sse::Event;

pub(super) fn encode(request: &Request) -> Value {
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    // What is there now is asked about again with the next request.
    if let Some(last) = messages
        .last_mut()
        .and_then(|message| message.pointer_mut("/content")?.as_array_mut()?.last_mut())
        && let Some(block) = last.as_object_mut()
        && block.get("type").is_none_or(|kind| kind != "thinking" && kind != "redacted_thinking")
    {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
    let budget = match request.thinking {
        Thinking::Off => None,
        Thinking::Budget(tokens) => Some(tokens.max(LEAST_THINKING)),
        Thinking::Max => Some(MOST_THINKING),
    };
    let thinking = budget.map(|tokens| json!({ "type": "enabled", "budget_tokens": tokens }));
    // Thoughts are part of the answer, and a model that thinks takes no temperature.
    let max_tokens = request.max_tokens.saturating_add(budget.unwrap_or_default());
    let temperature =
        request.temperature.filter(|_| budget.is_none()).map(|value| json!(value.min(1.0)));
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }))
        .collect();
    let system = json!([{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }]);
    object([
        ("model", Some(json!(request.model))),
        ("max_tokens", Some(json!(max_tokens))),
        ("stream", Some(json!(true))),
        ("system", (!request.system.is_empty()).then_some(system)),
        ("messages", Some(Value::Array(messages))),
        ("tools", (!tools.is_empty()).then_some(Value::Array(tools))),
        ("temperature", temperature),
        ("thinking", thinking),
    ])
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let block = |content: &Content| match content {
        Content::Text { text } => {
            (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
        }
        Content::Thinking { kept: Some((Protocol::Anthropic, block)), .. } => Some(block.clone()),
        Content::Thinking { .. } => None,
        Content::Call(call) => Some(json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.to_value(),
        })),
        Content::Result(result) => Some(json!({
            "type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.is_error,
        })),
    };
    json!({ "role": role, "content": message.content.iter().filter_map(block).collect::<Vec<_>>() })
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    growing: Growing,
    open: Option<Open>,
    stop: Option<Stop>,
    pub(super) is_done: bool,
}

/// The block that is being sent.
#[derive(Debug)]
enum Open {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(Value),
    Call(GrowingCall),
    /// Of a kind that means nothing here.
    Other,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        event: &Event,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<(), StreamError> {
        let value = read(event)?;
        match text(&value, "/type") {
            "message_start" => {
                text(&value, "/message/model").clone_into(&mut self.growing.model);
                super::count_usage(&value, &mut self.growing.usage);
            }
            "content_block_start" => self.begin(&value, shown)?,
            "content_block_delta" => self.add(&value, shown)?,
            "content_block_stop" => self.end()?,
            "message_delta" => {
                super::count_usage(&value, &mut self.growing.usage);
                self.stop = Some(match text(&value, "/delta/stop_reason") {
                    "end_turn" | "stop_sequence" => Stop::Finished,
                    "tool_use" => Stop::Calls,
                    "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
                    "refusal" => Stop::Refused,
                    other => Stop::Other(other.chars().take(100).collect()),
                });
            }
            "message_stop" => self.is_done = true,
            "error" => return Err(reported(value.get("error").unwrap_or(&Value::Null))),
            // `ping`, and what may come in the future.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, value: &Value, shown: &mut dyn FnMut(Delta)) -> Result<(), StreamError> {
        if self.open.is_some() {
            return Err(StreamError::Sense("a block begins within another one"));
        }
        let block =
            value.get("content_block").ok_or(StreamError::Sense("a block without content"))?;
        self.growing.count(block.to_string().len())?;
        self.open = Some(match text(block, "/type") {
            "text" => Open::Text(text(block, "/text").to_owned()),
            "thinking" => Open::Thinking {
                text: text(block, "/thinking").to_owned(),
                signature: String::new(),
            },
            "redacted_thinking" => Open::Redacted(block.clone()),
            "tool_use" => {
                self.growing.count_call()?;
                let (id, name) = (text(block, "/id").to_owned(), text(block, "/name").to_owned());
                if id.is_empty() || name.is_empty() {
                    return Err(StreamError::Sense("a call without a name"));
                }
                shown(Delta::Call { name: name.clone() });
                let mut call = GrowingCall { id, name, ..GrowingCall::default() };
                // Some servers send all arguments at once.
                if let Some(input) =
                    block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty())
                {
                    call.add(&Value::Object(input.clone()).to_string());
                }
                Open::Call(call)
            }
            _ => Open::Other,
        });
        Ok(())
    }

    fn add(&mut self, value: &Value, shown: &mut dyn FnMut(Delta)) -> Result<(), StreamError> {
        let delta = value.get("delta").ok_or(StreamError::Sense("a change of nothing"))?;
        let piece = |name: &str| text(delta, name);
        let open = self
            .open
            .as_mut()
            .ok_or(StreamError::Sense("a change of a block that has not begun"))?;
        match (open, text(delta, "/type")) {
            (Open::Text(words), "text_delta") => {
                self.growing.count(piece("/text").len())?;
                words.push_str(piece("/text"));
                shown(Delta::Text(piece("/text").to_owned()));
            }
            (Open::Thinking { text: words, .. }, "thinking_delta") => {
                self.growing.count(piece("/thinking").len())?;
                words.push_str(piece("/thinking"));
                shown(Delta::Thinking(piece("/thinking").to_owned()));
            }
            (Open::Thinking { signature, .. }, "signature_delta") => {
                self.growing.count(piece("/signature").len())?;
                signature.push_str(piece("/signature"));
            }
            (Open::Call(call), "input_json_delta") => {
                self.growing.count(piece("/partial_json").len())?;
                call.add(piece("/partial_json"));
            }
            // Of a kind that means nothing here.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), StreamError> {
        let open =
            self.open.take().ok_or(StreamError::Sense("the end of a block that has not begun"))?;
        let kept = |block: Value| Some((Protocol::Anthropic, block));
        self.growing.content.push(match open {
            Open::Text(text) => Content::Text { text },
            Open::Thinking { text, signature } => {
                let block = json!({ "type": "thinking", "thinking": text, "signature": signature });
                Content::Thinking { text, kept: kept(block) }
            }
            Open::Redacted(block) => Content::Thinking { text: String::new(), kept: kept(block) },
            Open::Call(call) => Content::Call(call.call()),
            Open::Other => return Ok(()),
        });
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Reply, StreamError> {
        match (self.is_done, self.open, self.stop) {
            (true, None, Some(stop)) => Ok(self.growing.reply(stop)),
            _ => Err(StreamError::CutOff),
        }
    }
}

/// The provider takes no less.
const LEAST_THINKING: u32 = 1024;
const MOST_THINKING: u32 = 30_000;
