//! What a pool has to say, until whoever asked takes it: written in pieces that a pipe has room for, so that the pool never
//! waits for its reader, who may be waiting itself.

use std::collections::VecDeque;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::spare::Answer;

/// Answers that were not taken yet.
#[derive(Default)]
pub(super) struct Answers(VecDeque<u8>);

impl Answers {
    /// Adds one, and says as much as is taken at once.
    pub(super) fn add(&mut self, answer: &Answer) -> io::Result<()> {
        self.0.extend(serde_json::to_vec(answer)?);
        self.0.push_back(b'\n');
        self.write()
    }

    /// Whether all was taken.
    pub(super) fn are_taken(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether so much waits that no more guests should run.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.len() >= MOST_WAITING
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let output = rustix::stdio::stdout();
        while !self.0.is_empty() {
            let mut asked = [PollFd::new(&output, PollFlags::OUT)];
            match rustix::event::poll(&mut asked, Some(&Timespec::default())) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let (first, _) = self.0.as_slices();
            let piece = first.get(..PIECE.min(first.len())).unwrap_or_default();
            match rustix::io::write(output, piece) {
                Ok(count) => drop(self.0.drain(..count)),
                Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// What a pipe takes whole where it takes anything: `PIPE_BUF`.
const PIECE: usize = 4096;
const MOST_WAITING: usize = 32 << 20;
