//! The protocols of providers: how each is asked, and how each answers as a stream. One file for each. Never does I/O:
//! a [`Decoder`] takes events, and gives what can be shown at once and the answer at the end.

mod anthropic;
mod completions;
mod parts;
mod responses;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::message::{Delta, Reply, Request};
use crate::sse::{Event, SseError};
use crate::usage::Usage;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// Chat completions, as OpenAI and many local servers speak it.
    Completions,
    /// OpenAI responses.
    Responses,
}

impl Protocol {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Completions => "completions",
            Self::Responses => "responses",
        }
    }

    /// Where a provider has it.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Completions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }

    /// How a key is sent: the field, and what comes before the key.
    pub(crate) fn key_field(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::Completions | Self::Responses => ("authorization", "Bearer "),
        }
    }

    /// The body of a request.
    pub fn encode(self, request: &Request) -> Value {
        match self {
            Self::Anthropic => anthropic::encode(request),
            Self::Completions => completions::encode(request),
            Self::Responses => responses::encode(request),
        }
    }

    /// Reads one answer.
    pub fn decoder(self) -> Decoder {
        Decoder(match self {
            Self::Anthropic => Inner::Anthropic(anthropic::Decoder::default()),
            Self::Completions => Inner::Completions(completions::Decoder::default()),
            Self::Responses => Inner::Responses(responses::Decoder::default()),
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Anthropic, Self::Completions, Self::Responses];
        all.into_iter().find(|protocol| protocol.word() == text).ok_or_else(|| {
            format!(
                "`{text}` is no protocol of models: `anthropic`, `completions` and `responses` are"
            )
        })
    }
}

/// Reads the events of one answer.
#[derive(Debug)]
pub struct Decoder(Inner);

#[derive(Debug)]
enum Inner {
    Anthropic(anthropic::Decoder),
    Completions(completions::Decoder),
    Responses(responses::Decoder),
}

impl Decoder {
    /// Takes the next event.
    ///
    /// # Errors
    /// If it is not what the protocol says, or more than an answer may have.
    pub fn take(&mut self, event: &Event, shown: &mut dyn FnMut(Delta)) -> Result<(), StreamError> {
        match &mut self.0 {
            Inner::Anthropic(decoder) => decoder.take(event, shown),
            Inner::Completions(decoder) => decoder.take(event, shown),
            Inner::Responses(decoder) => decoder.take(event, shown),
        }
    }

    /// Whether the answer is complete, whatever else may come.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Inner::Anthropic(decoder) => decoder.is_done,
            Inner::Completions(decoder) => decoder.is_done,
            Inner::Responses(decoder) => decoder.is_done,
        }
    }

    /// The answer, when the stream has ended.
    ///
    /// # Errors
    /// If it is not complete.
    pub fn finish(self) -> Result<Reply, StreamError> {
        match self.0 {
            Inner::Anthropic(decoder) => decoder.finish(),
            Inner::Completions(decoder) => decoder.finish(),
            Inner::Responses(decoder) => decoder.finish(),
        }
    }
}

/// Tokens that an event or a whole answer of any protocol reports, for whoever only counts.
pub(crate) fn count_usage(value: &Value, usage: &mut Usage) {
    for place in ["/usage", "/message/usage", "/response/usage"] {
        if let Some(found) = value.pointer(place) {
            usage.read(found);
        }
    }
}

/// Why a stream is not what the protocol says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// It is no event stream.
    #[error(transparent)]
    Sse(#[from] SseError),
    /// An event is no JSON.
    #[error("an event is no JSON: {0}")]
    Json(String),
    /// An event lacks something, or comes where it cannot.
    #[error("an event makes no sense here: {0}")]
    Sense(&'static str),
    /// The answer has more than it may.
    #[error("the answer has more {what} than {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// Most.
        most: usize,
    },
    /// The stream ended first.
    #[error("the stream ended before the answer did")]
    CutOff,
    /// The provider reports an error within the stream.
    #[error("the model's server reports `{kind}`: {message}")]
    Reported {
        /// Its word.
        kind: String,
        /// Its words.
        message: String,
    },
}

impl StreamError {
    /// Whether the same request may be answered the next time.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Reported { kind, .. } => {
                ["overloaded", "rate_limit", "server_error", "api_error", "timeout"]
                    .iter()
                    .any(|word| kind.contains(word))
            }
            Self::TooMuch { .. } => false,
            Self::Sse(_) | Self::Json(_) | Self::Sense(_) | Self::CutOff => true,
        }
    }
}

/// The longest event.
pub(crate) const MOST_EVENT: usize = 8 << 20;

#[cfg(test)]
mod tests;
