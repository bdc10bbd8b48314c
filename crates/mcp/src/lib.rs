//! The Model Context Protocol as far as tools need it. [`serve`] answers a client for tools of ours; [`filter`] stands
//! between a client and somebody else's server, and lets through the tools that were named and nothing else. Sans-io:
//! messages in, messages out; whoever uses it reads and writes the lines.
#![forbid(unsafe_code)]

pub mod filter;
mod message;
mod pins;
pub mod serve;

pub use message::{Id, MOST_LINE, Message, MessageError, failure, success};
pub use pins::{Pins, Seen};
