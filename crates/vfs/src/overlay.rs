//! Layers under one another: many that are only read, and one above them that everything is written to. A4, A19
//!
//! What is changed is copied to the upper layer first, whole and with everything that belongs to it, and put in place by
//! one rename. That a name is no longer there although a lower layer has it, and that a directory hides what lies below
//! it, are [`Marks`] of the upper layer's engine: no name, no attribute and no link leads to one. Guests see the directory
//! `files` of the upper layer; beside it, out of their reach, is the one in which copies are made.
//!
//! Names of one directory are changed by one at a time; what is in files and directories is read by all at once.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::io::Errno;

use crate::attributes::{Attributes, Changes, Kind, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename, Seek, SetXattr,
    Use, WriteAt, Written,
};
use crate::error::Result;
use crate::limits::{Counter, Limits, Setting};
use crate::locks::LockTable;
use crate::name::Name;
use crate::table::{Table, read};

mod change;
mod copy;
mod find;
mod notes;
mod open;
mod rename;

use find::Known;
use open::Open;

/// Several file systems as one.
#[derive(Debug)]
pub struct Overlay {
    lowers: Box<[Arc<dyn Engine>]>,
    upper: Arc<dyn Engine>,
    /// The directory of the upper layer in which copies are made.
    staging: Inode,
    next_copy: AtomicU64,
    nodes: Table<Node>,
    known: Known,
    open: Table<Open>,
    root: Arc<Node>,
    /// Held during a rename between directories.
    moving: Mutex<()>,
    handles: Counter,
    locks: LockTable,
}

/// A file as guests know it, wherever it lies.
#[derive(Debug)]
struct Node {
    number: u64,
    kind: Kind,
    place: RwLock<Place>,
    /// One name of it, under which a copy is put; none once that is gone.
    seat: Mutex<Option<Seat>>,
    /// Held while its names are changed, if it is a directory. Never while something is copied.
    names: Mutex<()>,
    /// Held while it is copied.
    copying: Mutex<()>,
    /// How many names lower layers still show of it.
    names_below: AtomicU32,
    /// It was removed, and nothing is made in it.
    is_gone: AtomicBool,
    held: AtomicU64,
    /// It must be remembered though nobody holds it.
    is_pinned: AtomicBool,
    /// The number that programs were shown first: a copy is the same file to them.
    shown: OnceLock<u64>,
}

/// Where a file lies. Each of these is held.
#[derive(Clone, Debug, Default)]
struct Place {
    upper: Option<Inode>,
    /// In the layers of these numbers, the uppermost first; of what is no directory, one at most.
    lowers: Vec<(usize, Inode)>,
}

#[derive(Clone, Debug)]
struct Seat {
    parent: Arc<Node>,
    name: Box<[u8]>,
}

impl Overlay {
    /// Puts one layer above others, the uppermost of those first. The upper engine must keep marks, else it is
    /// `EOPNOTSUPP`. It may have been an upper layer before.
    pub fn new(
        lowers: Vec<Arc<dyn Engine>>,
        upper: Arc<dyn Engine>,
        limits: &Limits,
    ) -> Result<Self> {
        let root = Caller::root();
        let top = upper.root();
        let staging = own_directory(&*upper, top, b"staging", 0o700, None)?;
        let below =
            lowers.first().map(|lower| lower.attributes(&root, lower.root())).transpose()?;
        let mode = below.as_ref().map_or(0o755, |below| below.mode);
        let owner = below.map(|below| (below.uid, below.gid));
        let files = own_directory(&*upper, top, b"files", mode, owner)?;
        Self::over(lowers, upper, (files, staging), limits)
    }

    /// The same with an upper layer as the kernel's overlayfs has it: files in `upper`, and `work` beside it, where the
    /// kernel leaves room for others. Both must be there. The engine must keep marks of the kernel's form.
    pub fn as_the_kernel(
        lowers: Vec<Arc<dyn Engine>>,
        upper: Arc<dyn Engine>,
        limits: &Limits,
    ) -> Result<Self> {
        if upper.marks().is_none_or(|marks| !marks.take_names()) {
            return Err(Errno::OPNOTSUPP.into());
        }
        let (root, top) = (Caller::root(), upper.root());
        let files = upper.lookup(&root, top, Name::new(b"upper")?)?.inode;
        let work = upper.lookup(&root, top, Name::new(b"work")?)?.inode;
        let staging = own_directory(&*upper, work, b"staging", 0o700, None)?;
        let overlay = Self::over(lowers, upper, (files, staging), limits)?;
        overlay.try_notes()?;
        Ok(overlay)
    }

    fn over(
        lowers: Vec<Arc<dyn Engine>>,
        upper: Arc<dyn Engine>,
        (files, staging): (Inode, Inode),
        limits: &Limits,
    ) -> Result<Self> {
        if upper.marks().is_none() {
            return Err(Errno::OPNOTSUPP.into());
        }
        let nodes = Table::new();
        let number = nodes.next();
        let below = lowers.iter().enumerate().map(|(layer, lower)| (layer, lower.root()));
        let node = Arc::new(Node {
            number,
            kind: Kind::Directory,
            place: RwLock::new(Place { upper: Some(files), lowers: below.collect() }),
            seat: Mutex::new(None),
            names: Mutex::new(()),
            copying: Mutex::new(()),
            names_below: AtomicU32::new(0),
            is_gone: AtomicBool::new(false),
            held: AtomicU64::new(1),
            is_pinned: AtomicBool::new(true),
            shown: OnceLock::new(),
        });
        nodes.put(number, Arc::clone(&node));
        let overlay = Self {
            lowers: lowers.into(),
            upper,
            staging,
            next_copy: AtomicU64::new(1),
            nodes,
            known: Known::new(),
            open: Table::new(),
            root: node,
            moving: Mutex::new(()),
            handles: Counter::new(limits.max_open_files, Errno::NFILE, Setting::OpenFiles),
            locks: LockTable::default(),
        };
        overlay.empty_staging()?;
        Ok(overlay)
    }

    fn node(&self, inode: Inode) -> Result<Arc<Node>> {
        self.nodes.get(inode.0).ok_or(Errno::STALE.into())
    }

    fn directory(&self, inode: Inode) -> Result<Arc<Node>> {
        let node = self.node(inode)?;
        if node.kind == Kind::Directory { Ok(node) } else { Err(Errno::NOTDIR.into()) }
    }

    /// The marks of the upper layer.
    fn marks(&self) -> Result<&dyn Marks> {
        self.upper.marks().ok_or(Errno::OPNOTSUPP.into())
    }

    /// The engine and inode that say what a file is now.
    fn top(&self, node: &Node) -> Result<(&dyn Engine, Inode)> {
        let place = read(&node.place);
        match (place.upper, place.lowers.first()) {
            (Some(inode), _) => Ok((&*self.upper, inode)),
            (None, Some((layer, inode))) => Ok((self.lower(*layer)?, *inode)),
            (None, None) => Err(Errno::STALE.into()),
        }
    }

    fn lower(&self, layer: usize) -> Result<&dyn Engine> {
        self.lowers.get(layer).map(|lower| &**lower).ok_or(Errno::STALE.into())
    }

    fn attributes_of(&self, caller: &Caller, node: &Node) -> Result<Attributes> {
        let (engine, inode) = self.top(node)?;
        Ok(self.shown(node, engine.attributes(caller, inode)?))
    }

    /// As guests see what the uppermost layer tells of a node.
    fn shown(&self, node: &Node, found: Attributes) -> Attributes {
        let place = read(&node.place);
        let below = node.names_below.load(Ordering::SeqCst);
        let links = match node.kind {
            // Which directories it has is known only when they are counted: 1 says so.
            Kind::Directory if !place.lowers.is_empty() => 1,
            Kind::Directory => found.links,
            _ if place.upper.is_some() => found.links + below,
            _ => below,
        };
        let layer = match (place.upper, place.lowers.first()) {
            (None, Some((layer, _))) => Some(*layer),
            _ => None,
        };
        let number = *node.shown.get_or_init(|| shown_number(found.number, layer));
        Attributes { number, links, ..found }
    }

    /// Whether nothing is in a directory.
    fn is_empty(&self, node: &Arc<Node>) -> Result<bool> {
        Ok(self.merged(node)?.is_empty())
    }

    /// Takes note that a name no longer leads to a file. A directory that is removed keeps knowing where it was, as `..`
    /// does in the kernel's.
    fn unseat_file(&self, node: &Node, parent: &Node, name: Name<'_>) {
        if node.kind == Kind::Directory {
            return;
        }
        let is_there =
            |seat: &mut Seat| seat.parent.number == parent.number && *seat.name == *name.as_bytes();
        let seat = lock(&node.seat).take_if(is_there);
        if let Some(seat) = seat {
            self.give_back(seat.parent.number, 1);
        }
    }

    /// What is removed or replaced loses the name; `from_upper` says which layer had it.
    fn lost(&self, node: &Node, from_upper: bool) {
        if !from_upper && node.kind != Kind::Directory {
            node.names_below.fetch_sub(1, Ordering::SeqCst);
            // Other names of it still show the rest.
            node.is_pinned.store(true, Ordering::SeqCst);
        }
        if node.kind == Kind::Directory {
            node.is_gone.store(true, Ordering::SeqCst);
        }
    }
}

impl Engine for Overlay {
    fn abilities(&self) -> Abilities {
        Abilities { locks: true, ..self.upper.abilities() }
    }

    fn root(&self) -> Inode {
        Inode(self.root.number)
    }

    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let parent = self.directory(parent)?;
        let found = self.find_known(&parent, name)?;
        self.entry_found(caller, found)
    }

    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry> {
        let node = self.directory(directory)?;
        let parent = match (&*lock(&node.seat), node.number == self.root.number) {
            (_, true) => Arc::clone(&self.root),
            (Some(seat), false) => Arc::clone(&seat.parent),
            (None, false) => return Err(Errno::NOENT.into()),
        };
        parent.held.fetch_add(1, Ordering::SeqCst);
        self.entry(caller, parent)
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.give_back(inode.0, count);
    }

    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes> {
        self.attributes_of(caller, &*self.node(inode)?)
    }

    fn change(&self, caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        let node = self.node(inode)?;
        let upper = self.copy_up(&node)?;
        self.upper.change(caller, upper, changes)?;
        self.attributes_of(caller, &node)
    }

    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        let node = self.node(inode)?;
        let (engine, inode) = self.top(&node)?;
        engine.read_link(caller, inode)
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        self.make_name(caller, parent, name, new, mode)
    }

    fn create(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        mode: u32,
        how: Use,
    ) -> Result<(Entry, Handle)> {
        self.create_file(caller, parent, name, mode, how)
    }

    fn link(&self, caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.link_name(caller, inode, parent, name)
    }

    fn remove(&self, caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.remove_name(caller, parent, name, judged)
    }

    fn rename(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.perform(caller, rename)
    }

    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        self.open_file(caller, inode, how)
    }

    fn open_directory(&self, _caller: &Caller, inode: Inode) -> Result<Handle> {
        let node = self.directory(inode)?;
        self.handles.take(1)?;
        Ok(self.put_open(Open::directory(node)))
    }

    fn release(&self, handle: Handle) {
        self.close(handle);
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        self.with(handle, |engine, handle| engine.read(handle, offset, into))
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        self.with(handle, |engine, handle| engine.write(handle, at, bytes))
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        self.with(handle, |engine, handle| engine.allocate(handle, how, offset, length))
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        self.with(handle, |engine, handle| engine.seek(handle, what, offset))
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        of_directory(self.with(handle, |engine, handle| engine.flush(handle)))
    }

    fn flushes(&self) -> bool {
        self.upper.flushes()
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        of_directory(self.with(handle, |engine, handle| engine.sync(handle)))
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        self.list(handle, after, sink)
    }

    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        notes::refuse(name)?;
        let node = self.node(inode)?;
        let (engine, inode) = self.top(&node)?;
        engine.xattr(caller, inode, name)
    }

    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        let node = self.node(inode)?;
        let (engine, inode) = self.top(&node)?;
        let mut names = engine.xattrs(caller, inode)?;
        names.retain(|name| notes::refuse(name).is_ok());
        Ok(names)
    }

    fn set_xattr(
        &self,
        caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        notes::refuse(name)?;
        let upper = self.copy_up(&self.node(inode)?)?;
        self.upper.set_xattr(caller, upper, name, value, how)
    }

    fn remove_xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        notes::refuse(name)?;
        let upper = self.copy_up(&self.node(inode)?)?;
        self.upper.remove_xattr(caller, upper, name)
    }

    fn space(&self, _inode: Inode) -> Result<Space> {
        self.upper.space(self.upper.root())
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        Ok((&self.locks, inode.0))
    }
}

/// Of a directory nothing is put off, so there is nothing to wait for.
fn of_directory(done: Result<()>) -> Result<()> {
    match done {
        Err(error) if error.errno == Errno::ISDIR => Ok(()),
        done => done,
    }
}

/// A directory of our own in the upper layer, which belongs to us where nobody else is named.
fn own_directory(
    upper: &dyn Engine,
    top: Inode,
    name: &[u8],
    mode: u32,
    owner: Option<(u32, u32)>,
) -> Result<Inode> {
    let (root, name) = (Caller::root(), Name::new(name)?);
    let made = match upper.make(&root, top, name, New::Directory, mode) {
        Err(error) if error.errno == Errno::EXIST => {
            return Ok(upper.lookup(&root, top, name)?.inode);
        }
        made => made?.inode,
    };
    let Some((uid, gid)) = owner else { return Ok(made) };
    let owner = Changes { uid: Some(uid), gid: Some(gid), ..Changes::default() };
    match upper.change(&root, made, &owner) {
        // Whoever serves as a user has no files of others, and a store may know no owners.
        Err(error) if !matches!(error.errno, Errno::PERM | Errno::OPNOTSUPP) => Err(error),
        _ => Ok(made),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bits by which numbers that programs see differ between layers.
const LAYER_BITS: u32 = 8;

/// The number that programs see of a file of a layer, the upper one being none: those of two layers may be the same.
fn shown_number(number: u64, layer: Option<usize>) -> u64 {
    number << LAYER_BITS | layer.map_or(0, |layer| layer as u64 + 1)
}

/// The mark of a directory that hides what lies below it. No name is empty, so it is no name's.
const OPAQUE: &[u8] = b"";
