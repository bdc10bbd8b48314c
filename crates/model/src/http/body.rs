//! The body of a message: of a known length, in chunks, or until the connection ends. Takes bytes as they come and
//! hands on the content; holds none of it.

use super::HttpError;

/// Reads one body.
#[derive(Clone, Debug)]
pub struct BodyReader(State);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Length(u64),
    UntilClose,
    /// The digits of a chunk's length.
    Size {
        length: u64,
        digits: u8,
    },
    Extension {
        length: u64,
        taken: usize,
    },
    SizeEnd {
        length: u64,
    },
    Data(u64),
    DataReturn,
    DataEnd,
    /// Within the lines after the last chunk: how long the present one is, and all of them.
    Trailer {
        line: usize,
        taken: usize,
    },
    Done,
}

impl BodyReader {
    pub(super) fn of_length(length: u64) -> Self {
        Self(if length == 0 { State::Done } else { State::Length(length) })
    }

    pub(super) fn chunked() -> Self {
        Self(State::Size { length: 0, digits: 0 })
    }

    pub(super) fn until_close() -> Self {
        Self(State::UntilClose)
    }

    /// Whether all of it has come.
    pub fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// How much is still to come, where that is known.
    pub fn left(&self) -> Option<u64> {
        match self.0 {
            State::Length(left) => Some(left),
            State::Done => Some(0),
            _ => None,
        }
    }

    /// Takes the next bytes and appends what of them is content. Returns how many belong to the body.
    ///
    /// # Errors
    /// If they are not what they should be.
    pub fn feed(&mut self, bytes: &[u8], content: &mut Vec<u8>) -> Result<usize, HttpError> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_done() {
            rest = self.step(rest, content)?;
        }
        Ok(bytes.len() - rest.len())
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// If the body has not.
    pub fn end(&self) -> Result<(), HttpError> {
        match self.0 {
            State::Done | State::UntilClose => Ok(()),
            _ => Err(HttpError::CutOff),
        }
    }

    fn step<'a>(&mut self, bytes: &'a [u8], content: &mut Vec<u8>) -> Result<&'a [u8], HttpError> {
        match self.0 {
            State::UntilClose => {
                content.extend_from_slice(bytes);
                return Ok(&[]);
            }
            State::Length(left) | State::Data(left) => {
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let (taken, rest) = bytes.split_at(count);
                content.extend_from_slice(taken);
                let left = left - taken.len() as u64;
                self.0 = match self.0 {
                    State::Length(_) if left == 0 => State::Done,
                    State::Length(_) => State::Length(left),
                    _ if left == 0 => State::DataReturn,
                    _ => State::Data(left),
                };
                return Ok(rest);
            }
            _ => {}
        }
        let Some((&byte, rest)) = bytes.split_first() else { return Ok(bytes) };
        self.0 = self.framing(byte)?;
        Ok(rest)
    }

    /// What follows a byte between chunks.
    fn framing(&self, byte: u8) -> Result<State, HttpError> {
        Ok(match (self.0, byte) {
            (State::Size { length, digits }, _)
                if byte.is_ascii_hexdigit() && digits < MOST_DIGITS =>
            {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                State::Size { length: length << 4 | u64::from(digit), digits: digits + 1 }
            }
            (State::Size { length, digits: 1.. }, b'\r') => State::SizeEnd { length },
            (State::Size { length, digits: 1.. }, b';' | b' ' | b'\t') => {
                State::Extension { length, taken: 0 }
            }
            (State::Extension { length, .. }, b'\r') => State::SizeEnd { length },
            (State::Extension { length, taken }, other) if other != b'\n' && taken < MOST_LINE => {
                State::Extension { length, taken: taken + 1 }
            }
            (State::SizeEnd { length: 0 }, b'\n') => State::Trailer { line: 0, taken: 0 },
            (State::SizeEnd { length }, b'\n') => State::Data(length),
            (State::DataReturn, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::Size { length: 0, digits: 0 },
            (State::Trailer { line: 0, .. }, b'\n') => State::Done,
            (State::Trailer { taken, .. }, b'\n') => State::Trailer { line: 0, taken },
            (State::Trailer { line, taken }, b'\r') => State::Trailer { line, taken },
            (State::Trailer { line, taken }, _) if taken < MOST_LINE => {
                State::Trailer { line: line + 1, taken: taken + 1 }
            }
            _ => return Err(HttpError::Chunk),
        })
    }
}

const MOST_DIGITS: u8 = 15;
const MOST_LINE: usize = 8 << 10;
