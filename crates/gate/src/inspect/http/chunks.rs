//! Follows a chunked body to its end without keeping it. Takes sizes as plain hexadecimal numbers, short
//! extensions and well-formed trailers, and refuses the rest; never changes or joins a chunk.

use super::lines::{Collected, Lines};
use super::{HttpError, MAX_FIELDS, head};

/// A place in a chunked body.
#[derive(Clone, Debug)]
pub(super) struct Chunks(State);

#[derive(Clone, Debug)]
enum State {
    /// In a chunk's size, of which so many digits are here.
    Size { digits: usize, value: u64 },
    /// In the rest of a size line.
    Extension { length: usize, value: u64 },
    /// After the carriage return of a size line.
    SizeEnd { value: u64 },
    /// In a chunk.
    Data { left: u64 },
    /// After a chunk.
    DataReturn,
    /// After the carriage return that follows a chunk.
    DataEnd,
    /// In the fields after the last chunk.
    Trailer(Lines),
    /// After the body.
    Done,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self(START)
    }

    /// Whether the body has ended.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.0, State::Done)
    }

    /// How many bytes of the fields behind the body were kept.
    pub(super) fn kept(&self) -> usize {
        if let State::Trailer(lines) = &self.0 { lines.bytes().len() } else { 0 }
    }

    /// How much of the current chunk is still to come.
    pub(super) fn data_left(&self) -> u64 {
        if let State::Data { left } = self.0 { left } else { 0 }
    }

    /// Leaves out so many bytes of the current chunk.
    pub(super) fn skip(&mut self, count: u64) {
        if let State::Data { left } = &mut self.0 {
            *left = left.saturating_sub(count);
            if *left == 0 {
                self.0 = State::DataReturn;
            }
        }
    }

    /// Takes bytes up to the end of the input or of the body, and gives how many.
    pub(super) fn push(&mut self, input: &[u8]) -> Result<usize, HttpError> {
        let mut rest = input;
        while !rest.is_empty() && !self.is_done() {
            let taken = match &mut self.0 {
                State::Data { left } => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    self.skip(taken as u64);
                    taken
                }
                State::Trailer(lines) => {
                    let (taken, ended) = push_trailer(lines, rest)?;
                    if ended {
                        self.0 = State::Done;
                    }
                    taken
                }
                _ => {
                    self.step(rest.first().copied().unwrap_or_default())?;
                    1
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(input.len() - rest.len())
    }

    /// Takes one byte of what is around the chunks.
    fn step(&mut self, byte: u8) -> Result<(), HttpError> {
        let hexadecimal = char::from(byte).to_digit(16).map(u64::from);
        self.0 = match (&self.0, byte) {
            (State::Size { digits: MAX_DIGITS, .. }, _) if hexadecimal.is_some() => {
                return Err(HttpError::ChunkLineTooLong);
            }
            (State::Size { digits, value }, _) if hexadecimal.is_some() => State::Size {
                digits: digits + 1,
                value: value << 4 | hexadecimal.unwrap_or_default(),
            },
            (State::Size { digits: 1.., value }, b'\r') => State::SizeEnd { value: *value },
            (State::Size { digits: 1.., value }, b';') => {
                State::Extension { length: 1, value: *value }
            }
            (State::Extension { value, .. }, b'\r') => State::SizeEnd { value: *value },
            (State::Extension { length: MAX_EXTENSION.., .. }, _) => {
                return Err(HttpError::ChunkLineTooLong);
            }
            (State::Extension { length, value }, b'\t' | b' '..=b'~') => {
                State::Extension { length: length + 1, value: *value }
            }
            (State::SizeEnd { value: 0 }, b'\n') => State::Trailer(Lines::default()),
            (State::SizeEnd { value }, b'\n') => State::Data { left: *value },
            (State::DataReturn, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => START,
            _ => return Err(HttpError::BadChunk),
        };
        Ok(())
    }
}

/// Takes a part of the trailer section and says whether it ended.
fn push_trailer(lines: &mut Lines, input: &[u8]) -> Result<(usize, bool), HttpError> {
    match lines.push(input)? {
        Collected::NeedMore => Ok((input.len(), false)),
        Collected::FirstLine { consumed } => Ok((consumed, false)),
        Collected::Complete { consumed } => {
            check_trailer(lines.bytes())?;
            Ok((consumed, true))
        }
    }
}

fn check_trailer(trailer: &[u8]) -> Result<(), HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    match httparse::parse_headers(trailer, &mut fields) {
        Ok(httparse::Status::Complete((end, fields))) if end == trailer.len() => {
            let belongs_before = |field: &httparse::Header<'_>| {
                head::FRAMING.iter().any(|name| field.name.eq_ignore_ascii_case(name))
            };
            if fields.iter().any(belongs_before) { Err(HttpError::BadTrailer) } else { Ok(()) }
        }
        Err(httparse::Error::TooManyHeaders) => Err(HttpError::TooManyFields),
        _ => Err(HttpError::BadField),
    }
}

const START: State = State::Size { digits: 0, value: 0 };
/// 2^60 bytes and no sign to be misread.
const MAX_DIGITS: usize = 15;
const MAX_EXTENSION: usize = 256;
