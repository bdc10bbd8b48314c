//! Heads of responses, where the gatekeeper has to know one: to say that a proxied connection ends with
//! it, and to see that a connection has left HTTP behind. Never follows a response's body.

use super::lines::{Collected, Lines};
use super::{HttpError, MAX_FIELDS, rewrite};

/// What a server has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All input belongs to a head that is not complete; it was kept.
    NeedMore,
    /// A head is complete; the input up to `consumed` is part of it.
    Head {
        /// How much of the input was taken.
        consumed: usize,
        /// The head.
        head: ResponseHead,
    },
}

/// A response's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status.
    pub status: u16,
    /// The head as it came.
    pub bytes: Vec<u8>,
}

/// Reads heads of responses that follow each other without bodies, as interim ones do.
#[derive(Clone, Debug, Default)]
pub struct ResponseReader {
    lines: Lines,
}

impl ResponseReader {
    /// A server that has sent nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the bytes that follow those taken so far, up to the end of a head or of the input.
    pub fn next(&mut self, input: &[u8]) -> Result<Answer, HttpError> {
        let mut taken = 0;
        loop {
            match self.lines.push(input.get(taken..).unwrap_or_default())? {
                Collected::NeedMore => return Ok(Answer::NeedMore),
                Collected::FirstLine { consumed } => taken += consumed,
                Collected::Complete { consumed } => {
                    let head = ResponseHead::parse(self.lines.take())?;
                    return Ok(Answer::Head { consumed: taken + consumed, head });
                }
            }
        }
    }

    /// What was kept of a head that is not complete, for whoever passes it on as it is.
    pub fn kept(&self) -> &[u8] {
        self.lines.bytes()
    }
}

impl ResponseHead {
    /// Whether the connection is something else than HTTP from here on.
    pub fn switches(&self) -> bool {
        self.status == 101
    }

    /// Whether another head follows for the same request.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && !self.switches()
    }

    /// The head as the last one of its connection.
    pub fn closing(&self) -> Vec<u8> {
        rewrite::closing(&self.bytes)
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, HttpError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        match response.parse(&bytes) {
            Ok(httparse::Status::Complete(end)) if end == bytes.len() => {
                let status = response.code.ok_or(HttpError::BadFirstLine)?;
                Ok(Self { status, bytes })
            }
            Ok(_) => Err(HttpError::BadFirstLine),
            Err(httparse::Error::TooManyHeaders) => Err(HttpError::TooManyFields),
            Err(httparse::Error::HeaderName | httparse::Error::HeaderValue) => {
                Err(HttpError::BadField)
            }
            Err(_) => Err(HttpError::BadFirstLine),
        }
    }
}
