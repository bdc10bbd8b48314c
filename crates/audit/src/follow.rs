//! Follows a log: its records as they come, across files. Can be waited for with `poll`, and never
//! waits by itself unless asked to.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify;
use rustix::io::Errno;

use crate::archive::{ReadError, length_of, part_of};
use crate::directory::Directory;
use crate::error::AuditError;
use crate::filter::{Filter, Matcher};
use crate::lines::{Lines, Part};
use crate::record::Record;

#[cfg(test)]
mod tests;

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first record.
    Beginning,
    /// With the one after this.
    After(u64),
    /// With the next one to come.
    Now,
}

/// A log that is followed. Readable, for `poll`, when something may have come.
#[derive(Debug)]
pub struct Follower {
    directory: Directory,
    changes: OwnedFd,
    matcher: Matcher,
    start: Start,
    /// The file that is read, and where; none before the log has one.
    reading: Option<Reading>,
    found: VecDeque<Record>,
}

#[derive(Debug)]
struct Reading {
    part: Part,
    offset: u64,
    /// Whether its last record was read, which says that the log goes on in another file.
    is_over: bool,
}

/// Follows the log in a directory, which must exist.
pub fn follow(directory: &Path, filter: Filter, start: Start) -> Result<Follower, ReadError> {
    let opened = match Directory::open_to_read(directory) {
        Err(AuditError::Kernel { call: "open", source: Errno::NOENT, .. }) => {
            return Err(ReadError::NoLog(directory.to_owned()));
        }
        opened => opened?,
    };
    let failed = |call| opened.failed(call, "");
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let changes = inotify::init(flags).map_err(failed("inotify_init"))?;
    let events = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE;
    inotify::add_watch(&changes, directory, events).map_err(failed("inotify_add_watch"))?;
    let last = opened.numbers()?.last().copied();
    // What is still to come may belong to a start of the past.
    let may_skip = start == Start::Now && !filter.needs_history();
    let (reading, found) = (None, VecDeque::new());
    let matcher = Matcher::new(filter);
    let mut follower = Follower { directory: opened, changes, matcher, start, reading, found };
    if let Some(last) = last.filter(|_| may_skip) {
        follower.open_first_from(last)?;
    }
    if start == Start::Now {
        while follower.next_now()?.is_some() {}
    }
    Ok(follower)
}

impl Follower {
    /// The next record that is there already.
    pub fn next_now(&mut self) -> Result<Option<Record>, ReadError> {
        if self.found.is_empty() {
            self.forget_changes()?;
            self.read_on()?;
        }
        Ok(self.found.pop_front())
    }

    /// The next record, waited for as long as this; without a time, for ever.
    pub fn next(&mut self, longest: Option<Duration>) -> Result<Option<Record>, ReadError> {
        let deadline = longest.and_then(|longest| Instant::now().checked_add(longest));
        loop {
            if let Some(record) = self.next_now()? {
                return Ok(Some(record));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| left.try_into().ok());
            let mut descriptors = [PollFd::new(&self.changes, PollFlags::IN)];
            match rustix::event::poll(&mut descriptors, timeout.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(self.directory.failed("poll", "")(errno).into()),
            }
        }
    }

    /// Reads some of what has come, up to the end of the last whole line.
    fn read_on(&mut self) -> Result<(), ReadError> {
        while self.found.is_empty() {
            match self.reading.take() {
                None if self.open_first_from(1)? => {}
                None => return Ok(()),
                Some(mut reading) => {
                    let read = self.read_lines(&mut reading);
                    // Files that were removed meanwhile are passed over.
                    if reading.is_over && self.open_first_from(reading.part.number + 1)? {
                        continue;
                    }
                    self.reading = Some(reading);
                    if !read? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads some of the whole lines that are left in a file. Returns whether there were any.
    fn read_lines(&mut self, reading: &mut Reading) -> Result<bool, ReadError> {
        // By its descriptor: the file may have been removed since.
        reading.part.length = length_of(&self.directory, &reading.part.file)?;
        let mut lines = Lines::from(reading.offset);
        let before = reading.offset;
        while self.found.len() < MOST_AT_ONCE {
            let read = lines.next(&reading.part);
            let read = read.map_err(self.directory.failed("read", ""))?;
            let Some(line) = read.filter(|line| line.is_ended) else { break };
            reading.offset = line.end;
            // What is no record is somebody's unfinished one, which the next record sets apart.
            let Ok(record) = Record::parse(line.bytes) else { continue };
            reading.is_over = record.name == "log.rotated";
            let is_new = match self.start {
                Start::After(sequence) => record.sequence > sequence,
                Start::Beginning | Start::Now => true,
            };
            if self.matcher.wants(&record) && is_new {
                self.found.push_back(record);
            }
        }
        Ok(reading.offset > before)
    }

    /// Opens the first file from a number on. Returns whether there is one.
    fn open_first_from(&mut self, first: u32) -> Result<bool, ReadError> {
        for number in self.directory.numbers()?.into_iter().filter(|number| *number >= first) {
            match part_of(&self.directory, number) {
                Ok(part) => {
                    self.reading = Some(Reading { part, offset: 0, is_over: false });
                    return Ok(true);
                }
                Err(AuditError::Kernel { call: "open", source: Errno::NOENT, .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    fn forget_changes(&self) -> Result<(), ReadError> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.changes, &mut buffer);
        loop {
            match events.next() {
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.directory.failed("read", "")(errno).into()),
            }
        }
    }
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

/// How many records are held at a time.
const MOST_AT_ONCE: usize = 1024;
