//! Frames into messages: fragments are joined, control frames come between them. What is kept is
//! bounded; after an error nothing more is taken.

use super::frame::{FrameError, Head, Opcode, Role, apply_mask};

#[cfg(test)]
mod tests;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// To be answered with the same bytes.
    Ping(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The other side closes, with the code that it gave.
    Close(Option<u16>),
}

/// Why the other side cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame is malformed.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A continuation of nothing, or a beginning inside a message.
    #[error("a fragment is out of order")]
    Fragment,
    /// More than the reader takes.
    #[error("a message is larger than {0} bytes")]
    TooLarge(usize),
    /// Text that is not UTF-8.
    #[error("a text is not UTF-8")]
    NotText,
    /// The RFC does not allow such a code.
    #[error("a close has a malformed code")]
    BadClose,
}

impl ProtocolError {
    /// The code to close with (RFC 6455, 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Self::TooLarge(_) => 1009,
            Self::NotText => 1007,
            Self::Frame(_) | Self::Fragment | Self::BadClose => 1002,
        }
    }
}

/// Takes bytes as they come and gives messages.
#[derive(Debug)]
pub struct Messages {
    role: Role,
    /// Most bytes of one message.
    most: usize,
    /// Bytes of a frame that is not whole yet.
    waiting: Vec<u8>,
    /// A message that is not whole yet.
    partial: Option<(Opcode, Vec<u8>)>,
}

impl Messages {
    /// For this side, with messages up to `most` bytes.
    pub fn new(role: Role, most: usize) -> Self {
        Self { role, most, waiting: Vec::new(), partial: None }
    }

    /// Takes more bytes. Callers give what one read gave them and then ask for messages, so that no
    /// more than a message and a read is ever kept.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    pub fn next_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        while let Some((head, payload)) = self.next_frame()? {
            if let Some(message) = self.take(head, payload)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn next_frame(&mut self) -> Result<Option<(Head, Vec<u8>)>, ProtocolError> {
        let Some(head) = Head::read(&self.waiting, self.role)? else { return Ok(None) };
        let before = self.partial.as_ref().map_or(0, |(_, bytes)| bytes.len());
        let length = usize::try_from(head.length).unwrap_or(usize::MAX);
        if length.saturating_add(before) > self.most && !head.opcode.is_control() {
            return Err(ProtocolError::TooLarge(self.most));
        }
        let end = head.size.saturating_add(length);
        let Some(payload) = self.waiting.get(head.size..end) else { return Ok(None) };
        let mut payload = payload.to_vec();
        if let Some(mask) = head.mask {
            apply_mask(&mut payload, mask);
        }
        self.waiting.drain(..end);
        Ok(Some((head, payload)))
    }

    fn take(&mut self, head: Head, payload: Vec<u8>) -> Result<Option<Message>, ProtocolError> {
        let (opcode, whole) = match (head.opcode, self.partial.take()) {
            (Opcode::Close, _) => return close_code(&payload).map(Message::Close).map(Some),
            (Opcode::Ping, partial) => {
                self.partial = partial;
                return Ok(Some(Message::Ping(payload)));
            }
            (Opcode::Pong, partial) => {
                self.partial = partial;
                return Ok(Some(Message::Pong));
            }
            (Opcode::Continuation, Some((opcode, mut bytes))) => {
                bytes.extend(payload);
                (opcode, bytes)
            }
            (Opcode::Continuation, None) | (_, Some(_)) => return Err(ProtocolError::Fragment),
            (opcode, None) => (opcode, payload),
        };
        if !head.is_last {
            self.partial = Some((opcode, whole));
            return Ok(None);
        }
        match opcode {
            Opcode::Text => match String::from_utf8(whole) {
                Ok(text) => Ok(Some(Message::Text(text))),
                Err(_) => Err(ProtocolError::NotText),
            },
            _ => Ok(Some(Message::Binary(whole))),
        }
    }
}

fn close_code(payload: &[u8]) -> Result<Option<u16>, ProtocolError> {
    match payload {
        [] => Ok(None),
        [a, b, reason @ ..] => {
            let code = u16::from_be_bytes([*a, *b]);
            let known = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            if known && std::str::from_utf8(reason).is_ok() {
                Ok(Some(code))
            } else {
                Err(ProtocolError::BadClose)
            }
        }
        [_] => Err(ProtocolError::BadClose),
    }
}
