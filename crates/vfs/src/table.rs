//! Things by number, in shards, so that whoever looks for one waits for nobody who looks for another. Never gives a
//! number out twice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

type Shard<T> = RwLock<HashMap<u64, Arc<T>, BuildHasherDefault<Spread>>>;

/// Values by number.
#[derive(Debug)]
pub struct Table<T> {
    shards: Box<[Shard<T>]>,
    next: AtomicU64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    /// An empty one.
    pub fn new() -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Self { shards, next: AtomicU64::new(1) }
    }

    /// A number that nothing had before.
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The value of a number.
    pub fn get(&self, number: u64) -> Option<Arc<T>> {
        read(self.shard(number)?).get(&number).cloned()
    }

    /// Gives a number a value.
    pub fn put(&self, number: u64, value: Arc<T>) {
        if let Some(shard) = self.shard(number) {
            write(shard).insert(number, value);
        }
    }

    /// Takes it out; none if somebody else has.
    pub fn take(&self, number: u64) -> Option<Arc<T>> {
        write(self.shard(number)?).remove(&number)
    }

    /// Takes it out if it is so while nobody can get it.
    pub fn take_if(&self, number: u64, is_so: impl FnOnce(&T) -> bool) -> Option<Arc<T>> {
        let mut shard = write(self.shard(number)?);
        let is_so = shard.get(&number).is_some_and(|value| is_so(value));
        if is_so { shard.remove(&number) } else { None }
    }

    /// All that are there, shard by shard.
    pub fn for_each(&self, mut see: impl FnMut(&Arc<T>)) {
        for shard in &self.shards {
            for value in read(shard).values() {
                see(value);
            }
        }
    }

    fn shard(&self, number: u64) -> Option<&Shard<T>> {
        // The number of shards is a power of two.
        let index = number & (SHARDS - 1);
        self.shards.get(usize::try_from(index).ok()?)
    }
}

/// Reads what a lock holds; whoever panicked while it held the lock was about to be killed.
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// As [`read`], alone.
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A hash for numbers that we gave out ourselves, one after the other.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Half of the golden ratio's bits: neighbours end far apart.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

const SHARDS: u64 = 64;
