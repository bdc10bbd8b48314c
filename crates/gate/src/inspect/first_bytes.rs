//! Tells from a client's first bytes whether they have to be read as TLS, as HTTP, or not at all. Only
//! tells kinds apart; whether the bytes are well-formed is for the parser of that kind.
//!
//! It errs towards HTTP: what some lenient server might take for a request must be called one, because
//! the strict parser then refuses what it does not understand, while anything else is passed on unread.

/// The kind of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstBytes {
    /// It cannot be said yet. No line with anything in it has ended, so no server acts on these bytes:
    /// they may be passed on, as long as what follows is still looked at.
    NeedMore,
    /// TLS.
    Tls,
    /// HTTP/1, or an attempt at it.
    Http,
    /// Anything else.
    Other,
}

/// Looks at first bytes as they arrive. Once the kind is known it stays.
#[derive(Clone, Debug)]
pub struct Classifier {
    state: State,
    seen: usize,
    /// The first bytes of the line, as many as the longest method and a space have.
    start: Vec<u8>,
    /// How much of `http/` the latest bytes spell.
    spelled: usize,
    names_http: bool,
    /// Whether the latest word of the line has the form of a version, such as `RTSP/1.0`.
    word: Word,
    opening: Opening,
    /// How much of a load balancer's binary header the bytes are.
    balancers_header: usize,
    /// Whether the latest byte is a carriage return, which some servers take for the end of a line.
    returned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but white space and line ends.
    Blank,
    /// In what may be the header of an SSL 2 record.
    OldTls,
    /// In the first word.
    Method,
    /// After the first word.
    Rest,
    /// In a line with a byte that none of HTTP has. Some servers do not mind.
    Odd,
    Done(FirstBytes),
}

/// How far a word looks like `NAME/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Empty,
    Letters,
    Slash,
    Version,
    Plain,
}

/// How far a line looks like `word /` or `word scheme://`: a request without a version, to some servers
/// whatever the word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// In the first word, which may be a method.
    Method,
    /// After it.
    Blank,
    /// In the second word, which may be a scheme.
    Scheme,
    /// After the colon, and after a slash.
    Colon,
    ColonSlash,
    Request,
    None,
}

impl Opening {
    fn next(self, byte: u8, is_first: bool) -> Self {
        let is_letter = byte.is_ascii_alphabetic();
        let is_inner = byte.is_ascii_alphanumeric();
        match self {
            Self::Method if is_letter || (!is_first && (is_inner || b"-_".contains(&byte))) => self,
            Self::Method | Self::Blank if is_blank(byte) && !is_first => Self::Blank,
            Self::Blank if byte == b'/' => Self::Request,
            Self::Blank if is_letter => Self::Scheme,
            Self::Scheme if is_inner || b"+-.".contains(&byte) => self,
            Self::Scheme if byte == b':' => Self::Colon,
            Self::Colon if byte == b'/' => Self::ColonSlash,
            Self::ColonSlash if byte == b'/' => Self::Request,
            Self::Request => self,
            _ => Self::None,
        }
    }
}

impl Default for Classifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Classifier {
    /// A client that has sent nothing.
    pub fn new() -> Self {
        Self {
            state: State::Blank,
            seen: 0,
            start: Vec::new(),
            spelled: 0,
            names_http: false,
            word: Word::Empty,
            opening: Opening::Method,
            balancers_header: 0,
            returned: false,
        }
    }

    /// Looks at the bytes that follow those of the last call.
    pub fn feed(&mut self, bytes: &[u8]) -> FirstBytes {
        for byte in bytes {
            if let State::Done(kind) = self.state {
                return kind;
            }
            self.seen += 1;
            let is_http = self.is_balancers_header(*byte) || self.begins_second_line(*byte);
            let next = self.step(*byte);
            self.state = if is_http { State::Done(FirstBytes::Http) } else { self.settle(next) };
        }
        if let State::Done(kind) = self.state { kind } else { FirstBytes::NeedMore }
    }

    /// What the bytes were that end here: a lenient server takes the end for that of the line.
    pub fn at_end(&self) -> FirstBytes {
        match self.state {
            State::Done(kind) => kind,
            State::Blank | State::OldTls => FirstBytes::Other,
            State::Method | State::Rest | State::Odd => self.kind_of_line(),
        }
    }

    /// The longest line has not ended: no server has been told anything yet, and of HTTP none will be.
    fn settle(&self, next: State) -> State {
        match next {
            State::Done(FirstBytes::Other) if self.balancers_header == self.seen => State::Odd,
            State::Done(_) => next,
            _ if self.seen < MAX_LINE => next,
            State::Odd if !self.names_http => State::Done(FirstBytes::Other),
            _ => State::Done(FirstBytes::Http),
        }
    }

    fn step(&mut self, byte: u8) -> State {
        match self.state {
            State::Done(_) => self.state,
            // Some servers take a first record of any TLS type and of versions that do not exist,
            // and some the hello of SSL 2. All of them have to be read as TLS, which refuses them.
            State::Blank if self.seen == 1 && RECORD_TYPES.contains(&byte) => {
                State::Done(FirstBytes::Tls)
            }
            State::Blank if self.seen == 1 && byte >= OLD_RECORD => State::OldTls,
            State::OldTls if self.seen < OLD_HEADER => State::OldTls,
            State::OldTls if byte == OLD_HELLO => State::Done(FirstBytes::Tls),
            State::OldTls => State::Odd,
            // Servers skip empty lines before a request, and some skip blanks.
            State::Blank if is_blank(byte) || byte == b'\n' => State::Blank,
            State::Blank | State::Method if is_token(byte) => {
                self.note(byte);
                State::Method
            }
            State::Method if is_blank(byte) && byte != b'\r' => {
                self.note(byte);
                State::Rest
            }
            _ if byte == b'\n' => State::Done(self.kind_of_line()),
            State::Rest if is_blank(byte) || (byte >= b' ' && byte != 0x7f) => {
                self.note(byte);
                State::Rest
            }
            State::Rest if self.begins_with_method() => State::Done(FirstBytes::Http),
            State::Blank | State::Method | State::Rest | State::Odd => {
                self.note(byte);
                State::Odd
            }
        }
    }

    /// Whether this byte ends the header that a load balancer puts before what it passes on. What
    /// follows is for whomever it names, and a host that takes one must not be sent it by a program.
    fn is_balancers_header(&mut self, byte: u8) -> bool {
        if self.balancers_header + 1 == self.seen
            && BALANCERS_HEADER.get(self.balancers_header) == Some(&byte)
        {
            self.balancers_header += 1;
        }
        self.balancers_header == BALANCERS_HEADER.len()
    }

    /// Whether this byte follows a request line for a server to which a carriage return alone ends one.
    /// Only told of a request: what is none so far may become one where lines end as they should.
    fn begins_second_line(&mut self, byte: u8) -> bool {
        let after_return = std::mem::replace(&mut self.returned, byte == b'\r');
        let in_a_line = matches!(self.state, State::Method | State::Rest | State::Odd);
        let ends_alone = after_return && in_a_line && byte != b'\n';
        ends_alone && self.kind_of_line() == FirstBytes::Http
    }

    fn note(&mut self, byte: u8) {
        self.opening = self.opening.next(byte, self.start.is_empty());
        if self.start.len() < LONGEST_METHOD + 1 {
            self.start.push(byte);
        }
        let lower = byte.to_ascii_lowercase();
        let goes_on = SPELLING.get(self.spelled) == Some(&lower);
        self.spelled = match (goes_on, lower) {
            (true, _) => self.spelled + 1,
            (false, b'h') => 1,
            (false, _) => 0,
        };
        if self.spelled == SPELLING.len() {
            self.names_http = true;
            self.spelled = 0;
        }
        self.word = match (self.word, byte) {
            (word, b'\r') => word,
            (_, byte) if is_blank(byte) => Word::Empty,
            (Word::Empty | Word::Letters, byte) if byte.is_ascii_alphabetic() => Word::Letters,
            (Word::Letters, b'/') => Word::Slash,
            (Word::Slash | Word::Version, b'.' | b'0'..=b'9') => Word::Version,
            _ => Word::Plain,
        };
    }

    /// `GET /` without a version is HTTP/0.9, and some servers take any word for a method. A last word
    /// such as `RTSP/1.0` is the version of another protocol, which some HTTP servers read as their own;
    /// so is the line that a load balancer puts before a request.
    fn kind_of_line(&self) -> FirstBytes {
        let is_request = self.begins_with_method()
            || self.word == Word::Version
            || self.opening == Opening::Request;
        if self.names_http || is_request || self.start.starts_with(b"PROXY ") {
            FirstBytes::Http
        } else {
            FirstBytes::Other
        }
    }

    fn begins_with_method(&self) -> bool {
        METHODS.iter().any(|method| {
            let rest = self.start.strip_prefix(method.as_bytes());
            rest.and_then(<[u8]>::first).is_some_and(|byte| is_blank(*byte))
        })
    }
}

/// What one server or another takes for white space within a line.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x0b | 0x0c | b'\r' | 0x1c..=0x1f | b' ' | 0x85 | 0xa0)
}

/// RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Change of cipher, alert, handshake, data, heartbeat.
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=24;
/// The highest bit of an SSL 2 record's length.
const OLD_RECORD: u8 = 0x80;
/// Two bytes of length and the type of its message.
const OLD_HEADER: usize = 3;
const OLD_HELLO: u8 = 1;
const SPELLING: &[u8] = b"http/";
/// Version 2 of the PROXY protocol.
const BALANCERS_HEADER: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const MAX_LINE: usize = 64 * 1024;
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
const LONGEST_METHOD: usize = 7;
