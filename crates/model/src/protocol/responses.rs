//! OpenAI responses: the provider keeps nothing of the conversation, and what was thought is given back as it came,
//! encrypted by the provider.

use serde_json::{Value, json};

use super::completions::{effort, thinking_tokens};
use super::parts::{Growing, GrowingCall, json as read, object, reported, text};
use super::{Protocol, StreamError};
use crate::message::{Content, Delta, Message, Reply, Request, Role, Stop};
use crate::sse::Event;

pub(super) fn encode(request: &Request) -> Value {
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false,
            })
        })
        .collect();
    let effort = effort(request.thinking);
    object([
        ("model", Some(json!(request.model))),
        (
            "max_output_tokens",
            Some(json!(request.max_tokens.saturating_add(thinking_tokens(request.thinking)))),
        ),
        ("stream", Some(json!(true))),
        ("store", Some(json!(false))),
        ("instructions", (!request.system.is_empty()).then(|| json!(request.system))),
        ("input", Some(Value::Array(input))),
        ("tools", (!tools.is_empty()).then_some(Value::Array(tools))),
        ("temperature", request.temperature.filter(|_| effort.is_none()).map(|value| json!(value))),
        ("reasoning", effort.map(|word| json!({ "effort": word, "summary": "auto" }))),
        ("include", effort.map(|_| json!(["reasoning.encrypted_content"]))),
    ])
}

fn items(message: &Message) -> Vec<Value> {
    let item = |content: &Content| match content {
        Content::Text { text } if text.is_empty() => None,
        Content::Text { text } => Some(match message.role {
            Role::User => {
                json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] })
            }
            Role::Assistant => {
                json!({ "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
            }
        }),
        Content::Thinking { kept: Some((Protocol::Responses, item)), .. } => Some(item.clone()),
        Content::Thinking { .. } => None,
        Content::Call(call) => Some(json!({
            "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": call.arguments.to_value().to_string(),
        })),
        Content::Result(result) => Some(
            json!({ "type": "function_call_output", "call_id": result.id, "output": result.text }),
        ),
    };
    message.content.iter().filter_map(item).collect()
}

/// Reads one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    growing: Growing,
    stop: Option<Stop>,
    pub(super) is_done: bool,
}

impl Decoder {
    pub(super) fn take(
        &mut self,
        event: &Event,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<(), StreamError> {
        let value = read(event)?;
        let delta = || text(&value, "/delta").to_owned();
        match text(&value, "/type") {
            "response.created" => {
                text(&value, "/response/model").clone_into(&mut self.growing.model)
            }
            "response.output_item.added" if text(&value, "/item/type") == "function_call" => {
                shown(Delta::Call { name: text(&value, "/item/name").to_owned() });
            }
            // The whole text comes again with the item: nothing of this is kept.
            "response.output_text.delta" | "response.refusal.delta" => shown(Delta::Text(delta())),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                shown(Delta::Thinking(delta()))
            }
            "response.output_item.done" => {
                let item =
                    value.get("item").ok_or(StreamError::Sense("an item without content"))?;
                self.growing.count(event.data.len())?;
                self.item(item)?;
            }
            "response.completed" => self.end(&value, Stop::Finished),
            "response.incomplete" => {
                let stop = match text(&value, "/response/incomplete_details/reason") {
                    "max_output_tokens" => Stop::MaxTokens,
                    "content_filter" => Stop::Refused,
                    other => Stop::Other(other.chars().take(100).collect()),
                };
                self.end(&value, stop);
            }
            "response.failed" => {
                return Err(reported(value.pointer("/response/error").unwrap_or(&Value::Null)));
            }
            "error" => return Err(reported(value.get("error").unwrap_or(&value))),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, value: &Value, stop: Stop) {
        super::count_usage(value, &mut self.growing.usage);
        self.stop = Some(stop);
        self.is_done = true;
    }

    fn item(&mut self, item: &Value) -> Result<(), StreamError> {
        let content = match text(item, "/type") {
            "message" => {
                let parts = item.get("content").and_then(Value::as_array);
                let words = parts.into_iter().flatten().map(|part| match text(part, "/type") {
                    "refusal" => text(part, "/refusal"),
                    _ => text(part, "/text"),
                });
                Content::Text { text: words.collect::<Vec<_>>().join("\n") }
            }
            "function_call" => {
                self.growing.count_call()?;
                let (id, name) =
                    (text(item, "/call_id").to_owned(), text(item, "/name").to_owned());
                if id.is_empty() || name.is_empty() {
                    return Err(StreamError::Sense("a call without a name"));
                }
                let mut call = GrowingCall { id, name, ..GrowingCall::default() };
                call.add(text(item, "/arguments"));
                Content::Call(call.call())
            }
            "reasoning" => {
                let parts = item.get("summary").and_then(Value::as_array);
                let words = parts.into_iter().flatten().map(|part| text(part, "/text"));
                let kept = item.get("encrypted_content").is_some_and(Value::is_string);
                Content::Thinking {
                    text: words.collect::<Vec<_>>().join("\n"),
                    kept: kept.then(|| (Protocol::Responses, item.clone())),
                }
            }
            _ => return Ok(()),
        };
        self.growing.content.push(content);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Reply, StreamError> {
        match self.stop {
            Some(stop) => Ok(self.growing.reply(stop)),
            None => Err(StreamError::CutOff),
        }
    }
}
