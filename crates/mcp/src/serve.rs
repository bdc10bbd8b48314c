//! A server of tools: answers what a client asks, and hands calls to whoever runs them. Offers nothing but tools.

use serde_json::{Map, Value, json};

use crate::message::{BAD_PARAMS, Id, Message, NO_METHOD, failure, success};

/// A tool that is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of what it takes.
    pub schema: Value,
    /// Whether it changes nothing.
    pub is_read_only: bool,
}

/// What a message asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// To answer this.
    Answer(Message),
    /// To call a tool that exists, and answer by [`result`].
    Call {
        /// Of the request.
        id: Id,
        /// The tool.
        tool: String,
        /// What it gets.
        arguments: Map<String, Value>,
    },
    /// To stop a call.
    Cancel(Id),
    /// Nothing.
    Nothing,
}

/// Answers one client.
#[derive(Debug)]
pub struct Server {
    tools: Vec<Offered>,
}

impl Server {
    /// With these tools.
    pub fn new(tools: Vec<Offered>) -> Self {
        Self { tools }
    }

    /// Takes a message of the client.
    pub fn take(&self, message: Message) -> Asked {
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params),
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                match params.get("requestId") {
                    Some(Value::Number(number)) => number
                        .as_i64()
                        .map_or(Asked::Nothing, |number| Asked::Cancel(Id::Number(number))),
                    Some(Value::String(text)) => Asked::Cancel(Id::Text(text.clone())),
                    _ => Asked::Nothing,
                }
            }
            // We ask for nothing, so no answer is expected.
            Message::Notification { .. } | Message::Answer { .. } => Asked::Nothing,
        }
    }

    fn request(&self, id: Id, method: &str, mut params: Map<String, Value>) -> Asked {
        Asked::Answer(match method {
            "initialize" => {
                let wanted =
                    params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                let version =
                    VERSIONS.iter().find(|known| **known == wanted).unwrap_or(&VERSIONS[0]);
                success(
                    id,
                    json!({
                        "protocolVersion": version,
                        "capabilities": { "tools": {} },
                        "serverInfo": { "name": "stockade", "version": env!("CARGO_PKG_VERSION") },
                    }),
                )
            }
            "ping" => success(id, json!({})),
            "tools/list" => {
                success(id, json!({ "tools": self.tools.iter().map(listed).collect::<Vec<_>>() }))
            }
            "tools/call" => {
                let tool =
                    params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                if !self.tools.iter().any(|known| known.name == tool) {
                    let name: String = tool.chars().take(60).collect();
                    return Asked::Answer(failure(
                        Some(id),
                        BAD_PARAMS,
                        format!("there is no tool `{name}`"),
                    ));
                }
                return match params.remove("arguments") {
                    None | Some(Value::Null) => Asked::Call { id, tool, arguments: Map::new() },
                    Some(Value::Object(arguments)) => Asked::Call { id, tool, arguments },
                    Some(_) => {
                        Asked::Answer(failure(Some(id), BAD_PARAMS, "the arguments are no object"))
                    }
                };
            }
            _ => failure(Some(id), NO_METHOD, "only tools are offered here"),
        })
    }
}

fn listed(tool: &Offered) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": { "readOnlyHint": tool.is_read_only },
    })
}

/// The answer to a call.
pub fn result(id: Id, text: &str, is_error: bool) -> Message {
    success(id, json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}

/// The newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

#[cfg(test)]
mod tests;
