//! What the kernel holds of an engine: inodes that it was told of, and what it has open. All of it is given back when the
//! connection ends, which the kernel does not do.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vfs::{Engine, Handle, Inode};

#[derive(Debug)]
pub(super) struct Held {
    shards: Box<[Mutex<Shard>]>,
    rest: Mutex<Shard>,
    /// How many inodes.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shard {
    inodes: HashMap<u64, Remembered>,
    /// How many of the inodes have a number, as listings tell it.
    numbers: HashMap<u64, usize>,
    handles: HashSet<u64>,
}

#[derive(Debug)]
struct Remembered {
    /// How often the kernel was told of it.
    count: u64,
    number: u64,
}

impl Held {
    pub(super) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, rest: Mutex::default(), count: AtomicUsize::new(0) }
    }

    fn shard(&self, number: u64) -> MutexGuard<'_, Shard> {
        let index = usize::try_from(number % SHARDS).unwrap_or(usize::MAX);
        self.shards.get(index).unwrap_or(&self.rest).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel is told of an inode once more.
    pub(super) fn hold(&self, inode: Inode, number: u64) {
        let mut shard = self.shard(inode.0);
        let held = shard.inodes.entry(inode.0).or_insert(Remembered { count: 0, number });
        held.count += 1;
        let is_new = held.count == 1;
        drop(shard);
        if is_new {
            self.count.fetch_add(1, Ordering::Relaxed);
            *self.shard(number).numbers.entry(number).or_default() += 1;
        }
    }

    /// Whether the kernel has what a listing tells by this number.
    pub(super) fn has(&self, number: u64) -> bool {
        self.shard(number).numbers.contains_key(&number)
    }

    /// How many inodes the kernel has.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// It gives back so many, or as many as it has.
    pub(super) fn forget(&self, engine: &dyn Engine, inode: Inode, count: u64) {
        let (given, gone) = {
            let mut shard = self.shard(inode.0);
            let Some(held) = shard.inodes.get_mut(&inode.0) else { return };
            let given = count.min(held.count);
            held.count -= given;
            let gone = (held.count == 0).then_some(held.number);
            if gone.is_some() {
                shard.inodes.remove(&inode.0);
            }
            (given, gone)
        };
        if let Some(number) = gone {
            self.count.fetch_sub(1, Ordering::Relaxed);
            self.forget_number(number);
        }
        if given > 0 {
            engine.forget(inode, given);
        }
    }

    fn forget_number(&self, number: u64) {
        let mut shard = self.shard(number);
        if let Some(count) = shard.numbers.get_mut(&number) {
            *count -= 1;
            if *count == 0 {
                shard.numbers.remove(&number);
            }
        }
    }

    pub(super) fn open(&self, handle: Handle) {
        self.shard(handle.0).handles.insert(handle.0);
    }

    pub(super) fn close(&self, engine: &dyn Engine, handle: Handle) {
        if self.shard(handle.0).handles.remove(&handle.0) {
            engine.release(handle);
        }
    }

    /// Gives everything back.
    pub(super) fn end(&self, engine: &dyn Engine) {
        for shard in self.shards.iter().chain([&self.rest]) {
            let all = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            for handle in all.handles {
                engine.release(Handle(handle));
            }
            for (inode, held) in all.inodes {
                engine.forget(Inode(inode), held.count);
            }
        }
    }
}

const SHARDS: u64 = 64;

#[cfg(test)]
mod tests;
