//! Files that somebody holds: what is known of each, as it is now, and which are held at all. What nobody holds is in
//! the database alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use rustix::io::Errno;
use vfs::{ALL_MODE_BITS, Attributes, Kind, Result, Timestamp, read, write};

use crate::contents::Contents;
use crate::contents::pages::PAGE;
use crate::database::lock;

/// A file that somebody holds.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) generation: u64,
    /// Of a link, where it leads.
    pub(crate) target: Box<[u8]>,
    pub(crate) facts: RwLock<Facts>,
    /// Of a regular file. Locked before the writer is.
    pub(crate) contents: RwLock<Contents>,
    /// As in the contents, for whoever does not want to wait for a writer.
    pub(crate) size: AtomicU64,
    pub(crate) pages: AtomicU64,
    /// How often somebody has it by number: entries that were not given back, and handles.
    pub(crate) held: AtomicU64,
}

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) mode: u32,
    pub(crate) links: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Of a directory, how many names are in it.
    pub(crate) names: u64,
    /// Of a directory, the one that it is in.
    pub(crate) parent: u64,
    pub(crate) accessed: Timestamp,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
}

impl Facts {
    /// Of something new.
    pub(crate) fn new(mode: u32, links: u32, uid: u32, gid: u32, parent: u64) -> Self {
        let now = Timestamp::now();
        Self {
            mode: mode & ALL_MODE_BITS,
            links,
            uid,
            gid,
            names: 0,
            parent,
            accessed: now,
            modified: now,
            changed: now,
        }
    }

    /// Something has changed now.
    #[must_use]
    pub(crate) fn touched(&self) -> Self {
        Self { changed: Timestamp::now(), ..self.clone() }
    }

    /// The names of a directory have changed, and how many directories are in it.
    #[must_use]
    pub(crate) fn names_changed(&self, names: i64, directories: i32) -> Self {
        let now = Timestamp::now();
        Self {
            names: self.names.saturating_add_signed(names),
            links: self.links.saturating_add_signed(directories),
            modified: now,
            changed: now,
            ..self.clone()
        }
    }

    /// One name less.
    #[must_use]
    pub(crate) fn without_name(&self, kind: Kind) -> Self {
        let links = if kind == Kind::Directory { 0 } else { self.links.saturating_sub(1) };
        Self { links, ..self.touched() }
    }
}

impl Node {
    pub(crate) fn attributes(&self) -> Attributes {
        let facts = read(&self.facts);
        let size = match self.kind {
            Kind::Directory => PAGE,
            Kind::Link => self.target.len() as u64,
            _ => self.size.load(Ordering::Relaxed),
        };
        Attributes {
            number: self.number,
            kind: self.kind,
            mode: facts.mode,
            links: facts.links,
            uid: facts.uid,
            gid: facts.gid,
            device: 0,
            size,
            blocks: self.pages.load(Ordering::Relaxed) * (PAGE / 512),
            accessed: facts.accessed,
            modified: facts.modified,
            changed: facts.changed,
        }
    }

    pub(crate) const fn directory(&self) -> Result<&Self> {
        if matches!(self.kind, Kind::Directory) {
            Ok(self)
        } else {
            Err(vfs::Error { errno: Errno::NOTDIR, setting: None })
        }
    }

    pub(crate) const fn file(&self) -> Result<&Self> {
        let errno = match self.kind {
            Kind::File => return Ok(self),
            Kind::Directory => Errno::ISDIR,
            _ => Errno::INVAL,
        };
        Err(vfs::Error { errno, setting: None })
    }

    pub(crate) fn facts(&self) -> Facts {
        read(&self.facts).clone()
    }

    /// Takes over what was decided from what was known before. Contents may have changed meanwhile: their time stays.
    pub(crate) fn set_facts(&self, before: &Facts, after: Facts) {
        let mut facts = write(&self.facts);
        let (modified, changed) = (facts.modified, facts.changed);
        let is_written = modified != before.modified && after.modified == before.modified;
        *facts = after;
        if is_written {
            facts.modified = modified;
            facts.changed = facts.changed.max(changed);
        }
    }

    /// Its contents have changed now.
    pub(crate) fn modified(&self) {
        let mut facts = write(&self.facts);
        facts.modified = Timestamp::now();
        facts.changed = facts.modified;
    }
}

type ByNumber = HashMap<u64, Arc<Node>>;

/// All that are held, by number.
#[derive(Debug)]
pub(crate) struct Nodes {
    shards: Box<[Mutex<ByNumber>]>,
    /// Held while a file is read from the database or given back to it. Locked before everything else.
    gates: Box<[Mutex<()>]>,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, gates: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    pub(crate) fn get(&self, number: u64) -> Result<Arc<Node>> {
        let found = self.shard(number)?.get(&number).cloned();
        found.ok_or(Errno::STALE.into())
    }

    /// Holds one that somebody holds already.
    pub(crate) fn hold(&self, number: u64) -> Result<Option<Arc<Node>>> {
        let shard = self.shard(number)?;
        let one_more = |held: u64| (held > 0).then(|| held + 1);
        let is_held = |node: &&Arc<Node>| {
            node.held.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_ok()
        };
        Ok(shard.get(&number).filter(is_held).map(Arc::clone))
    }

    pub(crate) fn gate(&self, number: u64) -> Result<MutexGuard<'_, ()>> {
        Ok(lock(part(&self.gates, number)?))
    }

    pub(crate) fn put(&self, node: &Arc<Node>) -> Result<()> {
        self.shard(node.number)?.insert(node.number, Arc::clone(node));
        Ok(())
    }

    /// Takes one out that nobody holds; its gate is held.
    pub(crate) fn take(&self, number: u64) -> Result<bool> {
        let mut shard = self.shard(number)?;
        let is_free = shard.get(&number).is_some_and(|node| node.held.load(Ordering::SeqCst) == 0);
        if is_free {
            shard.remove(&number);
        }
        Ok(is_free)
    }

    /// All of them, as they are at some moment.
    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        self.shards
            .iter()
            .flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>())
            .collect()
    }

    fn shard(&self, number: u64) -> Result<MutexGuard<'_, ByNumber>> {
        Ok(lock(part(&self.shards, number)?))
    }
}

fn part<T>(parts: &[T], number: u64) -> Result<&T> {
    let index = usize::try_from(number & (SHARDS - 1)).unwrap_or_default();
    parts.get(index).ok_or(Errno::STALE.into())
}

/// A power of two.
const SHARDS: u64 = 64;
