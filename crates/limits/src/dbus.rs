//! Enough of the D-Bus protocol to ask systemd for a scope: method calls, their replies, and signals.
//!
//! What a peer sends is bounded before it is looked at, and malformed input is an error, never a
//! panic. No object is ever offered to anybody, no descriptor is accepted, and nothing here knows
//! what it is used for.

mod connection;
mod decode;
mod encode;

pub use connection::{Connection, reach};
pub use decode::{Message, MessageKind, Reader, decode};
pub use encode::{Call, Value, Writer, encode};

use std::path::PathBuf;

use rustix::io::Errno;

/// Why a conversation failed.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// There is nobody to talk to.
    #[error("cannot reach `{}`: {}", path.display(), std::io::Error::from(*errno))]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The peer does not accept this user.
    #[error("the message bus does not accept this user")]
    Rejected,
    /// The connection broke.
    #[error("the connection to the message bus broke: {}", std::io::Error::from(*.0))]
    Broken(Errno),
    /// The peer ended the conversation.
    #[error("the message bus has closed the connection")]
    Closed,
    /// The peer did not answer in time.
    #[error("the message bus did not answer in time")]
    TimedOut,
    /// The peer sent something that is not D-Bus.
    #[error("the message bus sent a message that cannot be read")]
    Malformed,
    /// The peer answered with an error.
    #[error("{name}: {text}")]
    Refused {
        /// The error's name.
        name: String,
        /// What it says.
        text: String,
    },
}
