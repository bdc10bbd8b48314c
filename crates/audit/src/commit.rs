//! Durability: one `fdatasync` serves everybody who waits for it. Whoever finds none under way begins
//! one, for all records that are written by then; the others wait for it, and for the next one if
//! theirs came too late.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;
use rustix::io::Errno;

use crate::head::Reached;

#[cfg(test)]
mod tests;

/// What was written by this process, and how much of it is durable.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    written: Option<Written>,
    /// All records up to this number are durable.
    durable: u64,
    under_way: bool,
    /// After a failure nobody knows what the storage has kept: the kernel reports it once and then
    /// takes what it lost for written. See fsync(2).
    failed: Option<Errno>,
}

/// The end of what was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) file: Arc<OwnedFd>,
    /// Where the last write began.
    pub(crate) from: u64,
    pub(crate) reached: Reached,
}

impl Written {
    /// Lets the kernel begin to write it out, so that whoever waits for the storage later waits less.
    /// It also lets go of whole pages that are written already, and a record has none.
    fn begin_writing_out(&self) {
        let length = NonZeroU64::new(self.reached.offset.saturating_sub(self.from));
        let _only_slower = rustix::fs::fadvise(&*self.file, self.from, length, Advice::DontNeed);
    }
}

impl Commit {
    /// Takes note of records that were written.
    ///
    /// INVARIANT: when a file is begun, everything in the ones before it is durable already.
    pub(crate) fn note_written(&self, written: Written) {
        self.state().written = Some(written);
    }

    /// What was written last.
    pub(crate) fn written(&self) -> Option<Written> {
        self.state().written.clone()
    }

    /// Begins to make durable what was written last, and does not wait for it.
    pub(crate) fn hasten(&self) {
        let state = self.state();
        if let Some(written) = &state.written
            && written.reached.sequence > state.durable
        {
            written.begin_writing_out();
        }
    }

    /// Whether the storage has failed.
    pub(crate) fn failure(&self) -> Option<Errno> {
        self.state().failed
    }

    /// Returns when all records up to this number are durable.
    pub(crate) fn wait_for(&self, sequence: u64) -> Result<(), Errno> {
        let mut state = self.state();
        loop {
            if state.durable >= sequence {
                return Ok(());
            }
            if let Some(errno) = state.failed {
                return Err(errno);
            }
            if state.under_way {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some(written) = state.written.clone() else { return Ok(()) };
            state.under_way = true;
            drop(state);
            let synced = rustix::fs::fdatasync(&*written.file);
            state = self.state();
            state.under_way = false;
            match synced {
                Ok(()) => state.durable = state.durable.max(written.reached.sequence),
                Err(errno) => state.failed = Some(errno),
            }
            self.ended.notify_all();
            // A position of another log waits for nothing.
            if synced.is_ok() && written.reached.sequence < sequence {
                return Ok(());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
