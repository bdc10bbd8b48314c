//! The client side: asks a daemon over its unix socket, one connection for one question. Blocks, and
//! needs neither a thread nor a runtime.

mod attachment;
mod http;

use std::io::{Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

pub use attachment::{Attachment, Heard};
use http::Head;

/// A daemon, as others see it.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody serves the socket.
    #[error("no daemon serves `{socket}`")]
    NotServed {
        /// The socket.
        socket: String,
        /// What connecting came to.
        #[source]
        error: std::io::Error,
    },
    /// The connection broke.
    #[error("the connection to the daemon broke")]
    Broken(#[source] std::io::Error),
    /// What came is not an answer.
    #[error("the daemon's answer cannot be read: {0}")]
    Malformed(&'static str),
    /// The daemon says no.
    #[error("{message}")]
    Refused {
        /// What a program tells it by.
        code: String,
        /// Why.
        message: String,
        /// What to do about it.
        help: Vec<String>,
    },
}

/// A problem as it comes.
#[derive(Deserialize)]
struct ProblemReport {
    code: String,
    message: String,
    help: Vec<String>,
}

impl Client {
    /// The daemon at a socket, whether it is there or not.
    pub fn at(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// Asks for something.
    pub fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.ask("GET", path, None)
    }

    /// Asks with a method and a body.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let (_, mut answer) = self.send(method, path, body, Some(LONGEST_ANSWER))?;
        let mut bytes = Vec::new();
        let read = answer.by_ref().take(MOST_ANSWER).read_to_end(&mut bytes);
        read.map_err(ClientError::Broken)?;
        serde_json::from_slice(&bytes).map_err(|_| ClientError::Malformed("it is not JSON"))
    }

    /// The bytes of an answer as they come, for as long as they do.
    pub fn stream(&self, path: &str) -> Result<impl Read + use<>, ClientError> {
        self.send("GET", path, None, None).map(|(_, answer)| answer)
    }

    /// Becomes the other end of a program's streams.
    pub fn attach(&self, path: &str) -> Result<Attachment, ClientError> {
        let mut stream = self.connect()?;
        Attachment::open(&mut stream, path)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        patience: Option<Duration>,
    ) -> Result<(Head, impl Read + use<>), ClientError> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(patience).map_err(ClientError::Broken)?;
        let body = body.map(Value::to_string).unwrap_or_default();
        // With 1.0 a body comes as it is and ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: stockade\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(ClientError::Broken)?;
        let (head, rest) = http::read_head(&mut stream)?;
        let mut answer = std::io::Cursor::new(rest).chain(stream);
        if head.is_success() {
            return Ok((head, answer));
        }
        Err(refusal(&head, &mut answer))
    }

    fn connect(&self) -> Result<UnixStream, ClientError> {
        UnixStream::connect(&self.socket).map_err(|error| {
            let socket = policy::shown::shown(self.socket.display());
            ClientError::NotServed { socket, error }
        })
    }
}

/// What the daemon said instead.
fn refusal(head: &Head, answer: &mut impl Read) -> ClientError {
    let mut bytes = Vec::new();
    // What came before the connection broke may still be whole.
    let _broken = answer.take(MOST_ANSWER).read_to_end(&mut bytes);
    match serde_json::from_slice(&bytes) {
        Ok(ProblemReport { code, message, help }) => ClientError::Refused { code, message, help },
        Err(_) => {
            let message = format!("the daemon answered with status {}", head.status);
            ClientError::Refused { code: "unknown".to_owned(), message, help: Vec::new() }
        }
    }
}

/// Text as one segment of an address.
pub fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Most bytes of an answer that is read as a whole.
const MOST_ANSWER: u64 = 64 << 20;

/// Longest wait for the next bytes of an answer that is read as a whole. A daemon answers a question
/// that takes longer, such as the end of a program, after less.
const LONGEST_ANSWER: Duration = Duration::from_secs(90);
