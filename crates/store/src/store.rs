//! A store: what is held, what is counted, and what becomes of a file that nobody holds any more.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use rustix::io::Errno;
use vfs::{
    Counter, ENGINE_BITS, Entry, Handle, Inode, Limits, LockTable, Result, Table, Use, write,
};

use crate::chunks::Chunks;
use crate::contents::Contents;
use crate::database::{Database, one};
use crate::error::Fault;
use crate::node::{Node, Nodes};
use crate::open::Lock;
use crate::rows;
use crate::schema::{LIVE, ROOT};

/// A file system in one file of the host. A15
///
/// It is this process's alone while it is open. When it is dropped, what is late goes to the database.
#[derive(Debug)]
pub struct Store {
    /// Which tree it is.
    pub(crate) tree: i64,
    pub(crate) nodes: Nodes,
    pub(crate) open: Table<Open>,
    pub(crate) chunks: Arc<Chunks>,
    pub(crate) limits: Limits,
    pub(crate) bytes: Counter,
    pub(crate) inodes: Counter,
    pub(crate) handles: Counter,
    /// How many pieces of files are not in the database yet.
    pub(crate) late: AtomicU64,
    pub(crate) next_inode: AtomicU64,
    pub(crate) next_cookie: AtomicU64,
    /// How often the store was opened: a number that is given out again is another file's.
    pub(crate) generation: u64,
    pub(crate) locks: LockTable,
    pub(crate) database: Arc<Database>,
    /// Locked. Closed after all connections: closing it gives up the locks that they have on the same file.
    pub(crate) lock: Arc<Lock>,
}

/// An open file or directory.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) node: Arc<Node>,
    pub(crate) how: Use,
}

impl Store {
    /// Gives everything that was written to the database, and returns when it is on the disk.
    ///
    /// # Errors
    /// What the database refused.
    pub fn sync_all(&self) -> Result<()> {
        self.flush_all()?;
        self.database.sync()
    }

    /// What the database refused last, of what guests are only told the number.
    pub fn fault(&self) -> Option<Fault> {
        self.database.fault()
    }

    pub(crate) fn flush_all(&self) -> Result<()> {
        for node in self.nodes.all() {
            self.flush_contents(&node, &mut write(&node.contents))?;
        }
        Ok(())
    }

    pub(crate) fn node(&self, inode: Inode) -> Result<Arc<Node>> {
        self.nodes.get(inode.0)
    }

    pub(crate) fn opened(&self, handle: Handle) -> Result<Arc<Open>> {
        self.open.get(handle.0).ok_or(Errno::BADF.into())
    }

    /// Holds a file; `ENOENT` if there is none of this number any more.
    pub(crate) fn hold(&self, number: u64) -> Result<Arc<Node>> {
        if let Some(node) = self.nodes.hold(number)? {
            return Ok(node);
        }
        if number >> ENGINE_BITS != 0 {
            return Err(self.database.damaged("a file has a number that none can have"));
        }
        let _gate = self.nodes.gate(number)?;
        if let Ok(node) = self.nodes.get(number) {
            node.held.fetch_add(1, Ordering::SeqCst);
            return Ok(node);
        }
        let found = self.database.read(|reader| {
            one(reader, rows::SELECT, rusqlite::params![self.tree, number], rows::inode)
        })?;
        let found = found.filter(|found| found.facts.links > 0).ok_or(Errno::NOENT)?;
        let node = Arc::new(Node {
            number,
            kind: found.kind,
            generation: found.generation,
            target: found.target,
            facts: RwLock::new(found.facts),
            contents: RwLock::new(Contents::new(found.size, found.pages)),
            size: AtomicU64::new(found.size),
            pages: AtomicU64::new(found.pages),
            held: AtomicU64::new(1),
        });
        self.nodes.put(&node)?;
        Ok(node)
    }

    /// Hands out a file that is held.
    pub(crate) fn entry(node: &Node) -> Entry {
        let (inode, generation) = (Inode(node.number), node.generation);
        Entry { inode, generation, attributes: node.attributes() }
    }

    /// Gives a file back that many times.
    pub(crate) fn give_back(&self, number: u64, count: u64) {
        let Ok(node) = self.nodes.get(number) else { return };
        if node.held.fetch_sub(count, Ordering::SeqCst) == count && number != ROOT {
            // What the database refuses now stays late, and is tried again.
            let _later = self.end(&node);
        }
    }

    /// Ends what is known of a file that nobody holds: it goes to the database, or if it has no name it goes altogether.
    fn end(&self, node: &Arc<Node>) -> Result<()> {
        let _gate = self.nodes.gate(node.number)?;
        let is_known = self.nodes.get(node.number).is_ok_and(|known| Arc::ptr_eq(&known, node));
        if !is_known || node.held.load(Ordering::SeqCst) > 0 {
            return Ok(());
        }
        let mut contents = write(&node.contents);
        if node.facts().links > 0 {
            self.flush_contents(node, &mut contents)?;
        } else {
            self.remove_inode(node, &mut contents)?;
        }
        drop(contents);
        self.nodes.take(node.number).map(drop)
    }

    fn remove_inode(&self, node: &Node, contents: &mut Contents) -> Result<()> {
        let xattrs =
            self.database.writer().change(|change| self.remove_rows(change, node.number))?;
        let bytes = contents.pages * crate::contents::pages::PAGE + node.target.len() as u64;
        self.bytes.give(bytes + xattrs);
        self.inodes.give(1);
        self.forget_contents(contents);
        Ok(())
    }

    pub(crate) fn put_open(&self, node: Arc<Node>, how: Use) -> Result<Handle> {
        self.handles.take(1)?;
        node.held.fetch_add(1, Ordering::SeqCst);
        let number = self.open.next();
        self.open.put(number, Arc::new(Open { node, how }));
        Ok(Handle(number))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _lost = self.flush_all();
        if self.tree == LIVE {
            let _unemptied = self.database.writer().empty_log();
        }
    }
}

/// Something that is counted, and given back unless it is kept.
pub(crate) struct Taken<'a> {
    counter: &'a Counter,
    count: u64,
}

impl<'a> Taken<'a> {
    pub(crate) fn new(counter: &'a Counter, count: u64) -> Result<Self> {
        counter.take(count)?;
        Ok(Self { counter, count })
    }

    pub(crate) fn keep(mut self) {
        self.count = 0;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.counter.give(self.count);
    }
}
