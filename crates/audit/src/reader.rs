//! Reads the records of a log, oldest first. Gives every record that is whole; whether nothing was
//! changed around them is what [`verify`](crate::verify) tells.

use std::collections::VecDeque;
use std::path::Path;

use rustix::io::Errno;

use crate::archive::{Archive, ReadError};
use crate::directory::file_name;
use crate::error::AuditError;
use crate::filter::{Filter, Matcher};
use crate::line::{Line, LineError};
use crate::lines::{Lines, Part};
use crate::record::Record;
use crate::time::Timestamp;

/// A log that is read as it was when it was opened.
#[derive(Debug)]
pub struct Reader {
    archive: Archive,
}

/// The records of a log, see [`Reader::records`].
#[derive(Debug)]
pub struct Records<'a> {
    archive: &'a Archive,
    matcher: Matcher,
    /// Which part is read, and where.
    part: usize,
    lines: Lines,
    line: u64,
    has_failed: bool,
    /// Lines that are no records, and the record behind them.
    held: VecDeque<Result<Record, RecordError>>,
}

/// What stands in the log where a record should.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Something that is no record.
    #[error("`{file}` line {line}: {problem}")]
    Damaged {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: LineError,
    },
    /// The file cannot be read any further.
    #[error(transparent)]
    Unreadable(AuditError),
}

impl Reader {
    /// Opens a log's directory, or a file that was exported from it.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Self { archive: Archive::open(path)? })
    }

    /// The records that somebody wants to see.
    pub fn records(&self, filter: Filter) -> Records<'_> {
        let part = match filter.since {
            Some(since) if !filter.needs_history() => first_with(&self.archive.parts, since),
            _ => 0,
        };
        Records {
            archive: &self.archive,
            matcher: Matcher::new(filter),
            part,
            lines: Lines::from(0),
            line: 0,
            has_failed: false,
            held: VecDeque::new(),
        }
    }
}

impl Records<'_> {
    /// The next line, whatever it is. What a dead writer left is passed over.
    fn next_line(&mut self) -> Option<Result<Record, RecordError>> {
        loop {
            let part = self.archive.parts.get(self.part)?;
            match self.lines.next(part) {
                Ok(Some(line)) => {
                    self.line += 1;
                    if !line.is_ended && self.part + 1 == self.archive.parts.len() {
                        return None;
                    }
                    let damaged = |problem| RecordError::Damaged {
                        file: file_name(part.number),
                        line: self.line,
                        problem,
                    };
                    return Some(Record::parse(line.bytes).map_err(damaged));
                }
                Ok(None) => {
                    (self.part, self.line, self.lines) = (self.part + 1, 0, Lines::from(0));
                }
                Err(source) => {
                    self.has_failed = true;
                    return Some(Err(RecordError::Unreadable(self.unreadable(part, source))));
                }
            }
        }
    }

    /// Reads up to the next record. Lines before it that are none are told, unless it sets them apart.
    fn read_on(&mut self) {
        while !self.has_failed {
            match self.next_line() {
                Some(Ok(record)) => {
                    if record.name == "log.recovered" {
                        self.held.clear();
                    }
                    self.held.push_back(Ok(record));
                    return;
                }
                Some(Err(error)) => self.held.push_back(Err(error)),
                None => return,
            }
            // A file of nonsense must not be held as a whole.
            if self.held.len() > MOST_HELD {
                return;
            }
        }
    }

    fn unreadable(&self, part: &Part, source: Errno) -> AuditError {
        let path = self.archive.path.join(file_name(part.number));
        AuditError::Kernel { call: "read", path, source }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.held.is_empty() {
                self.read_on();
            }
            match self.held.pop_front()? {
                Ok(record) if !self.matcher.wants(&record) => {}
                item => return Some(item),
            }
        }
    }
}

/// The last part that begins before a moment: everything after it is in this one or in later ones.
fn first_with(parts: &[Part], since: Timestamp) -> usize {
    let begins_before = |part: &Part| {
        let mut lines = Lines::from(0);
        let first = lines.next(part).ok().flatten();
        first.and_then(|line| Line::parse(line.bytes).ok()).is_some_and(|line| line.time < since)
    };
    parts.iter().rposition(begins_before).unwrap_or(0)
}

const MOST_HELD: usize = 1024;
