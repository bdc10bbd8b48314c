//! Files in memory. A11
//!
//! Every inode has locks of its own, and is found by number in a table of shards: who works on one file never waits for
//! who works on another. Only renames between directories happen one at a time, so that two of them cannot make a
//! directory its own ancestor. Nothing here touches the host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use rustix::io::Errno;

use crate::attributes::{ALL_MODE_BITS, Attributes, Changes, Space, Timestamp};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename, Seek, SetXattr,
    Use, WriteAt, Written,
};
use crate::error::{Error, Result};
use crate::limits::{Counter, Limits, Setting};
use crate::locks::LockTable;
use crate::name::{LONGEST_NAME, Name};
use crate::rules;
use crate::table::{Table, read, write};

pub(crate) mod contents;
mod marks;
mod node;
mod rename;
mod xattrs;

use contents::PAGE;
use node::{Body, Directory, File, Node, facts};

/// A file system in memory, empty at first. It ends with its last user.
#[derive(Debug)]
pub struct Memory {
    nodes: Table<Node>,
    open: Table<Open>,
    root: Arc<Node>,
    limits: Limits,
    bytes: Counter,
    inodes: Counter,
    handles: Counter,
    /// Held during a rename between directories.
    moving: Mutex<()>,
    locks: LockTable,
}

/// An open file or directory.
#[derive(Debug)]
struct Open {
    node: Arc<Node>,
    how: Use,
}

impl Memory {
    /// An empty one, whose root is a user's.
    pub fn new(owner: &Caller, mode: u32, limits: Limits) -> Self {
        let nodes = Table::new();
        let number = nodes.next();
        let facts = facts(mode, 2, owner.uid, owner.gid);
        let root = Arc::new(Node {
            number,
            body: Body::Directory(Directory::new(number)),
            facts: RwLock::new(facts),
            held: AtomicU64::new(1),
        });
        nodes.put(number, Arc::clone(&root));
        Self {
            nodes,
            open: Table::new(),
            root,
            bytes: Counter::new(limits.max_bytes, Errno::NOSPC, Setting::Bytes),
            inodes: Counter::new(limits.max_inodes, Errno::NOSPC, Setting::Inodes),
            handles: Counter::new(limits.max_open_files, Errno::NFILE, Setting::OpenFiles),
            limits,
            moving: Mutex::new(()),
            locks: LockTable::default(),
        }
    }

    fn node(&self, inode: Inode) -> Result<Arc<Node>> {
        self.nodes.get(inode.0).ok_or(Errno::STALE.into())
    }

    fn opened(&self, handle: Handle) -> Result<Arc<Open>> {
        self.open.get(handle.0).ok_or(Errno::BADF.into())
    }

    /// Hands a node out: its directory is locked, or its caller holds it already.
    fn entry(node: &Arc<Node>) -> Entry {
        node.held.fetch_add(1, Ordering::SeqCst);
        Entry { inode: Inode(node.number), generation: 1, attributes: node.attributes() }
    }

    /// One name less.
    fn unnamed(&self, node: &Node) {
        if node.lose_name() {
            self.inodes.give(1);
        }
        self.end_unless_needed(node);
    }

    /// Ends a node that has no name and that nobody holds.
    fn end_unless_needed(&self, node: &Node) {
        let is_needed =
            |node: &Node| node.held.load(Ordering::SeqCst) > 0 || read(&node.facts).links > 0;
        if is_needed(node) || self.nodes.take_if(node.number, |node| !is_needed(node)).is_none() {
            return;
        }
        let xattrs =
            read(&node.facts).xattrs.iter().map(|(name, value)| xattrs::cost(name, value)).sum();
        let body = match &node.body {
            Body::File(file) => file.bytes.load(Ordering::Relaxed),
            Body::Link(target) => target.len() as u64,
            Body::Directory(_) | Body::Fifo | Body::Socket => 0,
        };
        self.bytes.give(body.saturating_add(xattrs));
        self.inodes.give(1);
    }

    fn put_open(&self, inode: Inode, how: Use) -> Result<Handle> {
        let node = self.node(inode)?;
        self.handles.take(1)?;
        node.held.fetch_add(1, Ordering::SeqCst);
        let number = self.open.next();
        self.open.put(number, Arc::new(Open { node, how }));
        Ok(Handle(number))
    }

    /// Changes a file's contents, and what is known of their size.
    fn with_contents<T>(
        &self,
        node: &Node,
        change: impl FnOnce(&mut contents::Contents) -> Result<T>,
    ) -> Result<T> {
        let file = node.file()?;
        let mut contents = write(&file.contents);
        let done = change(&mut contents)?;
        file.size.store(contents.size(), Ordering::Relaxed);
        file.bytes.store(contents.bytes(), Ordering::Relaxed);
        node.touch(|facts, now| facts.modified = now);
        Ok(done)
    }

    fn check_size(&self, end: Option<u64>) -> Result<u64> {
        let too_big = Error::of_setting(Errno::FBIG, Setting::FileBytes);
        end.filter(|end| *end <= self.limits.max_file_bytes).ok_or(too_big)
    }

    fn check_room(&self, names: &node::Names) -> Result<()> {
        if names.count() < self.limits.max_directory_entries {
            return Ok(());
        }
        Err(Error::of_setting(Errno::NOSPC, Setting::DirectoryEntries))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.nodes.for_each(|node| {
            if let Body::Directory(directory) = &node.body {
                write(&directory.names).clear();
            }
        });
    }
}

impl Engine for Memory {
    fn abilities(&self) -> Abilities {
        Abilities {
            xattrs: true,
            hard_links: true,
            locks: true,
            persistent: false,
            read_only: false,
        }
    }

    fn root(&self) -> Inode {
        Inode(self.root.number)
    }

    fn lookup(&self, _caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let parent = self.node(parent)?;
        let names = read(&parent.directory()?.names);
        names.get(name.as_bytes()).map(Self::entry).ok_or(Errno::NOENT.into())
    }

    fn lookup_parent(&self, _caller: &Caller, directory: Inode) -> Result<Entry> {
        let node = self.node(directory)?;
        // It may be moved or removed meanwhile: then it is asked again, or is nowhere.
        loop {
            let number = node.directory()?.parent.load(Ordering::SeqCst);
            let parent = self.nodes.get(number).ok_or(Errno::NOENT)?;
            let entry = Self::entry(&parent);
            if self.nodes.get(number).is_some() {
                return Ok(entry);
            }
            parent.held.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn forget(&self, inode: Inode, count: u64) {
        let Some(node) = self.nodes.get(inode.0) else { return };
        if node.number == self.root.number {
            // Counted, but never gone.
            node.held.fetch_sub(count, Ordering::SeqCst);
            return;
        }
        if node.held.fetch_sub(count, Ordering::SeqCst) == count {
            self.end_unless_needed(&node);
        }
    }

    fn attributes(&self, _caller: &Caller, inode: Inode) -> Result<Attributes> {
        Ok(self.node(inode)?.attributes())
    }

    fn change(&self, _caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        let node = self.node(inode)?;
        if let Some(size) = changes.size {
            let size = self.check_size(Some(size))?;
            self.with_contents(&node, |contents| {
                contents.resize(size, &self.bytes);
                Ok(())
            })?;
        }
        node.touch(|facts, now| {
            facts.mode = changes.mode.map_or(facts.mode, |mode| mode & ALL_MODE_BITS);
            facts.uid = changes.uid.unwrap_or(facts.uid);
            facts.gid = changes.gid.unwrap_or(facts.gid);
            facts.accessed = changes.accessed.map_or(facts.accessed, |time| time.or_now(now));
            facts.modified = changes.modified.map_or(facts.modified, |time| time.or_now(now));
        });
        Ok(node.attributes())
    }

    fn read_link(&self, _caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        match &self.node(inode)?.body {
            Body::Link(target) => Ok(target.to_vec()),
            Body::File(_) | Body::Directory(_) | Body::Fifo | Body::Socket => {
                Err(Errno::INVAL.into())
            }
        }
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let parent = self.node(parent)?;
        let mut names = parent.directory()?.change()?;
        if names.get(name.as_bytes()).is_some() {
            return Err(Errno::EXIST.into());
        }
        self.check_room(&names)?;
        self.inodes.take(1)?;
        let text = if let New::Link(target) = new { target } else { &[] };
        self.bytes.take(text.len() as u64).inspect_err(|_| self.inodes.give(1))?;
        let (body, links) = match new {
            New::File => (Body::File(File::default()), 1),
            New::Directory => (Body::Directory(Directory::new(parent.number)), 2),
            New::Link(target) => (Body::Link(target.into()), 1),
            New::Fifo => (Body::Fifo, 1),
            New::Socket => (Body::Socket, 1),
        };
        let (mode, gid) = rules::inherit(caller, &parent.attributes(), new.kind(), mode);
        let facts = RwLock::new(facts(mode, links, caller.uid, gid));
        let node =
            Arc::new(Node { number: self.nodes.next(), body, facts, held: AtomicU64::new(0) });
        let entry = Self::entry(&node);
        self.nodes.put(node.number, Arc::clone(&node));
        names.put(name.as_bytes(), node);
        parent.names_changed(i32::from(new == New::Directory));
        Ok(entry)
    }

    fn link(&self, _caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let (node, parent) = (self.node(inode)?, self.node(parent)?);
        if matches!(node.body, Body::Directory(_)) {
            return Err(Errno::PERM.into());
        }
        let mut names = parent.directory()?.change()?;
        if names.get(name.as_bytes()).is_some() {
            return Err(Errno::EXIST.into());
        }
        self.check_room(&names)?;
        self.inodes.take(1)?;
        let linked = {
            let mut facts = write(&node.facts);
            match facts.links {
                // Removed already: only who has it open knows of it.
                0 => Err(Errno::NOENT.into()),
                MOST_LINKS.. => Err(Errno::MLINK.into()),
                links => {
                    facts.links = links + 1;
                    facts.changed = Timestamp::now();
                    Ok(())
                }
            }
        };
        linked.inspect_err(|_: &Error| self.inodes.give(1))?;
        let entry = Self::entry(&node);
        names.put(name.as_bytes(), node);
        parent.names_changed(0);
        Ok(entry)
    }

    fn remove(&self, _caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        let parent = self.node(parent)?;
        let mut names = parent.directory()?.change()?;
        let node = names.get(name.as_bytes()).ok_or(Errno::NOENT)?;
        if node.number != judged.0 {
            return Err(Errno::STALE.into());
        }
        let node = Arc::clone(node);
        let is_directory = end_if_empty(&node)?;
        names.remove(name.as_bytes());
        parent.names_changed(-i32::from(is_directory));
        drop(names);
        self.unnamed(&node);
        Ok(())
    }

    fn rename(&self, _caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.perform(rename)
    }

    fn open(&self, _caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        self.node(inode)?.file()?;
        self.put_open(inode, how)
    }

    fn open_directory(&self, _caller: &Caller, inode: Inode) -> Result<Handle> {
        self.node(inode)?.directory()?;
        self.put_open(inode, Use { read: true, write: false })
    }

    fn release(&self, handle: Handle) {
        if let Some(open) = self.open.take(handle.0) {
            self.handles.give(1);
            self.forget(Inode(open.node.number), 1);
        }
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        let open = self.opened(handle)?;
        if !open.how.read {
            return Err(Errno::BADF.into());
        }
        Ok(read(&open.node.file()?.contents).read(offset, into))
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        self.with_contents(&open.node, |contents| {
            let offset = match at {
                WriteAt::Offset(offset) => offset,
                WriteAt::End => contents.size(),
            };
            // As much as may be there, and an error only where that is nothing.
            let most = self.limits.max_file_bytes.saturating_sub(offset);
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
            if most == 0 && !bytes.is_empty() {
                self.check_size(None)?;
            }
            let bytes = bytes.get(..most).unwrap_or_default();
            let count = contents.write(offset, bytes, &self.bytes)?;
            Ok(Written { count, end: offset + count as u64 })
        })
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        let end = self.check_size(offset.checked_add(length))?;
        self.with_contents(&open.node, |contents| {
            if how == Allocate::PunchHole {
                contents.punch(offset, length, &self.bytes);
                return Ok(());
            }
            contents.reserve(offset, length, &self.bytes)?;
            if how == Allocate::Extend && contents.size() < end {
                contents.resize(end, &self.bytes);
            }
            Ok(())
        })
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        let open = self.opened(handle)?;
        read(&open.node.file()?.contents).seek(what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.opened(handle).map(drop)
    }

    fn flushes(&self) -> bool {
        false
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.opened(handle).map(drop)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.opened(handle)?;
        let directory = open.node.directory()?;
        let kind = open.node.kind();
        let parent = directory.parent.load(Ordering::SeqCst);
        for (cookie, name, number) in [(1, &b"."[..], open.node.number), (2, b"..", parent)] {
            if cookie > after && !sink(&Listed { name, number, kind, cookie }) {
                return Ok(());
            }
        }
        let names = read(&directory.names);
        if names.is_gone {
            return Err(Errno::NOENT.into());
        }
        for (cookie, name, node) in names.after(after.max(2)) {
            if !sink(&Listed { name, number: node.number, kind: node.kind(), cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        xattrs::get(&*self.node(inode)?, name)
    }

    fn xattrs(&self, _caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        Ok(xattrs::list(&*self.node(inode)?))
    }

    fn set_xattr(
        &self,
        _caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        xattrs::set(&*self.node(inode)?, name, value, how, &self.bytes)
    }

    fn remove_xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        xattrs::remove(&*self.node(inode)?, name, &self.bytes)
    }

    fn space(&self, _inode: Inode) -> Result<Space> {
        let free = |counter: &Counter| counter.most() - counter.used();
        Ok(Space {
            block_bytes: PAGE,
            blocks: self.bytes.most() / PAGE,
            free_blocks: free(&self.bytes) / PAGE,
            inodes: self.inodes.most(),
            free_inodes: free(&self.inodes),
            longest_name: LONGEST_NAME as u64,
        })
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        Ok((&self.locks, inode.0))
    }

    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }
}

/// Ends a directory that is about to lose its name, if nothing is in it. Returns whether it is one.
fn end_if_empty(node: &Node) -> Result<bool> {
    let Body::Directory(directory) = &node.body else { return Ok(false) };
    let mut names = write(&directory.names);
    if names.count() > 0 {
        return Err(Errno::NOTEMPTY.into());
    }
    names.is_gone = true;
    Ok(true)
}

/// As the kernel's own file systems have it.
const MOST_LINKS: u32 = 65_000;
