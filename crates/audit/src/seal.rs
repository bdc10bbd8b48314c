//! The record that sets apart what a dead writer left: the lines before it, from the first that does not
//! follow. Whoever verifies a log and whoever writes to it go on behind it; neither ever goes on behind
//! bytes that no such record names.

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::hash::{Hash, hexadecimal};
use crate::head::read_at;
use crate::key::is_signed;
use crate::line::Line;
use crate::lines::{Lines, Part};
use crate::record::Record;
use crate::writer::recovered_message;

/// The last record that was right.
#[derive(Clone, Copy)]
pub(crate) struct After {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
}

impl After {
    /// Whether a record with this number, that names this as the one before it, is the next.
    pub(crate) fn is_followed_by(self, sequence: u64, previous: Hash) -> bool {
        (sequence, previous) == (self.sequence + 1, self.hash)
    }
}

/// A record that sets apart what is before it.
pub(crate) struct Sealed {
    pub(crate) record: Record,
    /// How many bytes it sets apart.
    pub(crate) bytes: u64,
    /// The key that it names.
    pub(crate) public_key: String,
    /// Whether that key has signed it.
    pub(crate) is_signed: bool,
    /// Where it ends.
    pub(crate) end: u64,
    /// Its line.
    pub(crate) line: u64,
}

/// Looks for the record that sets apart everything from an offset on. Exactly that: it follows the
/// last record that was right, stands behind these bytes, and names their number and their hash.
pub(crate) fn seal(
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
        // One that lost what it names, or was lost itself in part, is set apart with it by a later one.
        if (named, bytes) != (offset, start - offset) || sha256 != hash_of(part, offset, bytes)? {
            continue;
        }
        let (sequence, previous) = (record.sequence, record.previous);
        let message = recovered_message(sequence, previous, offset, bytes, sha256);
        let is_signed = is_signed(public_key.as_str(), &message, signature.as_str());
        let public_key = public_key.to_string();
        return Ok(Some(Sealed { record, bytes, public_key, is_signed, end, line }));
    }
    Ok(None)
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
