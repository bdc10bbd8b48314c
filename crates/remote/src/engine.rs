//! The engine over a place far away. What it cannot do it refuses: further names, links, pipes and sockets (`EPERM`),
//! extended attributes and reservations (`EOPNOTSUPP`), modes, owners and times of single files (`EPERM`), exchanges
//! (`EINVAL`), and in an object store renames of directories (`EXDEV`).

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

mod contents;
mod names;

use contents::Late;

/// Files far away. A13, A14
#[derive(Debug)]
pub struct Remote {
    backend: Box<dyn Backend>,
    settings: Settings,
    limits: Limits,
    nodes: Table<Node>,
    /// Which number a path has that is held.
    known: Mutex<HashMap<Arc<str>, u64>>,
    open: Table<Open>,
    root: Arc<Node>,
    cache: Cache,
    /// The bytes that are written and not there yet.
    late: Counter,
    handles: Counter,
    locks: LockTable,
    faults: Mutex<VecDeque<Fault>>,
    /// Files that were written and are not there as they were written, with the reason.
    unwritten: Mutex<Vec<String>>,
}

/// A file or directory that somebody holds.
#[derive(Debug)]
struct Node {
    number: u64,
    kind: Kind,
    path: RwLock<Arc<str>>,
    parent: u64,
    meta: RwLock<(Meta, Instant)>,
    late: Mutex<Option<Late>>,
    /// How many have it open, and how many of them for writing.
    opened: AtomicU64,
    writers: AtomicU64,
    is_gone: AtomicBool,
    held: AtomicU64,
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

impl Node {
    fn path(&self) -> Arc<str> {
        Arc::clone(&read(&self.path))
    }

    fn meta(&self) -> Meta {
        read(&self.meta).0.clone()
    }
}

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
        };
        let root = Arc::new(new_node(number, "".into(), number, meta, &settings));
        nodes.put(number, Arc::clone(&root));
        let known = HashMap::from([(Arc::from(""), number)]);
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

    fn attributes_of(&self, node: &Node) -> Attributes {
        let meta = node.meta();
        let is_directory = node.kind == Kind::Directory;
        let size = match &*lock(&node.late) {
            Some(late) => late.bytes.len() as u64,
            None => meta.size,
        };
        let Settings { uid, gid, file_mode, directory_mode, .. } = self.settings;
        Attributes {
            number: node.number,
            kind: node.kind,
            mode: if is_directory { directory_mode } else { file_mode },
            // Which directories are in one is known only when they are counted: 1 says so.
            links: u32::from(!node.is_gone.load(Ordering::SeqCst)),
            uid,
            gid,
            device: 0,
            size: if is_directory { 4096 } else { size },
            blocks: if is_directory { 0 } else { size.div_ceil(512) },
            accessed: meta.modified,
            modified: meta.modified,
            changed: meta.modified,
        }
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
            xattrs: false,
            hard_links: false,
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
        let parent = self.nodes.get(node.parent).ok_or(Errno::NOENT)?;
        parent.held.fetch_add(1, Ordering::SeqCst);
        Ok(self.entry(&parent))
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.give_back(inode.0, count);
    }

    fn attributes(&self, _caller: &Caller, inode: Inode) -> Result<Attributes> {
        Ok(self.attributes_of(&*self.node(inode)?))
    }

    fn change(&self, _caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        self.check_writable()?;
        let node = self.node(inode)?;
        let now = self.attributes_of(&node);
        let is_same = changes.mode.is_none_or(|mode| mode == now.mode)
            && changes.uid.is_none_or(|uid| uid == now.uid)
            && changes.gid.is_none_or(|gid| gid == now.gid);
        if !is_same || changes.accessed.is_some() || changes.modified.is_some() {
            return Err(Errno::PERM.into());
        }
        if let Some(size) = changes.size {
            self.resize(&node, size)?;
        }
        Ok(self.attributes_of(&node))
    }

    fn read_link(&self, _caller: &Caller, _inode: Inode) -> Result<Vec<u8>> {
        Err(Errno::INVAL.into())
    }

    fn make(
        &self,
        _caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        _mode: u32,
    ) -> Result<Entry> {
        self.check_writable()?;
        let node = self.make_named(&*self.directory(parent)?, name, new)?;
        Ok(self.entry(&node))
    }

    fn link(&self, _: &Caller, _: Inode, _: Inode, _: Name<'_>) -> Result<Entry> {
        self.check_writable()?;
        Err(Errno::PERM.into())
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
        if node.kind == Kind::Directory {
            return Err(Errno::ISDIR.into());
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

    fn allocate(&self, handle: Handle, _: Allocate, _: u64, _: u64) -> Result<()> {
        self.opened(handle)?;
        Err(Errno::OPNOTSUPP.into())
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        let size = self.attributes_of(&self.opened(handle)?.node).size;
        match what {
            _ if offset >= size => Err(Errno::NXIO.into()),
            Seek::Data => Ok(offset),
            Seek::Hole => Ok(size),
        }
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.push(&self.opened(handle)?.node)
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.push(&self.opened(handle)?.node)
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
        for (cookie, name, number) in [(1, &b"."[..], node.number), (2, b"..", node.parent)] {
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

    fn xattr(&self, _: &Caller, _: Inode, _: &[u8]) -> Result<Vec<u8>> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn xattrs(&self, _: &Caller, _: Inode) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn set_xattr(&self, _: &Caller, _: Inode, _: &[u8], _: &[u8], _: SetXattr) -> Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn remove_xattr(&self, _: &Caller, _: Inode, _: &[u8]) -> Result<()> {
        Err(Errno::OPNOTSUPP.into())
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

fn new_node(number: u64, path: Arc<str>, parent: u64, meta: Meta, settings: &Settings) -> Node {
    Node {
        number,
        kind: kind_of(&meta),
        path: RwLock::new(path),
        parent,
        meta: RwLock::new((meta, Instant::now() + settings.believed)),
        late: Mutex::new(None),
        opened: AtomicU64::new(0),
        writers: AtomicU64::new(0),
        is_gone: AtomicBool::new(false),
        held: AtomicU64::new(1),
    }
}

const fn kind_of(meta: &Meta) -> Kind {
    match meta.kind {
        MetaKind::File => Kind::File,
        MetaKind::Directory => Kind::Directory,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_FAULTS: usize = 64;
/// 1 and 2 are `.` and `..`.
const FIRST_COOKIE: u64 = 3;
