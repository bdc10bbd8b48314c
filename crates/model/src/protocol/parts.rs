//! What the decoders share: reading fields of events, and an answer that grows within bounds.

use serde_json::{Map, Value};

use super::StreamError;
use crate::message::{Arguments, Content, Message, Reply, Role, Stop, ToolCall};
use crate::sse::Event;
use crate::usage::Usage;

/// The JSON of an event.
pub(super) fn json(event: &Event) -> Result<Value, StreamError> {
    serde_json::from_str(&event.data).map_err(|error| StreamError::Json(error.to_string()))
}

/// A field that is text; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// An error that a provider reports within a stream.
pub(super) fn reported(error: &Value) -> StreamError {
    let word =
        ["/type", "/code"].iter().map(|place| text(error, place)).find(|word| !word.is_empty());
    let cut = |text: &str| text.chars().take(500).collect();
    StreamError::Reported {
        kind: cut(word.unwrap_or("error")),
        message: cut(text(error, "/message")),
    }
}

/// An answer that is put together. Bounds hold for all of it.
#[derive(Debug, Default)]
pub(super) struct Growing {
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) content: Vec<Content>,
    bytes: usize,
    calls: usize,
}

impl Growing {
    /// Counts bytes before they are kept.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), StreamError> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes > MOST_BYTES {
            true => Err(StreamError::TooMuch { what: "bytes", most: MOST_BYTES }),
            false => Ok(()),
        }
    }

    /// Counts a call before it is kept.
    pub(super) fn count_call(&mut self) -> Result<(), StreamError> {
        self.calls += 1;
        match self.calls > MOST_CALLS {
            true => Err(StreamError::TooMuch { what: "calls", most: MOST_CALLS }),
            false => Ok(()),
        }
    }

    pub(super) fn reply(mut self, stop: Stop) -> Reply {
        self.content
            .retain(|content| !matches!(content, Content::Text { text } if text.is_empty()));
        let has_calls = self.content.iter().any(|content| matches!(content, Content::Call(_)));
        // Some servers say that they have finished and call something nonetheless.
        let stop = if has_calls && stop == Stop::Finished { Stop::Calls } else { stop };
        let message = Message { role: Role::Assistant, content: self.content };
        Reply { message, stop, usage: self.usage, model: self.model }
    }
}

/// A call whose arguments come in pieces.
#[derive(Debug, Default)]
pub(super) struct GrowingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) is_too_long: bool,
}

impl GrowingCall {
    /// Adds a piece. What is too long for a call is dropped, and the model is told.
    pub(super) fn add(&mut self, piece: &str) {
        if self.arguments.len() + piece.len() > MOST_ARGUMENTS {
            self.is_too_long = true;
            self.arguments = String::new();
        } else if !self.is_too_long {
            self.arguments.push_str(piece);
        }
    }

    pub(super) fn call(self) -> ToolCall {
        let arguments = match self.is_too_long {
            true => Arguments::Unreadable(format!(
                "the arguments are longer than {MOST_ARGUMENTS} bytes"
            )),
            false => Arguments::read(&self.arguments),
        };
        ToolCall { id: self.id, name: self.name, arguments }
    }
}

/// An object of the fields that have a value.
pub(super) fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

/// Of all texts and arguments of one answer.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// Of the arguments of one call.
pub(super) const MOST_ARGUMENTS: usize = 1 << 20;
/// In one answer.
pub(super) const MOST_CALLS: usize = 128;
