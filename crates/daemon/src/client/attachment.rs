//! The other end of a program's streams: a WebSocket whose bytes are input one way, output the other.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::rand::GetRandomFlags;
use serde_json::Value;

use super::{ClientError, http, refusal};
use crate::websocket::handshake::base64;
use crate::websocket::{Message, Messages, Opcode, Role, accept_key, encode};

/// An open attachment.
#[derive(Debug)]
pub struct Attachment {
    stream: UnixStream,
    messages: Messages,
    is_listened_to: bool,
}

/// What the daemon says of a program.
#[derive(Debug)]
pub enum Heard {
    /// Its standard output, or its terminal's.
    Output(Vec<u8>),
    /// Its standard error.
    Error(Vec<u8>),
    /// Something about it, such as its end.
    Notice(Value),
    /// The daemon closes.
    Closed,
}

impl Attachment {
    pub(super) fn open(stream: &mut UnixStream, path: &str) -> Result<Self, ClientError> {
        let key = base64(&random::<16>()?);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: stockade\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).map_err(ClientError::Broken)?;
        let (head, rest) = http::read_head(stream)?;
        if head.status != 101 {
            // The daemon keeps the connection for another question, which there is none.
            let length = head.header("content-length").and_then(|text| text.parse().ok());
            let body = std::io::Cursor::new(rest).chain(&mut *stream);
            return Err(refusal(&head, &mut body.take(length.unwrap_or_default())));
        }
        if head.header("sec-websocket-accept") != Some(&accept_key(key.as_bytes())) {
            return Err(ClientError::Malformed("it does not accept the WebSocket's key"));
        }
        let stream = stream.try_clone().map_err(ClientError::Broken)?;
        let mut messages = Messages::new(Role::Client, MOST_MESSAGE);
        messages.feed(&rest);
        Ok(Self { stream, messages, is_listened_to: true })
    }

    /// Something that was heard already, without waiting.
    pub fn next_heard(&mut self) -> Result<Option<Heard>, ClientError> {
        loop {
            let message = self.messages.next_message();
            let message = message.map_err(|_| ClientError::Malformed("it is not WebSocket"))?;
            return Ok(Some(match message {
                None => return Ok(None),
                Some(Message::Pong) => continue,
                Some(Message::Ping(bytes)) => {
                    self.send(Opcode::Pong, &bytes)?;
                    continue;
                }
                Some(Message::Close(_)) => Heard::Closed,
                Some(Message::Text(text)) => Heard::Notice(
                    serde_json::from_str(&text)
                        .map_err(|_| ClientError::Malformed("a notice is not JSON"))?,
                ),
                Some(Message::Binary(bytes)) => match bytes.split_first() {
                    Some((1, output)) => Heard::Output(output.to_vec()),
                    Some((2, output)) => Heard::Error(output.to_vec()),
                    _ => return Err(ClientError::Malformed("output of an unknown stream")),
                },
            }));
        }
    }

    /// Waits for more, which [`Self::next_heard`] then gives. Returns whether anything will come.
    pub fn listen(&mut self) -> Result<bool, ClientError> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(count) => {
                    self.messages.feed(chunk.get(..count).unwrap_or_default());
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It went without reading what this side had to say, after its own last word.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(ClientError::Broken(error)),
            }
        }
    }

    /// Whether what this side says may still be heard.
    pub fn is_listened_to(&self) -> bool {
        self.is_listened_to
    }

    /// Gives the program input.
    pub fn input(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        self.send(Opcode::Binary, bytes)
    }

    /// Asks for something else, such as another size of the terminal.
    pub fn request(&mut self, request: &Value) -> Result<(), ClientError> {
        self.send(Opcode::Text, request.to_string().as_bytes())
    }

    /// Says that nothing more will be said.
    pub fn close(&mut self) -> Result<(), ClientError> {
        self.send(Opcode::Close, &1000_u16.to_be_bytes())
    }

    /// Sends a frame, as long as the daemon listens. A program may end before it has read everything,
    /// and what it has written is then still to be heard.
    fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), ClientError> {
        if !self.is_listened_to {
            return Ok(());
        }
        let frame = encode(opcode, payload, Some(random()?));
        match self.stream.write_all(&frame) {
            Err(error)
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                self.is_listened_to = false;
                Ok(())
            }
            sent => sent.map_err(ClientError::Broken),
        }
    }
}

impl AsFd for Attachment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn random<const SIZE: usize>() -> Result<[u8; SIZE], ClientError> {
    let mut bytes = [0; SIZE];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|errno| ClientError::Broken(errno.into()))?;
    Ok(bytes)
}

/// Most bytes of one message: more than the daemon ever puts into one.
const MOST_MESSAGE: usize = 1 << 20;
