//! The engine over a place far away. What it cannot do it refuses: exchanges of two names (`EINVAL`), and in an object store
//! renames of directories with much in them (`EXDEV`). Where no notes are kept: renames of directories (`EXDEV`), further
//! names, links, pipes and sockets, modes, owners and times of single files (`EPERM`), extended attributes (`EOPNOTSUPP`).
//! Where they are: more of them than there is room for (`ENOSPC`), and other owners than the mount's unless the settings say
//! so (`EPERM`). Names are text (`EILSEQ`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use rustix::io::Errno;
use vfs::{
    Abilities, Allocate, Attributes, Caller, Changes, Counter, Engine, Entry, Handle, Inode, Kind,
    LONGEST_NAME, Limits, Listed, LockTable, Name, New, Rename, Result, Seek, SetXattr, Setting,
    Space, Table, Use, WriteAt, Written, read,
};

use crate::backend::{Backend, Meta, MetaKind};
use crate::cache::Cache;
use crate::failure::{Failure, Fault, Why};
use crate::settings::Settings;

mod changes;
mod contents;
mod names;
mod node;
mod notes;

use names::{Kinds, Known};
use node::Node;

/// Files far away. A13, A14
#[derive(Debug)]
pub struct Remote {
    backend: Box<dyn Backend>,
    settings: Settings,
    limits: Limits,
    nodes: Table<Node>,
    known: Mutex<Known>,
    open: Table<Open>,
    root: Arc<Node>,
    cache: Cache,
    /// The bytes that are written and not there yet.
    late: Counter,
    handles: Counter,
    locks: LockTable,
    /// Held for writing while a directory is renamed, which may be many requests; for reading by whoever asks for something of a
    /// path. Locked before all that is in a node, and never twice by one.
    moving: RwLock<()>,
    /// What entries of listings are that has to be asked for.
    kinds: Mutex<Kinds>,
    faults: Mutex<VecDeque<Fault>>,
    /// Files that were written and are not there as they were written, with the reason.
    unwritten: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Open {
    node: Arc<Node>,
    how: Use,
    /// Where the last read ended.
    next: AtomicU64,
    /// What a listing shows, as it was when it began.
    listing: Mutex<Option<Arc<Names>>>,
}

type Names = Vec<(String, Kind)>;

impl Remote {
    /// Over the other side. Its root is looked at when it is needed.
    pub fn new(backend: Box<dyn Backend>, settings: Settings, limits: Limits) -> Self {
        let nodes = Table::new();
        let number = nodes.next();
        let meta = Meta {
            kind: MetaKind::Directory,
            size: 0,
            modified: vfs::Timestamp::default(),
            version: String::new(),
            id: String::new(),
            sha256: None,
            notes: None,
        };
        let root = Arc::new(Node::new(number, "".into(), number, meta, Instant::now()));
        nodes.put(number, Arc::clone(&root));
        let mut known = Known::default();
        known.paths.insert("".into(), number);
        Self {
            backend,
            nodes,
            known: Mutex::new(known),
            open: Table::new(),
            root,
            cache: Cache::new(settings.cache_bytes),
            late: Counter::new(settings.most_late_bytes, Errno::NOSPC, Setting::Bytes),
            handles: Counter::new(limits.max_open_files, Errno::NFILE, Setting::OpenFiles),
            settings,
            limits,
            locks: LockTable::default(),
            moving: RwLock::default(),
            kinds: Mutex::default(),
            faults: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// What was written and nobody will bring to the other side any more, because it was refused: at most 64 files, each
    /// with the reason.
    pub fn unwritten(&self) -> Vec<String> {
        lock(&self.unwritten).clone()
    }

    /// Asks once whether the place is there that all files are in.
    ///
    /// # Errors
    /// It is not, or cannot be asked: in words for a person.
    pub fn check(&self) -> std::result::Result<(), Failure> {
        self.backend.check()
    }

    /// What failed lately, the oldest first: at most 64.
    pub fn faults(&self) -> Vec<Fault> {
        lock(&self.faults).iter().cloned().collect()
    }

    /// What a guest is told of a failure, which is noted unless it is an everyday answer.
    fn told<T>(&self, done: std::result::Result<T, Failure>) -> Result<T> {
        done.map_err(|failure| {
            let errno = failure.why.errno();
            if !matches!(failure.why, Why::Missing | Why::Exists) {
                let mut faults = lock(&self.faults);
                if faults.len() >= MOST_FAULTS {
                    faults.pop_front();
                }
                faults.push_back(Fault { text: failure.to_string(), errno });
            }
            errno.into()
        })
    }

    fn node(&self, inode: Inode) -> Result<Arc<Node>> {
        self.nodes.get(inode.0).ok_or(Errno::STALE.into())
    }

    fn directory(&self, inode: Inode) -> Result<Arc<Node>> {
        let node = self.node(inode)?;
        if node.kind == Kind::Directory { Ok(node) } else { Err(Errno::NOTDIR.into()) }
    }

    fn opened(&self, handle: Handle) -> Result<Arc<Open>> {
        self.open.get(handle.0).ok_or(Errno::BADF.into())
    }

    fn check_writable(&self) -> Result<()> {
        if self.settings.writable { Ok(()) } else { Err(Errno::ROFS.into()) }
    }

    /// What is noted of the root.
    fn look_at_root(&self) -> Result<()> {
        if read(&self.root.state).until > Instant::now() {
            return Ok(());
        }
        let meta = self.told(self.backend.stat(""))?;
        self.root.refresh(meta, Instant::now() + self.settings.believed);
        Ok(())
    }

    fn put_open(&self, node: Arc<Node>, how: Use) -> Result<Handle> {
        self.handles.take(1)?;
        node.held.fetch_add(1, Ordering::SeqCst);
        node.opened.fetch_add(1, Ordering::SeqCst);
        node.writers.fetch_add(u64::from(how.write), Ordering::SeqCst);
        let number = self.open.next();
        let (next, listing) = (AtomicU64::new(0), Mutex::default());
        self.open.put(number, Arc::new(Open { node, how, next, listing }));
        Ok(Handle(number))
    }
}

impl Engine for Remote {
    fn abilities(&self) -> Abilities {
        Abilities {
            xattrs: true,
            hard_links: true,
            locks: true,
            persistent: true,
            read_only: !self.settings.writable,
        }
    }

    fn root(&self) -> Inode {
        Inode(self.root.number)
    }

    fn lookup(&self, _caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let node = self.find(&*self.directory(parent)?, name)?;
        Ok(self.entry(&node))
    }

    fn lookup_parent(&self, _caller: &Caller, directory: Inode) -> Result<Entry> {
        let node = self.directory(directory)?;
        let parent = self.nodes.get(node.parent()).ok_or(Errno::NOENT)?;
        parent.held.fetch_add(1, Ordering::SeqCst);
        Ok(self.entry(&parent))
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.give_back(inode.0, count);
    }

    fn attributes(&self, _caller: &Caller, inode: Inode) -> Result<Attributes> {
        let node = self.node(inode)?;
        if node.number == self.root.number {
            self.look_at_root()?;
        }
        Ok(self.attributes_of(&node))
    }

    fn change(&self, _caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        self.check_writable()?;
        self.change_node(&*self.node(inode)?, changes)
    }

    fn read_link(&self, _caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        self.target_of(&*self.node(inode)?)
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        self.check_writable()?;
        let node = self.make_named(caller, &*self.directory(parent)?, name, new, mode)?;
        Ok(self.entry(&node))
    }

    fn link(&self, _: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.check_writable()?;
        let node = self.link_named(&self.node(inode)?, &*self.directory(parent)?, name)?;
        Ok(self.entry(&node))
    }

    fn remove(&self, _caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.check_writable()?;
        self.remove_named(&*self.directory(parent)?, name, judged)
    }

    fn rename(&self, _caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.check_writable()?;
        self.perform(rename)
    }

    fn open(&self, _caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let node = self.node(inode)?;
        match node.kind {
            Kind::File => {}
            Kind::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        }
        if how.write {
            self.check_writable()?;
        }
        self.put_open(node, how)
    }

    fn open_directory(&self, _caller: &Caller, inode: Inode) -> Result<Handle> {
        self.put_open(self.directory(inode)?, Use { read: true, write: false })
    }

    fn release(&self, handle: Handle) {
        let Some(open) = self.open.take(handle.0) else { return };
        self.handles.give(1);
        let node = &open.node;
        if open.how.write && node.writers.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Who wanted to know of a failure has flushed; it is noted.
            let _noted = self.push(node);
        }
        if node.opened.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.drop_late(node);
        }
        self.give_back(node.number, 1);
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        let open = self.opened(handle)?;
        if !open.how.read {
            return Err(Errno::BADF.into());
        }
        if open.node.kind == Kind::Directory {
            return Err(Errno::ISDIR.into());
        }
        let reads_on = open.next.load(Ordering::Relaxed) == offset;
        let count = self.read_contents(&open.node, offset, into, reads_on)?;
        open.next.store(offset + count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        self.write_contents(&open.node, at, bytes)
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        self.allocate_in(&open.node, how, offset, length)
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        self.seek_in(&self.opened(handle)?.node, what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.push(&self.opened(handle)?.node)
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        let open = self.opened(handle)?;
        self.push(&open.node)?;
        self.save_unsaved(&open.node)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.opened(handle)?;
        let node = &open.node;
        if node.kind != Kind::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let kind = Kind::Directory;
        for (cookie, name, number) in [(1, &b"."[..], node.number), (2, b"..", node.parent())] {
            if cookie > after && !sink(&Listed { name, number, kind, cookie }) {
                return Ok(());
            }
        }
        let all = {
            let mut listing = lock(&open.listing);
            match &*listing {
                Some(all) if after > 0 => Arc::clone(all),
                _ => Arc::clone(listing.insert(Arc::new(self.names_of(node)?))),
            }
        };
        let from = usize::try_from(after.saturating_sub(2)).unwrap_or(usize::MAX);
        for (index, (name, kind)) in all.iter().enumerate().skip(from) {
            let cookie = index as u64 + FIRST_COOKIE;
            // A number that is not known yet is a number: who wants the right one looks the name up.
            let number = self.number_of(node, name).unwrap_or(u64::from(u32::MAX) + cookie);
            if !sink(&Listed { name: name.as_bytes(), number, kind: *kind, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&self, _: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        self.xattr_of(&*self.node(inode)?, name)
    }

    fn xattrs(&self, _: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        Ok(self.xattrs_of(&*self.node(inode)?))
    }

    fn set_xattr(
        &self,
        _: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        self.check_writable()?;
        self.set_xattr_of(&*self.node(inode)?, name, value, how)
    }

    fn remove_xattr(&self, _: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        self.check_writable()?;
        self.remove_xattr_of(&*self.node(inode)?, name)
    }

    fn space(&self, _inode: Inode) -> Result<Space> {
        // Nobody says how much there is: what can be written at once is what counts here.
        Ok(Space {
            block_bytes: 4096,
            blocks: self.late.most() / 4096,
            free_blocks: (self.late.most() - self.late.used()) / 4096,
            inodes: 0,
            free_inodes: 0,
            longest_name: LONGEST_NAME as u64,
        })
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        Ok((&self.locks, inode.0))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_FAULTS: usize = 64;
/// 1 and 2 are `.` and `..`.
const FIRST_COOKIE: u64 = 3;
