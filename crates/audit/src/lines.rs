//! The lines of a log's file, whatever is in it. Holds one window of the file at a time: a line that
//! is longer than any record is told as one, and its rest is passed over.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::head::read_at;
use crate::line::LONGEST_LINE;

#[cfg(test)]
mod tests;

/// A stretch of a file that holds lines.
#[derive(Debug)]
pub(crate) struct Part {
    /// The file's number in the log.
    pub(crate) number: u32,
    pub(crate) file: OwnedFd,
    /// Where the stretch begins in the file; lines are counted from there.
    pub(crate) begin: u64,
    /// How long it is.
    pub(crate) length: u64,
}

/// Goes through the lines of a [`Part`].
#[derive(Debug)]
pub(crate) struct Lines {
    window: Vec<u8>,
    /// Where the window begins in the part.
    window_at: u64,
    /// Where the next line begins in the window.
    next: usize,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawLine<'a> {
    /// Where it begins in the part.
    pub(crate) offset: u64,
    /// Where the next one begins.
    pub(crate) end: u64,
    /// The line without its end; of one that is too long, as much as shows that it is.
    pub(crate) bytes: &'a [u8],
    /// Whether it has an end: the last one of a part may have none.
    pub(crate) is_ended: bool,
}

impl Lines {
    /// The lines of a part, from an offset on.
    pub(crate) fn from(offset: u64) -> Self {
        Self { window: Vec::new(), window_at: offset, next: 0 }
    }

    /// Where the next line begins in the part.
    pub(crate) fn offset(&self) -> u64 {
        self.window_at + self.next as u64
    }

    /// The next line; none at the end.
    pub(crate) fn next<'a>(&'a mut self, part: &Part) -> Result<Option<RawLine<'a>>, Errno> {
        if self.length_of_next().is_none() {
            self.refill(part)?;
        }
        let (offset, begin) = (self.offset(), self.next);
        match self.length_of_next() {
            Some(length) => {
                self.next += length + 1;
                let bytes = self.window.get(begin..begin + length).unwrap_or_default();
                let end = offset + length as u64 + 1;
                Ok(Some(RawLine { offset, end, bytes, is_ended: true }))
            }
            None if self.window.len() > begin => self.unusual(part).map(Some),
            None => Ok(None),
        }
    }

    /// A line whose end is not in the window: the last one, or one that is too long.
    fn unusual(&mut self, part: &Part) -> Result<RawLine<'_>, Errno> {
        let offset = self.offset();
        let rest = self.window.get(self.next..).unwrap_or_default();
        let seen = offset + rest.len() as u64;
        let kept = rest.get(..LONGEST_LINE).unwrap_or(rest).to_vec();
        let found = end_of_line(part, seen)?;
        let end = found.unwrap_or(part.length.max(seen));
        // The window holds the line and nothing of what follows, so the next one is read anew.
        self.next = kept.len();
        self.window_at = end - kept.len() as u64;
        self.window = kept;
        Ok(RawLine { offset, end, bytes: &self.window, is_ended: found.is_some() })
    }

    fn length_of_next(&self) -> Option<usize> {
        self.window.get(self.next..)?.iter().position(|byte| *byte == b'\n')
    }

    /// Moves the window to the next line.
    fn refill(&mut self, part: &Part) -> Result<(), Errno> {
        self.window_at = self.offset();
        self.next = 0;
        let left = part.length.saturating_sub(self.window_at);
        let wanted = usize::try_from(left).unwrap_or(WINDOW).min(WINDOW);
        self.window.resize(wanted, 0);
        let count = read_at(&part.file, &mut self.window, part.begin + self.window_at)?;
        self.window.truncate(count);
        Ok(())
    }
}

/// Where the line after an offset begins.
fn end_of_line(part: &Part, mut offset: u64) -> Result<Option<u64>, Errno> {
    let mut buffer = vec![0_u8; WINDOW];
    loop {
        let left = part.length.saturating_sub(offset);
        let wanted = usize::try_from(left).unwrap_or(WINDOW).min(WINDOW);
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        let count = read_at(&part.file, buffer, part.begin + offset)?;
        if count == 0 {
            return Ok(None);
        }
        let bytes = buffer.get(..count).unwrap_or_default();
        if let Some(position) = bytes.iter().position(|byte| *byte == b'\n') {
            return Ok(Some(offset + position as u64 + 1));
        }
        offset += count as u64;
    }
}

/// Several lines of the greatest length.
const WINDOW: usize = 8 * LONGEST_LINE;
