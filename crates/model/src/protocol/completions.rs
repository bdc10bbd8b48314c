//! Chat completions, as OpenAI and many local servers speak it. Nothing of what was thought is given back: the protocol
//! has no place for it.

use serde_json::{Value, json};

use super::StreamError;
use super::parts::{Growing, GrowingCall, MOST_CALLS, json as read, object, reported, text};
use crate::message::{Content, Delta, Message, Reply, Request, Role, Stop, Thinking};
use crate::sse::Event;

pub(super) fn encode(request: &Request) -> Value {
    let system = json!({ "role": "system", "content": request.system });
    let system = (!request.system.is_empty()).then_some(system);
    let messages: Vec<Value> =
        system.into_iter().chain(request.messages.iter().flat_map(messages)).collect();
    let function = |tool: &crate::message::ToolSpec| json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({ "type": "function", "function": function(tool) }))
        .collect();
    let effort = effort(request.thinking);
    // A model that reasons calls its bound by another name, and takes no temperature.
    let (bound, temperature) = match effort {
        Some(_) => ("max_completion_tokens", None),
        None => ("max_tokens", request.temperature),
    };
    object([
        ("model", Some(json!(request.model))),
        (bound, Some(json!(request.max_tokens.saturating_add(thinking_tokens(request.thinking))))),
        ("stream", Some(json!(true))),
        ("stream_options", Some(json!({ "include_usage": true }))),
        ("messages", Some(Value::Array(messages))),
        ("tools", (!tools.is_empty()).then_some(Value::Array(tools))),
        ("temperature", temperature.map(|value| json!(value))),
        ("reasoning_effort", effort.map(|word| json!(word))),
    ])
}

/// The word that comes nearest to a number of tokens.
pub(super) fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Off | Thinking::Budget(0) => None,
        Thinking::Budget(1..=4096) => Some("low"),
        Thinking::Budget(4097..=16_384) => Some("medium"),
        Thinking::Budget(_) | Thinking::Max => Some("high"),
    }
}

/// Thoughts are part of the answer's tokens.
pub(super) fn thinking_tokens(thinking: Thinking) -> u32 {
    match thinking {
        Thinking::Off => 0,
        Thinking::Budget(tokens) => tokens,
        Thinking::Max => 30_000,
    }
}

/// One turn is several messages where it has results of tools.
fn messages(message: &Message) -> Vec<Value> {
    let results = message.content.iter().filter_map(|content| match content {
        Content::Result(result) => {
            Some(json!({ "role": "tool", "tool_call_id": result.id, "content": result.text }))
        }
        _ => None,
    });
    let mut written: Vec<Value> = results.collect();
    let words = message.text();
    match message.role {
        Role::User if !words.is_empty() => {
            written.push(json!({ "role": "user", "content": words }))
        }
        Role::User => {}
        Role::Assistant => {
            let call = |call: &crate::message::ToolCall| {
                let arguments = call.arguments.to_value().to_string();
                json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
            };
            let calls: Vec<Value> = message.calls().map(call).collect();
            written.push(object([
                ("role", Some(json!("assistant"))),
                (
                    "content",
                    Some(if words.is_empty() && !calls.is_empty() {
                        Value::Null
                    } else {
                        json!(words)
                    }),
                ),
                ("tool_calls", (!calls.is_empty()).then_some(Value::Array(calls))),
            ]));
        }
    }
    written
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    growing: Growing,
    words: String,
    thoughts: String,
    calls: Vec<GrowingCall>,
    stop: Option<Stop>,
    pub(super) is_done: bool,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        event: &Event,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<(), StreamError> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let value = read(event)?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(reported(error));
        }
        if self.growing.model.is_empty() {
            text(&value, "/model").clone_into(&mut self.growing.model);
        }
        super::count_usage(&value, &mut self.growing.usage);
        // The last event of some servers has usage and no choice.
        let Some(choice) = value.pointer("/choices/0") else { return Ok(()) };
        self.add(choice, shown)?;
        match text(choice, "/finish_reason") {
            "" => {}
            "stop" => self.stop = Some(Stop::Finished),
            "tool_calls" | "function_call" => self.stop = Some(Stop::Calls),
            "length" => self.stop = Some(Stop::MaxTokens),
            "content_filter" => self.stop = Some(Stop::Refused),
            other => self.stop = Some(Stop::Other(other.chars().take(100).collect())),
        }
        Ok(())
    }

    fn add(&mut self, choice: &Value, shown: &mut dyn FnMut(Delta)) -> Result<(), StreamError> {
        let words = text(choice, "/delta/content");
        if !words.is_empty() {
            self.growing.count(words.len())?;
            self.words.push_str(words);
            shown(Delta::Text(words.to_owned()));
        }
        let thoughts = ["/delta/reasoning_content", "/delta/reasoning"]
            .iter()
            .map(|place| text(choice, place));
        if let Some(thoughts) = thoughts.into_iter().find(|thoughts| !thoughts.is_empty()) {
            self.growing.count(thoughts.len())?;
            self.thoughts.push_str(thoughts);
            shown(Delta::Thinking(thoughts.to_owned()));
        }
        let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.add_call(call, shown)?;
        }
        Ok(())
    }

    fn add_call(&mut self, piece: &Value, shown: &mut dyn FnMut(Delta)) -> Result<(), StreamError> {
        let id = text(piece, "/id");
        let index = piece
            .get("index")
            .and_then(Value::as_u64)
            .map(|index| usize::try_from(index).unwrap_or(usize::MAX));
        // Some local servers send no index: a new id begins a new call.
        let last = self.calls.last();
        let index = index.unwrap_or(match last {
            Some(last) if id.is_empty() || last.id == id => self.calls.len() - 1,
            _ => self.calls.len(),
        });
        if index > MOST_CALLS {
            return Err(StreamError::TooMuch { what: "calls", most: MOST_CALLS });
        }
        while self.calls.len() <= index {
            self.growing.count_call()?;
            self.calls.push(GrowingCall::default());
        }
        let arguments = text(piece, "/function/arguments");
        let name = text(piece, "/function/name");
        self.growing.count(arguments.len() + id.len() + name.len())?;
        let Some(call) = self.calls.get_mut(index) else { return Ok(()) };
        if !id.is_empty() && call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() && call.name.is_empty() {
            name.clone_into(&mut call.name);
            shown(Delta::Call { name: name.to_owned() });
        }
        call.add(arguments);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Reply, StreamError> {
        let Some(stop) = self.stop else { return Err(StreamError::CutOff) };
        let mut growing = self.growing;
        if !self.thoughts.is_empty() {
            growing.content.push(Content::Thinking { text: self.thoughts, kept: None });
        }
        growing.content.push(Content::Text { text: self.words });
        for (number, mut call) in self.calls.into_iter().enumerate() {
            if call.name.is_empty() {
                return Err(StreamError::Sense("a call without a name"));
            }
            if call.id.is_empty() {
                call.id = format!("call_{number}");
            }
            growing.content.push(Content::Call(call.call()));
        }
        Ok(growing.reply(stop))
    }
}
