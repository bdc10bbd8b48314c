//! WebSocket (RFC 6455): the handshake's answer, frames and messages. Sans I/O: bytes in, messages
//! out. Takes no extension and never more than it was told to take.

pub mod frame;
pub mod handshake;
pub mod messages;

pub use frame::{Opcode, Role, encode};
pub use handshake::accept_key;
pub use messages::{Message, Messages, ProtocolError};
