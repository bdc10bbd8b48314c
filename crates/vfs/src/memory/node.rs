//! One file, directory or link in memory, with its locks. Lock order: names of a directory before those of one in it,
//! names before contents, contents before facts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use rustix::io::Errno;

use super::contents::{Contents, PAGE};
use crate::attributes::{ALL_MODE_BITS, Attributes, Kind, Timestamp};
use crate::error::Result;
use crate::table::{read, write};

/// What a number stands for.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) number: u64,
    pub(super) body: Body,
    pub(super) facts: RwLock<Facts>,
    /// How often somebody has it by number: entries that were not given back, and handles.
    pub(super) held: AtomicU64,
}

#[derive(Debug)]
pub(super) enum Body {
    File(File),
    Directory(Directory),
    Link(Box<[u8]>),
    Fifo,
    Socket,
}

#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) contents: RwLock<Contents>,
    /// As in the contents, for whoever does not want to wait for a writer.
    pub(super) size: AtomicU64,
    pub(super) bytes: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub(super) names: RwLock<Names>,
    /// The number of the directory that it is in.
    pub(super) parent: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Names {
    by_name: HashMap<Arc<[u8]>, (u64, Arc<Node>)>,
    /// In the order in which they were made, which a listing follows.
    by_cookie: BTreeMap<u64, (Arc<[u8]>, Arc<Node>)>,
    next_cookie: u64,
    /// It was removed, and nothing is made in it any more.
    pub(super) is_gone: bool,
    /// An overlay's.
    pub(super) marks: HashSet<Box<[u8]>>,
}

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) mode: u32,
    pub(super) links: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) accessed: Timestamp,
    pub(super) modified: Timestamp,
    pub(super) changed: Timestamp,
    pub(super) xattrs: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

impl Node {
    pub(super) fn kind(&self) -> Kind {
        match &self.body {
            Body::File(_) => Kind::File,
            Body::Directory(_) => Kind::Directory,
            Body::Link(_) => Kind::Link,
            Body::Fifo => Kind::Fifo,
            Body::Socket => Kind::Socket,
        }
    }

    pub(super) fn attributes(&self) -> Attributes {
        let facts = read(&self.facts);
        let (size, bytes) = match &self.body {
            Body::File(file) => {
                (file.size.load(Ordering::Relaxed), file.bytes.load(Ordering::Relaxed))
            }
            Body::Directory(_) => (PAGE, 0),
            Body::Link(target) => (target.len() as u64, 0),
            Body::Fifo | Body::Socket => (0, 0),
        };
        Attributes {
            number: self.number,
            kind: self.kind(),
            mode: facts.mode,
            links: facts.links,
            uid: facts.uid,
            gid: facts.gid,
            device: 0,
            size,
            blocks: bytes / 512,
            accessed: facts.accessed,
            modified: facts.modified,
            changed: facts.changed,
        }
    }

    pub(super) fn directory(&self) -> Result<&Directory> {
        match &self.body {
            Body::Directory(directory) => Ok(directory),
            Body::File(_) | Body::Link(_) | Body::Fifo | Body::Socket => Err(Errno::NOTDIR.into()),
        }
    }

    pub(super) fn file(&self) -> Result<&File> {
        match &self.body {
            Body::File(file) => Ok(file),
            Body::Directory(_) => Err(Errno::ISDIR.into()),
            Body::Link(_) | Body::Fifo | Body::Socket => Err(Errno::INVAL.into()),
        }
    }

    /// Changes facts, as of now.
    pub(super) fn touch(&self, change: impl FnOnce(&mut Facts, Timestamp)) {
        let mut facts = write(&self.facts);
        let now = Timestamp::now();
        facts.changed = now;
        change(&mut facts, now);
    }

    /// A directory whose names have changed.
    pub(super) fn names_changed(&self, links: i32) {
        self.touch(|facts, now| {
            facts.modified = now;
            facts.links = facts.links.saturating_add_signed(links);
        });
    }

    /// One name less. Returns whether there was another.
    pub(super) fn lose_name(&self) -> bool {
        let mut facts = write(&self.facts);
        facts.changed = Timestamp::now();
        let is_directory = matches!(self.body, Body::Directory(_));
        facts.links = if is_directory { 0 } else { facts.links.saturating_sub(1) };
        facts.links > 0
    }
}

impl Directory {
    pub(super) fn new(parent: u64) -> Self {
        let names = Names {
            by_name: HashMap::new(),
            by_cookie: BTreeMap::new(),
            next_cookie: FIRST_COOKIE,
            is_gone: false,
            marks: HashSet::new(),
        };
        Self { names: RwLock::new(names), parent: AtomicU64::new(parent) }
    }

    /// Its names, to be changed: `ENOENT` if it is removed.
    pub(super) fn change(&self) -> Result<RwLockWriteGuard<'_, Names>> {
        let names = write(&self.names);
        if names.is_gone { Err(Errno::NOENT.into()) } else { Ok(names) }
    }
}

impl Names {
    pub(super) fn get(&self, name: &[u8]) -> Option<&Arc<Node>> {
        self.by_name.get(name).map(|(_, node)| node)
    }

    pub(super) fn count(&self) -> u64 {
        self.by_name.len() as u64
    }

    /// Lets a name lead somewhere. One that was there keeps its place in listings.
    pub(super) fn put(&mut self, name: &[u8], node: Arc<Node>) {
        if let Some((cookie, before)) = self.by_name.get_mut(name) {
            if let Some((_, listed)) = self.by_cookie.get_mut(cookie) {
                *listed = Arc::clone(&node);
            }
            *before = node;
            return;
        }
        let name: Arc<[u8]> = name.into();
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        self.by_cookie.insert(cookie, (Arc::clone(&name), Arc::clone(&node)));
        self.by_name.insert(name, (cookie, node));
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        if let Some((cookie, _)) = self.by_name.remove(name) {
            self.by_cookie.remove(&cookie);
        }
    }

    /// What a listing shows after a cookie.
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], &Arc<Node>)> {
        let range = (Bound::Excluded(cookie), Bound::Unbounded);
        self.by_cookie.range(range).map(|(cookie, (name, node))| (*cookie, &**name, node))
    }

    /// Everything in it, as the file system ends: a tree as deep as a guest likes is not given back by recursion.
    pub(super) fn clear(&mut self) {
        self.by_name.clear();
        self.by_cookie.clear();
    }
}

/// What is known of something new.
pub(super) fn facts(mode: u32, links: u32, uid: u32, gid: u32) -> Facts {
    let now = Timestamp::now();
    Facts {
        mode: mode & ALL_MODE_BITS,
        links,
        uid,
        gid,
        accessed: now,
        modified: now,
        changed: now,
        xattrs: BTreeMap::new(),
    }
}

/// 1 and 2 are `.` and `..`.
const FIRST_COOKIE: u64 = 3;
