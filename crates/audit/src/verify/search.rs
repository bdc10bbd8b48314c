//! What is behind a line that does not follow: the record that sets an unfinished one apart, or a
//! sign of what was done to the log.

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::Fault;
use crate::event::Event;
use crate::hash::{Hash, hexadecimal};
use crate::head::read_at;
use crate::key::is_signed;
use crate::line::Line;
use crate::lines::{Lines, Part, RawLine};
use crate::record::Record;
use crate::writer::recovered_message;

/// The last record that was right.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) sequence: u64,
    pub(super) hash: Hash,
}

impl After {
    fn is_followed_by(self, sequence: u64, previous: Hash) -> bool {
        (sequence, previous) == (self.sequence + 1, self.hash)
    }
}

/// A record that sets apart what is before it.
pub(super) struct Sealed {
    pub(super) record: Record,
    /// How many bytes it sets apart.
    pub(super) bytes: u64,
    /// The key that it names.
    pub(super) public_key: String,
    /// Whether that key has signed it.
    pub(super) is_signed: bool,
    /// Where it ends.
    pub(super) end: u64,
    /// Its line.
    pub(super) line: u64,
}

/// Looks for the record that sets apart everything from an offset on. Exactly that: it follows the
/// last record that was right, stands behind these bytes, and names their number and their hash.
pub(super) fn seal(
    part: &Part,
    offset: u64,
    mut line: u64,
    after: After,
) -> Result<Option<Sealed>, Errno> {
    let mut lines = Lines::from(offset);
    // The line that is wrong comes first.
    lines.next(part)?;
    while let Some(raw) = lines.next(part)? {
        line += 1;
        let follows = Line::parse(raw.bytes)
            .is_ok_and(|line| after.is_followed_by(line.sequence, line.previous));
        let Some(record) = Record::parse(raw.bytes).ok().filter(|_| follows && raw.is_ended) else {
            continue;
        };
        let (start, end) = (raw.offset, raw.end);
        let Some(Event::LogRecovered { offset: named, bytes, sha256, public_key, signature }) =
            record.event()
        else {
            return Ok(None);
        };
        let sha256 = sha256.as_str();
        if (named, bytes) != (offset, start - offset) || sha256 != hash_of(part, offset, bytes)? {
            return Ok(None);
        }
        let (sequence, previous) = (record.sequence, record.previous);
        let message = recovered_message(sequence, previous, offset, bytes, sha256);
        let is_signed = is_signed(public_key.as_str(), &message, signature.as_str());
        let public_key = public_key.to_string();
        return Ok(Some(Sealed { record, bytes, public_key, is_signed, end, line }));
    }
    Ok(None)
}

/// What was done to the log, as far as the lines around the first wrong one tell.
pub(super) fn classify(
    parts: &[Part],
    part: &Part,
    raw: &RawLine<'_>,
    after: After,
) -> Result<Fault, Errno> {
    let expected = after.sequence + 1;
    Ok(match Line::parse(raw.bytes) {
        Err(_) if is_next_line_right(part, raw.end, after)? => Fault::Inserted,
        Err(_) => Fault::Changed,
        Ok(line) if line.sequence > expected => {
            if stands_further_on(parts, part, raw.end, after)? {
                Fault::Reordered
            } else {
                Fault::Missing { next: line.sequence }
            }
        }
        Ok(line) if line.sequence < expected => Fault::Inserted,
        Ok(_) if is_next_line_right(part, raw.end, after)? => Fault::Inserted,
        Ok(_) => Fault::Replaced,
    })
}

fn is_next_line_right(part: &Part, offset: u64, after: After) -> Result<bool, Errno> {
    let mut lines = Lines::from(offset);
    let next = lines.next(part)?.and_then(|raw| Line::parse(raw.bytes).ok());
    Ok(next.is_some_and(|line| after.is_followed_by(line.sequence, line.previous)))
}

/// Whether the record that should be next is anywhere behind an offset.
fn stands_further_on(
    parts: &[Part],
    part: &Part,
    offset: u64,
    after: After,
) -> Result<bool, Errno> {
    for later in parts.iter().filter(|later| later.number >= part.number) {
        let mut lines = Lines::from(if later.number == part.number { offset } else { 0 });
        while let Some(raw) = lines.next(later)? {
            let line = Line::parse(raw.bytes);
            if line.is_ok_and(|line| after.is_followed_by(line.sequence, line.previous)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn hash_of(part: &Part, mut offset: u64, bytes: u64) -> Result<String, Errno> {
    let (mut hash, end) = (Sha256::new(), offset + bytes);
    let mut buffer = vec![0_u8; 64 * 1024];
    while offset < end {
        let wanted = usize::try_from(end - offset).unwrap_or(buffer.len()).min(buffer.len());
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        let count = read_at(&part.file, buffer, part.begin + offset)?;
        if count == 0 {
            break;
        }
        hash.update(buffer.get(..count).unwrap_or_default());
        offset += count as u64;
    }
    Ok(hexadecimal(&hash.finalize()))
}
