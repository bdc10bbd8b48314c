//! The end of a log's file: the last record that is whole, and what lies behind it. The quick look
//! reads one line; the thorough one follows the chain from what is known to have been durable.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::time::ClockId;

use crate::hash::Hash;
use crate::head::read_at;
use crate::line::{LONGEST_LINE, Line};
use crate::time::Timestamp;

/// The end of the file that is written to.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) number: u32,
    /// The file's own, by which it is known again.
    pub(crate) inode: u64,
    /// How long the file is.
    pub(crate) size: u64,
    pub(crate) last: Last,
}

/// The last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    /// Whether it says that the log goes on in another file.
    pub(crate) is_rotation: bool,
}

impl Last {
    /// What is before the first record.
    pub(crate) const NONE: Self = Self { sequence: 0, hash: Hash::NONE, is_rotation: false };

    /// Whether a line is the record after this one.
    fn is_before(&self, line: &Line<'_>) -> bool {
        line.sequence == self.sequence + 1 && line.previous == self.hash
    }
}

impl From<&Line<'_>> for Last {
    fn from(line: &Line<'_>) -> Self {
        let is_rotation = line.event == "log.rotated";
        Self { sequence: line.sequence, hash: line.hash, is_rotation }
    }
}

/// How far a file follows the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The last record of the chain.
    pub(crate) last: Last,
    /// Where it ends.
    pub(crate) end: u64,
}

/// The last record of a file, if the file ends with one.
pub(crate) fn last_record(file: &OwnedFd, size: u64) -> Result<Option<Last>, Errno> {
    Ok(last_record_and_time(file, size)?.map(|(last, _)| last))
}

/// The same, and when it was written.
pub(crate) fn last_record_and_time(
    file: &OwnedFd,
    size: u64,
) -> Result<Option<(Last, Timestamp)>, Errno> {
    let read = |line: Line<'_>| (Last::from(&line), line.time);
    let mut window = [0_u8; USUAL_LINE];
    let usual = ending(file, size, &mut window)?;
    if let Some(line) = last_line(usual, size) {
        return Ok(Line::parse(line).ok().map(read));
    }
    let mut window = vec![0_u8; LONGEST_LINE + 1];
    let longest = ending(file, size, &mut window)?;
    Ok(last_line(longest, size).and_then(|line| Line::parse(line).ok()).map(read))
}

/// Follows the chain through a file, from a record that ends at some offset.
pub(crate) fn follow_chain(file: &OwnedFd, size: u64, from: Followed) -> Result<Followed, Errno> {
    let mut followed = from;
    let mut window = vec![0_u8; WINDOW];
    loop {
        let before = followed.end;
        let wanted = usize::try_from(size.saturating_sub(before)).unwrap_or(WINDOW).min(WINDOW);
        let buffer = window.get_mut(..wanted).unwrap_or_default();
        let count = read_at(file, buffer, before)?;
        let bytes = window.get(..count).unwrap_or_default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = line.strip_suffix(b"\n").and_then(|line| Line::parse(line).ok());
            let Some(line_read) = whole.filter(|line| followed.last.is_before(line)) else { break };
            let end = followed.end + line.len() as u64;
            followed = Followed { last: Last::from(&line_read), end };
        }
        // A window is longer than two lines, so at least one was followed unless none is left.
        if followed.end == before {
            return Ok(followed);
        }
    }
}

/// Whether a file was last written before this machine started. What was not durable then may be
/// there in part, also in the middle.
pub(crate) fn is_from_before_boot(modified_seconds: i64) -> bool {
    let since_boot = rustix::time::clock_gettime(ClockId::Boottime).tv_sec;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    // Rounded so that a doubt leads to the thorough look.
    modified_seconds <= now.saturating_sub(since_boot).saturating_add(1)
}

/// The last bytes of a file, as many as the buffer holds.
fn ending<'a>(file: &OwnedFd, size: u64, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let offset = size.saturating_sub(buffer.len() as u64);
    let wanted = usize::try_from(size - offset).unwrap_or(0);
    let buffer = buffer.get_mut(..wanted).unwrap_or_default();
    let count = read_at(file, buffer, offset)?;
    Ok(buffer.get(..count).unwrap_or_default())
}

/// The last whole line among the last bytes of a file, if its beginning is among them.
fn last_line(bytes: &[u8], size: u64) -> Option<&[u8]> {
    let line = bytes.strip_suffix(b"\n")?;
    match line.iter().rposition(|byte| *byte == b'\n') {
        Some(end_before) => line.get(end_before + 1..),
        None => (bytes.len() as u64 == size).then_some(line),
    }
}

/// Most lines are shorter.
const USUAL_LINE: usize = 2048;

const WINDOW: usize = 4 * LONGEST_LINE;
