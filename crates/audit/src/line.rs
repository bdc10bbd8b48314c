//! One record as one line of bytes, in exactly one form: what is written, and the reading of its
//! frame. A line that is not in that form is no record, whoever wrote it.
//!
//! ```text
//! {"v":1,"seq":7,"time":"2026-01-31T10:20:30.000000Z","prev":"…64…","event":"…",…,"hash":"…64…"}
//! ```
//!
//! The hash is over all bytes before `,"hash"`. Never looks into the fields of an event.

use crate::error::AuditError;
use crate::event::Event;
use crate::hash::Hash;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// The most bytes that a record has, with the end of its line.
pub const LONGEST_LINE: usize = 16 * 1024;

/// The frame of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub sequence: u64,
    /// When it was written.
    pub time: Timestamp,
    /// The hash of the record before it.
    pub previous: Hash,
    /// Its own hash, which is right.
    pub hash: Hash,
    /// The event's name.
    pub event: &'a str,
    /// The event and its fields as an object without its opening brace.
    pub(crate) fields: &'a str,
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// They do not have the form of one.
    #[error("it is not a record")]
    Malformed,
    /// They do, and their hash is another.
    #[error("its hash is not that of its contents")]
    Changed {
        /// The number that the record claims.
        sequence: u64,
    },
}

impl<'a> Line<'a> {
    /// Reads a line without its end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, LineError> {
        if bytes.len() >= LONGEST_LINE || !bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(LineError::Malformed);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| LineError::Malformed)?;
        let framed = Self::read_frame(text).ok_or(LineError::Malformed)?;
        let (line, hashed) = framed;
        if Hash::of(hashed.as_bytes()) != line.hash {
            return Err(LineError::Changed { sequence: line.sequence });
        }
        Ok(line)
    }

    /// The frame, and the bytes that are hashed.
    fn read_frame(text: &'a str) -> Option<(Self, &'a str)> {
        let hashed = text.get(..text.len().checked_sub(HASH_LENGTH)?)?;
        let hash = text.get(hashed.len()..)?.strip_prefix(HASH)?.strip_suffix("\"}")?;
        let (sequence, rest) = hashed.strip_prefix(VERSION)?.split_once(TIME)?;
        let (time, rest) = rest.split_once(PREVIOUS)?;
        let (previous, fields) = rest.split_once("\",")?;
        let (event, _) = fields.strip_prefix("\"event\":\"")?.split_once('"')?;
        let line = Self {
            sequence: canonical_number(sequence)?,
            time: Timestamp::parse_canonical(time)?,
            previous: Hash::parse(previous)?,
            hash: Hash::parse(hash)?,
            event,
            fields,
        };
        Some((line, hashed))
    }
}

/// Adds the line of a record, with its end, and gives its hash.
pub(crate) fn write(
    buffer: &mut Vec<u8>,
    sequence: u64,
    time: Timestamp,
    previous: Hash,
    event: &Event,
) -> Result<Hash, AuditError> {
    let begin = buffer.len();
    buffer.extend_from_slice(
        format!("{VERSION}{sequence}{TIME}{time}{PREVIOUS}{previous}\",").as_bytes(),
    );
    let brace = buffer.len();
    serde_json::to_writer(&mut *buffer, event)
        .map_err(|error| AuditError::Unwritable(error.to_string()))?;
    buffer.remove(brace);
    buffer.pop();
    let hash = Hash::of(buffer.get(begin..).unwrap_or_default());
    buffer.extend_from_slice(format!("{HASH}{hash}\"}}\n").as_bytes());
    let bytes = buffer.len() - begin;
    if bytes > LONGEST_LINE {
        buffer.truncate(begin);
        return Err(AuditError::TooLong { bytes });
    }
    Ok(hash)
}

/// Digits without a sign or leading zeros.
fn canonical_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

const VERSION: &str = "{\"v\":1,\"seq\":";
const TIME: &str = ",\"time\":\"";
const PREVIOUS: &str = "\",\"prev\":\"";
const HASH: &str = ",\"hash\":\"";

/// Of [`HASH`], 64 digits, and the end of the object.
const HASH_LENGTH: usize = HASH.len() + 64 + 2;
