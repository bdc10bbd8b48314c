//! One message: a request, a notification, or an answer. A line of JSON on standard streams. Batches are refused: the
//! protocol has dropped them.

use serde_json::{Map, Value, json};
use thiserror::Error;

/// What an answer repeats of its request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Id {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) if text.len() <= 200 => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Asks for an answer.
    Request {
        /// What the answer repeats.
        id: Id,
        /// What is asked for.
        method: String,
        /// With what.
        params: Map<String, Value>,
    },
    /// Asks for none.
    Notification {
        /// What is told.
        method: String,
        /// With what.
        params: Map<String, Value>,
    },
    /// Answers a request.
    Answer {
        /// Of the request; none where it could not be read.
        id: Option<Id>,
        /// The result, or the error.
        outcome: Result<Value, Value>,
    },
}

/// Why a line is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is too long.
    #[error("the message is longer than {MOST_LINE} bytes")]
    TooLong,
    /// It is no JSON.
    #[error("the message is no JSON")]
    NotJson,
    /// It is no message of this protocol.
    #[error("the message is none of JSON-RPC 2.0")]
    NoMessage,
}

impl Message {
    /// Reads a line.
    ///
    /// # Errors
    /// If it is no message.
    pub fn read(line: &[u8]) -> Result<Self, MessageError> {
        if line.len() > MOST_LINE {
            return Err(MessageError::TooLong);
        }
        let value: Value = serde_json::from_slice(line).map_err(|_| MessageError::NotJson)?;
        let Value::Object(mut fields) = value else { return Err(MessageError::NoMessage) };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(MessageError::NoMessage);
        }
        let id = fields.remove("id").filter(|id| !id.is_null());
        let id = id.map(|id| Id::read(&id).ok_or(MessageError::NoMessage)).transpose()?;
        let params = match fields.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(MessageError::NoMessage),
        };
        match (fields.remove("method"), id, fields.remove("result"), fields.remove("error")) {
            (Some(Value::String(method)), Some(id), None, None) => {
                Ok(Self::Request { id, method, params })
            }
            (Some(Value::String(method)), None, None, None) => {
                Ok(Self::Notification { method, params })
            }
            (None, id, Some(result), None) => Ok(Self::Answer { id, outcome: Ok(result) }),
            (None, id, None, Some(error)) => Ok(Self::Answer { id, outcome: Err(error) }),
            _ => Err(MessageError::NoMessage),
        }
    }

    /// As a line, without its end.
    pub fn to_line(&self) -> String {
        let value = match self {
            Self::Request { id, method, params } => {
                json!({ "jsonrpc": "2.0", "id": id.to_value(), "method": method, "params": params })
            }
            Self::Notification { method, params } => {
                json!({ "jsonrpc": "2.0", "method": method, "params": params })
            }
            Self::Answer { id, outcome } => {
                let id = id.as_ref().map_or(Value::Null, Id::to_value);
                match outcome {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                }
            }
        };
        value.to_string()
    }
}

/// An answer with a result.
pub fn success(id: Id, result: Value) -> Message {
    Message::Answer { id: Some(id), outcome: Ok(result) }
}

/// An answer with an error.
pub fn failure(id: Option<Id>, code: i32, message: impl Into<String>) -> Message {
    Message::Answer { id, outcome: Err(json!({ "code": code, "message": message.into() })) }
}

/// The longest line.
pub const MOST_LINE: usize = 8 << 20;
pub(crate) const NO_METHOD: i32 = -32601;
pub(crate) const BAD_PARAMS: i32 = -32602;
