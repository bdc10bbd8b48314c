//! Clients of language models: one message model, three protocols (Anthropic Messages, OpenAI-compatible chat
//! completions, OpenAI responses), any base URL. And the [`service`] that lets a program in a cage use a model whose
//! key it never sees.
//!
//! Everything that arrives is bounded before it is parsed. A key is read from where the operator says, wiped when it
//! is dropped, and written into requests alone. Never runs a tool, keeps no conversation, and has no async runtime: a
//! call holds its thread until it ends, and [`Cancel`] ends it within a tenth of a second.
#![forbid(unsafe_code)]

mod cancel;
mod client;
mod connection;
mod error;
pub mod fetch;
pub mod http;
mod key;
mod message;
mod pace;
mod protocol;
mod retry;
pub mod service;
pub mod sse;
mod tls;
mod url;
mod usage;

pub use cancel::Cancel;
pub use client::{Client, Endpoint, Waits};
pub use error::{ModelError, Refusal};
pub use key::{Key, KeyError, KeySource};
pub use message::{
    Arguments, Content, Delta, Message, Reply, Request, Role, Stop, Thinking, ToolCall, ToolResult,
    ToolSpec,
};
pub use pace::Pace;
pub use protocol::{Decoder, Protocol, StreamError};
pub use retry::Retries;
pub use url::{BaseUrl, UrlError};
pub use usage::{Cost, Prices, Usage};
