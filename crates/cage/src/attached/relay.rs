//! Moving bytes between descriptors without ever waiting in the wrong place: a relay reads only
//! when it has nothing left to write, so a slow reader slows the writer down.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use terminal::{Filter, Source};

/// One direction: from the user to the program, or from the program's streams to one terminal.
pub(super) struct Relay {
    /// Those that have not ended.
    streams: Vec<Stream>,
    to: Option<OwnedFd>,
    /// In the order in which the terminal gets them, from whichever stream.
    waiting: Vec<u8>,
    written: usize,
    /// What reaches the user's terminal goes through this.
    filter: Option<Filter>,
}

struct Stream {
    from: OwnedFd,
    source: Source,
}

impl Relay {
    /// From the user to the program.
    pub(super) fn input(from: OwnedFd, to: OwnedFd) -> Self {
        // Only a filter tells sources apart.
        let streams = vec![Stream { from, source: Source::Output }];
        Self { streams, to: Some(to), waiting: Vec::new(), written: 0, filter: None }
    }

    /// From the program to the user's terminal.
    pub(super) fn output(from: OwnedFd, source: Source, to: OwnedFd, filter: Filter) -> Self {
        let streams = vec![Stream { from, source }];
        Self { streams, to: Some(to), waiting: Vec::new(), written: 0, filter: Some(filter) }
    }

    /// Lets another stream of the program's go to the same terminal.
    pub(super) fn join(&mut self, from: OwnedFd, source: Source) {
        self.streams.push(Stream { from, source });
    }

    /// The terminal that this leads to.
    pub(super) fn terminal(&self) -> Option<BorrowedFd<'_>> {
        self.filter.as_ref()?;
        Some(self.to.as_ref()?.as_fd())
    }

    /// Whether it leads from the user to the program.
    pub(super) fn is_input(&self) -> bool {
        self.filter.is_none()
    }

    /// What to wait for; nothing when this direction has ended.
    pub(super) fn wants(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let to = self.to.iter().filter(|_| !self.waiting.is_empty());
        let from = self.streams.iter().filter(|_| self.waiting.is_empty());
        let to = to.map(|to| (to.as_fd(), PollFlags::OUT));
        to.chain(from.map(|stream| (stream.from.as_fd(), PollFlags::IN))).collect()
    }

    /// Does what [`Self::wants`] asked for, as far as it is ready, in the same order.
    pub(super) fn step(&mut self, ready: &[bool]) {
        if !self.waiting.is_empty() {
            if ready.contains(&true) {
                self.write();
            }
            return;
        }
        let Self { streams, waiting, filter, .. } = self;
        let mut ready = ready.iter();
        streams
            .retain(|stream| ready.next() != Some(&true) || stream.read(filter.as_mut(), waiting));
        // The program sees the end of its input. The user's terminal is needed to the last.
        if self.streams.is_empty() && self.filter.is_none() {
            self.to = None;
        }
    }

    /// Moves what is left when the program has ended.
    pub(super) fn drain(&mut self) {
        if self.filter.is_none() {
            return;
        }
        loop {
            let wanted = self.wants();
            let mut descriptors: Vec<PollFd<'_>> = wanted
                .iter()
                .map(|(descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
                .collect();
            if descriptors.is_empty() {
                return;
            }
            match rustix::event::poll(&mut descriptors, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let ready: Vec<bool> =
                descriptors.iter().map(|one| !one.revents().is_empty()).collect();
            self.step(&ready);
        }
    }

    /// Undoes what the program has left on the terminal, after what it has written. Nothing more is read.
    pub(super) fn restore(&mut self) {
        let Some(filter) = &mut self.filter else { return };
        filter.restore(&mut self.waiting);
        self.streams.clear();
        self.drain();
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
                self.streams.clear();
                self.to = None;
            }
        }
        if self.to.is_none() || self.written >= self.waiting.len() {
            self.waiting.clear();
            self.written = 0;
        }
    }
}

impl Stream {
    /// Reads what is there. Returns whether there may be more.
    fn read(&self, filter: Option<&mut Filter>, waiting: &mut Vec<u8>) -> bool {
        let mut buffer = [0_u8; CHUNK];
        match rustix::io::read(&self.from, &mut buffer) {
            Err(Errno::INTR | Errno::AGAIN) => true,
            // A terminal whose other end is closed reads as an error, not as an end.
            Ok(0) | Err(_) => false,
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                match filter {
                    Some(filter) => filter.pass(self.source, bytes, waiting),
                    None => waiting.extend_from_slice(bytes),
                }
                true
            }
        }
    }
}

/// Small enough that a terminal that reports itself writable takes it without a long wait.
const CHUNK: usize = 4096;
