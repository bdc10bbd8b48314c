//! Pipes for the data of all connections: taken when there is data, given back when it has gone on.
//! Never hands out a pipe that still holds somebody's bytes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::PipeFlags;

use crate::limits;

/// The pipes of the process, and one buffer for when there are none left, which few processes need.
#[derive(Debug)]
pub(crate) struct Pipes {
    most: usize,
    spare: Mutex<Vec<Arc<Ends>>>,
    taken: AtomicUsize,
    scratch: Mutex<Vec<u8>>,
}

#[derive(Debug)]
struct Ends {
    read: OwnedFd,
    write: OwnedFd,
}

/// A pipe in use. Dropped empty it goes back; dropped with data in it, it is closed.
#[derive(Debug)]
pub(super) struct Pipe<'a> {
    owner: &'a Pipes,
    ends: Arc<Ends>,
    held: usize,
}

impl Pipes {
    /// None yet, and never more than `most`.
    pub(crate) fn new(most: usize) -> Self {
        let (spare, scratch) = (Mutex::default(), Mutex::default());
        Self { most, spare, taken: AtomicUsize::new(0), scratch }
    }

    /// A pipe, unless too many are in use or the process can have no more.
    pub(super) fn take(&self) -> Option<Pipe<'_>> {
        if self.taken.load(Ordering::Relaxed) >= self.most {
            return None;
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let ends = spare.or_else(|| open().map(Arc::new))?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(Pipe { owner: self, ends, held: 0 })
    }

    /// Lends the buffer, for as long as the caller does not wait.
    pub(super) fn with_scratch<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.resize(SCRATCH, 0);
        work(&mut scratch)
    }
}

fn open() -> Option<Ends> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
    // A user with many pipes gets smaller ones, which move less at a time.
    let _smaller = rustix::pipe::fcntl_setpipe_size(&write, limits::PIPE_BYTES);
    Some(Ends { read, write })
}

impl Pipe<'_> {
    /// Where data goes in.
    pub(super) fn write_end(&self) -> BorrowedFd<'_> {
        self.ends.write.as_fd()
    }

    /// Where data comes out.
    pub(super) fn read_end(&self) -> BorrowedFd<'_> {
        self.ends.read.as_fd()
    }

    /// How many bytes are in it.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Says that bytes were put in.
    pub(super) fn filled(&mut self, length: usize) {
        self.held += length;
    }

    /// Says that bytes were taken out.
    pub(super) fn emptied(&mut self, length: usize) {
        self.held = self.held.saturating_sub(length);
    }
}

impl Drop for Pipe<'_> {
    fn drop(&mut self) {
        self.owner.taken.fetch_sub(1, Ordering::Relaxed);
        let mut spare = self.owner.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if self.held == 0 && spare.len() < limits::SPARE_PIPES {
            spare.push(Arc::clone(&self.ends));
        }
    }
}

const SCRATCH: usize = 64 * 1024;

#[cfg(test)]
impl Pipes {
    pub(super) fn taken_for_tests(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn spare_for_tests(&self) -> usize {
        self.spare.lock().unwrap().len()
    }
}
