//! The server name in the first message of a TLS client, found without holding the rest of the
//! connection. Reads what is sent in the clear and never decrypts, answers or changes anything.
//!
//! With Encrypted Client Hello the name seen here is the outer one: the inner is for the server alone.
//! It cannot be refused, because browsers send the extension with random content to every server; a
//! cage gets no HTTPS records and with them no keys for it, but a program may bring a key of its own.
//! What is behind an allowed name stays that name's responsibility.

use plan::destination::{Name, NameError};

/// What the bytes so far say. Once it is not `NeedMore` it stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// The message is not complete.
    NeedMore,
    /// It is for this name.
    Sni(Name),
    /// It is complete and names no server.
    NoSni,
    /// These are not the first bytes of a TLS client.
    NotTls,
    /// It began as TLS and is not.
    Malformed(HelloError),
}

/// What is wrong with a first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// A record that no client sends here: another type, a wrong version or length.
    #[error("a TLS record is not one that a client begins with")]
    BadRecord,
    /// The first handshake message is not a ClientHello, or another one follows in its record.
    #[error("the first TLS message is not a ClientHello alone")]
    NotAHello,
    /// More than 64 KiB.
    #[error("the ClientHello is longer than 64 KiB")]
    TooLong,
    /// A length that does not fit into what is around it.
    #[error("a field of the ClientHello does not fit into it")]
    BadLength,
    /// Two servers are named, or none in a list of them.
    #[error("the ClientHello does not name exactly one server")]
    SeveralNames,
    /// The server's name is none.
    #[error("the server name of the ClientHello is no host name: {0}")]
    BadName(NameError),
}

/// Reads a ClientHello as it arrives, over any number of segments and records.
#[derive(Clone, Debug)]
pub struct ClientHelloReader {
    state: State,
    /// All bytes that were looked at.
    seen: usize,
    /// The handshake message, without record headers. Grows only by what has arrived.
    message: Vec<u8>,
    /// How long the message will be, once its own header is here.
    wanted: Option<usize>,
}

#[derive(Clone, Debug)]
enum State {
    /// In a record's header, of which these bytes are here.
    Header { bytes: [u8; HEADER], filled: usize },
    /// In a record that goes on for so many bytes.
    Fragment { left: usize },
    /// The result is known.
    Done(Hello),
}

impl Default for ClientHelloReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientHelloReader {
    /// A reader that has seen nothing.
    pub fn new() -> Self {
        Self { state: START, seen: 0, message: Vec::new(), wanted: None }
    }

    /// Looks at the bytes that follow those of the last call. How the bytes are split over calls makes
    /// no difference: every check happens at a place in the stream, not at the end of a call.
    pub fn feed(&mut self, bytes: &[u8]) -> Hello {
        let mut rest = bytes;
        loop {
            let taken = match &mut self.state {
                State::Done(result) => return result.clone(),
                _ if rest.is_empty() => return Hello::NeedMore,
                _ if self.seen >= MAX_HELLO => {
                    self.finish(Hello::Malformed(HelloError::TooLong));
                    continue;
                }
                State::Header { bytes, filled } => {
                    let (Some(slot), Some(byte)) = (bytes.get_mut(*filled), rest.first()) else {
                        return Hello::Malformed(HelloError::BadRecord);
                    };
                    *slot = *byte;
                    *filled += 1;
                    let (header, filled) = (*bytes, *filled);
                    self.check_header(header, filled);
                    1
                }
                State::Fragment { left } => {
                    let left = *left;
                    self.take_fragment(rest, left)
                }
            };
            self.seen += taken;
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    fn check_header(&mut self, header: [u8; HEADER], filled: usize) {
        let [kind, major, minor, high, low] = header;
        let is_first = self.message.is_empty();
        let length = usize::from(u16::from_be_bytes([high, low]));
        let right = match filled {
            1 => kind == HANDSHAKE,
            2 => major == 3,
            3 => minor <= 4,
            HEADER => (1..=MAX_RECORD).contains(&length),
            _ => true,
        };
        match (right, filled) {
            (false, 1 | 2) if is_first => self.finish(Hello::NotTls),
            (false, _) => self.finish(Hello::Malformed(HelloError::BadRecord)),
            (true, HEADER) => self.enter_fragment(length),
            (true, _) => {}
        }
    }

    /// A record that goes beyond the message holds something that would be passed on unread.
    fn enter_fragment(&mut self, left: usize) {
        let missing = self.wanted.map(|wanted| wanted.saturating_sub(self.message.len()));
        if missing.is_some_and(|missing| left > missing) {
            self.finish(Hello::Malformed(HelloError::NotAHello));
        } else {
            self.state = State::Fragment { left };
        }
    }

    /// Takes as much of a record as there is, up to the place of the next check.
    fn take_fragment(&mut self, bytes: &[u8], left: usize) -> usize {
        let checkpoint = self.wanted.unwrap_or(MESSAGE_HEADER);
        let room = checkpoint.saturating_sub(self.message.len()).min(left);
        let room = room.min(MAX_HELLO.saturating_sub(self.seen));
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.message.extend_from_slice(taken);
        let left = left.saturating_sub(taken.len());
        self.state = if left == 0 { START } else { State::Fragment { left } };
        if self.message.len() == checkpoint {
            match self.wanted {
                None => self.check_message_header(left),
                Some(_) => self.finish(read_hello(&self.message)),
            }
        }
        taken.len()
    }

    fn check_message_header(&mut self, left: usize) {
        let Some(&[kind, high, middle, low]) = self.message.first_chunk::<MESSAGE_HEADER>() else {
            return;
        };
        let length = u32::from_be_bytes([0, high, middle, low]);
        let wanted = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(MESSAGE_HEADER);
        if kind != CLIENT_HELLO || left > wanted.saturating_sub(MESSAGE_HEADER) {
            self.finish(Hello::Malformed(HelloError::NotAHello));
        } else if wanted > MAX_HELLO {
            self.finish(Hello::Malformed(HelloError::TooLong));
        } else if wanted == MESSAGE_HEADER {
            self.finish(Hello::Malformed(HelloError::BadLength));
        } else {
            self.wanted = Some(wanted);
        }
    }

    fn finish(&mut self, result: Hello) {
        self.state = State::Done(result);
        self.message = Vec::new();
    }
}

fn read_hello(message: &[u8]) -> Hello {
    let mut body = Fields(message.get(MESSAGE_HEADER..).unwrap_or_default());
    match server_name(&mut body) {
        Ok(Some(name)) => Hello::Sni(name),
        Ok(None) => Hello::NoSni,
        Err(error) => Hello::Malformed(error),
    }
}

/// RFC 8446, section 4.1.2; the same layout since TLS 1.0.
fn server_name(body: &mut Fields<'_>) -> Result<Option<Name>, HelloError> {
    let _version_and_random = body.take(2 + 32)?;
    let session = body.short_vector()?;
    let suites = body.long_vector()?;
    let compressions = body.short_vector()?;
    let fits = session.0.len() <= 32
        && !suites.0.is_empty()
        && suites.0.len() % 2 == 0
        && !compressions.0.is_empty();
    if !fits {
        return Err(HelloError::BadLength);
    }
    if body.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = body.long_vector()?;
    if !body.0.is_empty() {
        return Err(HelloError::BadLength);
    }
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let mut content = extensions.long_vector()?;
        if kind == SERVER_NAME && name.replace(read_name(&mut content)?).is_some() {
            return Err(HelloError::SeveralNames);
        }
    }
    Ok(name)
}

/// RFC 6066, section 3: a list of which only one kind of entry was ever defined, once.
fn read_name(extension: &mut Fields<'_>) -> Result<Name, HelloError> {
    let mut list = extension.long_vector()?;
    if !extension.0.is_empty() {
        return Err(HelloError::BadLength);
    }
    if list.take(1).map_err(|_| HelloError::SeveralNames)? != [HOST_NAME] {
        return Err(HelloError::SeveralNames);
    }
    let host = list.long_vector()?;
    if !list.0.is_empty() {
        return Err(HelloError::SeveralNames);
    }
    let text = std::str::from_utf8(host.0).map_err(|_| HelloError::BadName(NameError::BadLabel))?;
    Name::parse(text).map_err(HelloError::BadName)
}

/// What is left of a sequence of fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], HelloError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(HelloError::BadLength)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u16, HelloError> {
        let (number, rest) = self.0.split_first_chunk::<2>().ok_or(HelloError::BadLength)?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*number))
    }

    /// A field with its length in one byte.
    fn short_vector(&mut self) -> Result<Self, HelloError> {
        let (length, rest) = self.0.split_first().ok_or(HelloError::BadLength)?;
        self.0 = rest;
        self.take(usize::from(*length)).map(Fields)
    }

    /// A field with its length in two bytes.
    fn long_vector(&mut self) -> Result<Self, HelloError> {
        let length = self.number()?;
        self.take(usize::from(length)).map(Fields)
    }
}

/// How much of a stream is looked at for a ClientHello, record headers included.
pub const MAX_HELLO: usize = 64 * 1024;

const HEADER: usize = 5;
const MESSAGE_HEADER: usize = 4;
const MAX_RECORD: usize = 1 << 14;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
const START: State = State::Header { bytes: [0; HEADER], filled: 0 };

#[cfg(test)]
mod tests;
