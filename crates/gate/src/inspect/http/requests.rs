//! The requests of one connection, one after the other: finds each head, and the end of each body, so
//! that no request goes by unread. Keeps a head until it is complete and nothing of a body.

use super::HttpError;
use super::chunks::Chunks;
use super::lines::{Collected, Lines};
use super::request::{self, BodyLength, Place, RequestHead};

/// What the client has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// All input belongs to a head that is not complete; it was kept.
    NeedMore,
    /// A head is complete. It is to be judged, then passed on as `head.bytes` or in another form: the
    /// input up to `consumed` is part of it.
    Head {
        /// How much of the input was taken.
        consumed: usize,
        /// The head.
        head: Box<RequestHead>,
    },
    /// The input up to `consumed` belongs to a body and is to be passed on.
    Body {
        /// How much of the input was taken.
        consumed: usize,
    },
}

/// Reads the requests of one connection.
#[derive(Clone, Debug)]
pub struct Requests {
    state: State,
    place: Place,
}

#[derive(Clone, Debug)]
enum State {
    Head(Lines),
    Sized {
        left: u64,
    },
    Chunked(Chunks),
    /// After `CONNECT`: what follows is no request of this connection.
    Tunnel,
    Failed(HttpError),
}

impl Default for Requests {
    fn default() -> Self {
        Self::new()
    }
}

impl Requests {
    /// A connection on which nothing was sent.
    pub fn new() -> Self {
        Self { state: State::Head(Lines::default()), place: Place::First }
    }

    /// Looks at the bytes that follow those taken so far, up to the end of a head, of a body or of the
    /// input. After an error there is nothing but that error.
    pub fn next(&mut self, input: &[u8]) -> Result<Step, HttpError> {
        let step = self.advance(input);
        if let Err(error) = &step {
            self.state = State::Failed(error.clone());
        }
        step
    }

    /// Whether the connection stands between two requests.
    pub fn is_between(&self) -> bool {
        matches!(&self.state, State::Head(lines) if lines.bytes().is_empty())
    }

    /// How many bytes were kept, of a head or of the fields behind a body.
    pub fn kept(&self) -> usize {
        match &self.state {
            State::Head(lines) => lines.bytes().len(),
            State::Chunked(chunks) => chunks.kept(),
            State::Sized { .. } | State::Tunnel | State::Failed(_) => 0,
        }
    }

    /// How many bytes are sure to belong to a body and may be passed on unseen.
    pub fn unseen(&self) -> u64 {
        match &self.state {
            State::Sized { left } => *left,
            State::Chunked(chunks) => chunks.data_left(),
            State::Tunnel => u64::MAX,
            State::Head(_) | State::Failed(_) => 0,
        }
    }

    /// Tells that so many bytes were passed on unseen, of as many as [`Self::unseen`] allows.
    pub fn passed_unseen(&mut self, count: u64) {
        match &mut self.state {
            State::Sized { left } => *left = left.saturating_sub(count),
            State::Chunked(chunks) => chunks.skip(count),
            State::Head(_) | State::Tunnel | State::Failed(_) => return,
        }
        self.end_body();
    }

    fn advance(&mut self, input: &[u8]) -> Result<Step, HttpError> {
        if input.is_empty() {
            return Ok(Step::NeedMore);
        }
        let consumed = match &mut self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Head(_) => return self.collect(input),
            State::Tunnel => input.len(),
            State::Sized { left } => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                taken
            }
            State::Chunked(chunks) => chunks.push(input)?,
        };
        self.end_body();
        Ok(Step::Body { consumed })
    }

    fn collect(&mut self, input: &[u8]) -> Result<Step, HttpError> {
        let mut taken = 0;
        while let State::Head(lines) = &mut self.state {
            match lines.push(input.get(taken..).unwrap_or_default())? {
                Collected::NeedMore => break,
                Collected::FirstLine { consumed } => {
                    taken += consumed;
                    request::check_first_line(lines.bytes())?;
                }
                Collected::Complete { .. } if lines.bytes() == b"\r\n" => {
                    return Err(HttpError::LeadingBlank);
                }
                Collected::Complete { consumed } => {
                    let head = RequestHead::parse(lines.take(), self.place)?;
                    self.enter_body(&head);
                    let head = Box::new(head);
                    return Ok(Step::Head { consumed: taken + consumed, head });
                }
            }
        }
        Ok(Step::NeedMore)
    }

    fn enter_body(&mut self, head: &RequestHead) {
        self.place = Place::Later;
        self.state = match head.body {
            _ if head.method == "CONNECT" => State::Tunnel,
            BodyLength::Exactly(left) => State::Sized { left },
            BodyLength::Chunked => State::Chunked(Chunks::new()),
        };
        self.end_body();
    }

    fn end_body(&mut self) {
        let ended = match &self.state {
            State::Sized { left } => *left == 0,
            State::Chunked(chunks) => chunks.is_done(),
            State::Head(_) | State::Tunnel | State::Failed(_) => false,
        };
        if ended {
            self.state = State::Head(Lines::default());
        }
    }
}
