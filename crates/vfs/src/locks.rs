//! Advisory locks on files: `fcntl` locks on ranges, which belong to a process, and `flock` locks, which belong to an
//! open file. Only guests of the same engine see each other's. Never touches a file.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::Errno;

use crate::error::Result;

#[cfg(test)]
mod tests;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Held by many.
    Shared,
    /// Held by one.
    Exclusive,
    /// None any more.
    Unlock,
}

/// How long a lock is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all.
    None,
    /// Until then, after which it is `EINTR`.
    Until(Instant),
}

/// A range of a file: its first and its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub first: u64,
    /// The last one; [`u64::MAX`] is the end of the file, wherever that is.
    pub last: u64,
}

/// A lock on a range that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Who.
    pub owner: u64,
    /// The process, as programs are told.
    pub pid: u32,
    /// What is locked.
    pub range: Range,
    /// [`LockKind::Shared`] or [`LockKind::Exclusive`].
    pub kind: LockKind,
}

/// The locks of one engine.
#[derive(Debug, Default)]
pub struct LockTable {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<u64, Locks>,
    /// Who waits for whom, as far as ranges go.
    waiting: HashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Locks {
    ranges: Vec<Held>,
    whole: Vec<(u64, LockKind)>,
}

impl LockTable {
    /// Who stands in the way of a lock on a range.
    pub fn test(&self, file: u64, wanted: &Held) -> Option<Held> {
        let state = self.state();
        let locks = state.files.get(&file)?;
        locks.ranges.iter().find(|held| conflict(held, wanted)).copied()
    }

    /// Locks or unlocks a range for its owner, in place of what that had of it. `EAGAIN` where somebody stands in the
    /// way, `EDEADLK` where that one waits for this owner. A18
    pub fn lock(&self, file: u64, wanted: &Held, patience: Patience) -> Result<()> {
        if wanted.range.first > wanted.range.last {
            return Err(Errno::INVAL.into());
        }
        let mut state = self.state();
        loop {
            let locks = state.files.entry(file).or_default();
            let Some(blocker) = locks.ranges.iter().find(|held| conflict(held, wanted)) else {
                locks.set(wanted);
                if locks.is_empty() {
                    state.files.remove(&file);
                }
                self.freed.notify_all();
                return Ok(());
            };
            let blocker = blocker.owner;
            let Patience::Until(moment) = patience else { return Err(Errno::AGAIN.into()) };
            if state.leads_to(blocker, wanted.owner) {
                return Err(Errno::DEADLK.into());
            }
            state.waiting.insert(wanted.owner, blocker);
            let (mut woken, is_late) = self.wait(state, moment);
            woken.waiting.remove(&wanted.owner);
            if is_late {
                return Err(Errno::INTR.into());
            }
            state = woken;
        }
    }

    /// Locks or unlocks a whole file for an open file. `EWOULDBLOCK` where somebody stands in the way. A18
    pub fn lock_whole(
        &self,
        file: u64,
        owner: u64,
        kind: LockKind,
        patience: Patience,
    ) -> Result<()> {
        let mut state = self.state();
        // One that is changed is given up first, as the kernel does.
        state.unlock_whole(file, owner);
        self.freed.notify_all();
        if kind == LockKind::Unlock {
            return Ok(());
        }
        loop {
            let locks = state.files.entry(file).or_default();
            let is_free = match kind {
                LockKind::Exclusive => locks.whole.is_empty(),
                LockKind::Shared | LockKind::Unlock => {
                    locks.whole.iter().all(|(_, held)| *held != LockKind::Exclusive)
                }
            };
            if is_free {
                locks.whole.push((owner, kind));
                return Ok(());
            }
            let Patience::Until(moment) = patience else { return Err(Errno::WOULDBLOCK.into()) };
            let (woken, is_late) = self.wait(state, moment);
            if is_late {
                return Err(Errno::INTR.into());
            }
            state = woken;
        }
    }

    /// Ends what an owner has of a file's ranges: whenever it closes the file, as POSIX wants it.
    pub fn close(&self, file: u64, owner: u64) {
        let mut state = self.state();
        let Some(locks) = state.files.get_mut(&file) else { return };
        locks.ranges.retain(|held| held.owner != owner);
        if locks.is_empty() {
            state.files.remove(&file);
        }
        self.freed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: Instant,
    ) -> (MutexGuard<'a, State>, bool) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (state, true);
        }
        let (state, _) =
            self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        (state, false)
    }
}

impl State {
    /// Whether who waits for whom leads from one to the other.
    fn leads_to(&self, from: u64, to: u64) -> bool {
        let mut at = from;
        for _ in 0..=self.waiting.len() {
            if at == to {
                return true;
            }
            match self.waiting.get(&at) {
                Some(next) => at = *next,
                None => return false,
            }
        }
        false
    }

    fn unlock_whole(&mut self, file: u64, owner: u64) {
        let Some(locks) = self.files.get_mut(&file) else { return };
        locks.whole.retain(|(held, _)| *held != owner);
        if locks.is_empty() {
            self.files.remove(&file);
        }
    }
}

impl Locks {
    fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.whole.is_empty()
    }

    /// Cuts a range out of what its owner has, and adds it unless it is unlocked.
    fn set(&mut self, wanted: &Held) {
        let mut kept = Vec::with_capacity(self.ranges.len() + 2);
        for held in self.ranges.drain(..) {
            if held.owner != wanted.owner || !overlap(&held.range, &wanted.range) {
                kept.push(held);
                continue;
            }
            if let Some(last) = wanted.range.first.checked_sub(1)
                && held.range.first <= last
            {
                kept.push(Held { range: Range { first: held.range.first, last }, ..held });
            }
            if let Some(first) = wanted.range.last.checked_add(1)
                && first <= held.range.last
            {
                kept.push(Held { range: Range { first, last: held.range.last }, ..held });
            }
        }
        if wanted.kind != LockKind::Unlock {
            kept.push(*wanted);
        }
        self.ranges = kept;
    }
}

fn conflict(held: &Held, wanted: &Held) -> bool {
    let excludes = held.kind == LockKind::Exclusive || wanted.kind == LockKind::Exclusive;
    let is_lock = wanted.kind != LockKind::Unlock;
    held.owner != wanted.owner && is_lock && excludes && overlap(&held.range, &wanted.range)
}

const fn overlap(one: &Range, other: &Range) -> bool {
    one.first <= other.last && other.first <= one.last
}
