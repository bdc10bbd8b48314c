//! Durability: one `fdatasync` serves everybody who waits for it. Whoever finds none under way begins
//! one, for all records that are written by then; the others wait for it, and for the next one if
//! theirs came too late.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    pub(crate) reached: Reached,
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
