//! Chunks: pieces of files, each kept once under the hash of its bytes, with a count of who has it. Those that were read
//! lately stay in memory; what a chunk holds never changes, so nothing there grows old.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use vfs::Result;

use crate::database::{Change, Database, lock, one};

/// The name of a chunk.
pub(crate) type Hash = [u8; 32];

pub(crate) fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The chunks of a store.
#[derive(Debug)]
pub(crate) struct Chunks {
    next: AtomicI64,
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Debug, Default)]
struct Shard {
    by_number: HashMap<i64, (Arc<[u8]>, bool)>,
    in_order: VecDeque<i64>,
    bytes: usize,
}

impl Chunks {
    /// The first number must be above all that are taken.
    pub(crate) fn new(first: i64) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { next: AtomicI64::new(first), shards }
    }

    /// The bytes of a chunk, if they are what its hash says.
    pub(crate) fn get(&self, database: &Database, number: i64) -> Result<Arc<[u8]>> {
        let shard = self.shards.get(usize::try_from(number).unwrap_or_default() % SHARDS);
        if let Some(found) = shard.and_then(|shard| lock(shard).get(number)) {
            return Ok(found);
        }
        let text = "SELECT hash, bytes.bytes FROM chunk JOIN bytes ON bytes.chunk = number WHERE number = ?1";
        let found = database.read(|reader| {
            one(reader, text, [number], |row| {
                Ok((row.get::<_, Hash>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
        })?;
        let bytes: Arc<[u8]> = match found {
            Some((known, bytes)) if hash(&bytes) == known => bytes.into(),
            Some(_) => {
                return Err(database.damaged("the bytes of a chunk are not those of its hash"));
            }
            None => return Err(database.damaged("a chunk of a file is missing")),
        };
        if let Some(shard) = shard {
            lock(shard).put(number, Arc::clone(&bytes));
        }
        Ok(bytes)
    }

    /// Keeps bytes once more. Returns the chunk that they are.
    pub(crate) fn keep(&self, change: &Change<'_>, hash: &Hash, bytes: &[u8]) -> Result<i64> {
        let text = "UPDATE chunk SET uses = uses + 1 WHERE hash = ?1 RETURNING number";
        if let Some(number) = change.one(text, [hash], |row| row.get(0))? {
            return Ok(number);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let text = "INSERT INTO chunk (number, hash, uses) VALUES (?1, ?2, 1)";
        change.run(text, rusqlite::params![number, hash])?;
        let text = "INSERT INTO bytes (chunk, bytes) VALUES (?1, ?2)";
        change.run(text, rusqlite::params![number, bytes])?;
        Ok(number)
    }

    /// Keeps a chunk once less; one that nobody has is gone.
    pub(crate) fn give(change: &Change<'_>, number: i64) -> Result<()> {
        let text = "UPDATE chunk SET uses = uses - 1 WHERE number = ?1 RETURNING uses";
        let uses: Option<i64> = change.one(text, [number], |row| row.get(0))?;
        match uses {
            Some(1..) => Ok(()),
            Some(0) => {
                change.run("DELETE FROM chunk WHERE number = ?1", [number])?;
                change.run("DELETE FROM bytes WHERE chunk = ?1", [number]).map(drop)
            }
            _ => Err(change.database().damaged("a chunk is given back that nobody has")),
        }
    }
}

impl Shard {
    fn get(&mut self, number: i64) -> Option<Arc<[u8]>> {
        let (bytes, is_used) = self.by_number.get_mut(&number)?;
        *is_used = true;
        Some(Arc::clone(bytes))
    }

    fn put(&mut self, number: i64, bytes: Arc<[u8]>) {
        self.bytes += bytes.len() + OVERHEAD;
        if let Some((before, _)) = self.by_number.insert(number, (bytes, true)) {
            self.bytes = self.bytes.saturating_sub(before.len() + OVERHEAD);
        } else {
            self.in_order.push_back(number);
        }
        // The oldest goes, unless it was asked for since it was looked at last.
        while self.bytes > SHARD_BYTES {
            let Some(oldest) = self.in_order.pop_front() else { return };
            if let Some((_, is_used)) = self.by_number.get_mut(&oldest)
                && std::mem::take(is_used)
            {
                self.in_order.push_back(oldest);
            } else if let Some((gone, _)) = self.by_number.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.len() + OVERHEAD);
            }
        }
    }
}

const SHARDS: usize = 16;
/// Together 32 MiB.
const SHARD_BYTES: usize = 2 << 20;
const OVERHEAD: usize = 64;
