//! The one model of a conversation, which every protocol is translated from and to. Plain data; what one protocol
//! alone understands is kept aside, and given back to that protocol alone.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::Protocol;
use crate::usage::Usage;

/// What a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The model's name at its provider.
    pub model: String,
    /// What the model is told before the conversation.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Vec<ToolSpec>,
    /// Most tokens of its answer.
    pub max_tokens: u32,
    /// From 0.0 to 2.0. Left to the provider if there is none.
    pub temperature: Option<f64>,
    /// How much it may think first.
    pub thinking: Thinking,
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Not asked to.
    #[default]
    Off,
    /// At most so many tokens.
    Budget(u32),
    /// As much as the provider lets it.
    Max,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or whoever acts for one; results of tools too.
    User,
    /// The model.
    Assistant,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who.
    pub role: Role,
    /// What, in order.
    pub content: Vec<Content>,
}

impl Message {
    /// Words of the person.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Content::Text { text: text.into() }] }
    }

    /// Its words, without what was thought or called.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            Content::Thinking { .. } | Content::Call(_) | Content::Result(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// What it calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|content| match content {
            Content::Call(call) => Some(call),
            Content::Text { .. } | Content::Thinking { .. } | Content::Result(_) => None,
        })
    }
}

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought.
    Thinking {
        /// As far as the provider shows it.
        text: String,
        /// What the provider wants back unchanged: the protocol, and its own form of this part.
        kept: Option<(Protocol, Value)>,
    },
    /// A call of a tool.
    Call(ToolCall),
    /// What a call came to.
    Result(ToolResult),
}

/// A call of a tool, as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name of this call, which its result repeats.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Arguments,
}

/// What a model calls a tool with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// An object, as it should be.
    Object(Map<String, Value>),
    /// Something else, with the reason for the model.
    Unreadable(String),
}

impl Arguments {
    /// From the text that a provider sends: nothing at all stands for no arguments.
    pub(crate) fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(_) => Self::Unreadable("the arguments are no JSON object".to_owned()),
            Err(error) => Self::Unreadable(format!("the arguments are no JSON: {error}")),
        }
    }

    /// As an object. What was unreadable is left out of the conversation: no provider takes it back.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Unreadable(_) => Value::Object(Map::new()),
        }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's `id`.
    pub id: String,
    /// For the model.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// An answer, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The model's turn.
    pub message: Message,
    /// Why it ended.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
    /// The model that answered, as it names itself.
    pub model: String,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It has said what it wanted.
    Finished,
    /// It waits for results of tools.
    Calls,
    /// It had no more tokens.
    MaxTokens,
    /// It, or its provider, refuses.
    Refused,
    /// In the provider's word.
    Other(String),
}

/// What can be shown of an answer while it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Words.
    Text(String),
    /// Thoughts.
    Thinking(String),
    /// A call has begun; its arguments follow.
    Call {
        /// The tool.
        name: String,
    },
    /// The answer broke off and is asked for again: what came of it does not count.
    Again {
        /// Why.
        why: String,
    },
    /// Nothing comes until a provider may be asked again.
    Waiting {
        /// Why.
        why: String,
        /// So many seconds.
        seconds: u64,
    },
}
