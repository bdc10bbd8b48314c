//! Moving bytes between two descriptors without ever waiting in the wrong place: a relay reads only
//! when it has nothing left to write, so a slow reader slows the writer down.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;

use super::filter::Filter;

/// One direction.
pub(super) struct Relay {
    from: Option<OwnedFd>,
    to: Option<OwnedFd>,
    waiting: Vec<u8>,
    written: usize,
    /// What reaches the user's terminal goes through this.
    filter: Option<Filter>,
}

impl Relay {
    /// From the user to the program.
    pub(super) fn input(from: OwnedFd, to: OwnedFd) -> Self {
        Self { from: Some(from), to: Some(to), waiting: Vec::new(), written: 0, filter: None }
    }

    /// From the program to the user's terminal.
    pub(super) fn output(from: OwnedFd, to: OwnedFd, filter: Filter) -> Self {
        Self {
            from: Some(from),
            to: Some(to),
            waiting: Vec::new(),
            written: 0,
            filter: Some(filter),
        }
    }

    /// What to wait for; none when this direction has ended.
    pub(super) fn wants(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        if self.waiting.is_empty() {
            Some((self.from.as_ref()?.as_fd(), PollFlags::IN))
        } else {
            Some((self.to.as_ref()?.as_fd(), PollFlags::OUT))
        }
    }

    /// Does the one thing that [`Self::wants`] asked for.
    pub(super) fn step(&mut self) {
        if self.waiting.is_empty() { self.read() } else { self.write() }
    }

    /// Moves what is left when the program has ended.
    pub(super) fn drain(&mut self) {
        if self.filter.is_none() {
            return;
        }
        while self.wants().is_some() {
            self.step();
        }
    }

    fn read(&mut self) {
        let Some(from) = &self.from else { return };
        let mut buffer = [0_u8; CHUNK];
        match rustix::io::read(from, &mut buffer) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            // A terminal whose other end is closed reads as an error, not as an end.
            Ok(0) | Err(_) => self.end_of_input(),
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                match &mut self.filter {
                    Some(filter) => filter.pass(bytes, &mut self.waiting),
                    None => self.waiting.extend_from_slice(bytes),
                }
            }
        }
    }

    fn write(&mut self) {
        let Some(to) = &self.to else { return };
        let rest = self.waiting.get(self.written..).unwrap_or_default();
        match rustix::io::write(to, rest.get(..CHUNK).unwrap_or(rest)) {
            Ok(length) => self.written += length,
            Err(Errno::INTR | Errno::AGAIN) => return,
            // Nobody reads any more: what is left has no place to go, and the writer learns it by
            // the closed descriptor.
            Err(_) => {
                self.from = None;
                self.to = None;
            }
        }
        if self.to.is_none() || self.written >= self.waiting.len() {
            self.waiting.clear();
            self.written = 0;
        }
    }

    fn end_of_input(&mut self) {
        self.from = None;
        self.to = None;
    }
}

/// Small enough that a terminal that reports itself writable takes it without a long wait.
const CHUNK: usize = 4096;
