//! Engines in one tree: each owns what is below the directory that it is mounted on. A3, A8
//!
//! The bits of an inode above the engine's own say which mount it is in, so that nothing is looked up to find the engine
//! of an open file. Mounts are few and made by the trusted side; which directories have one is asked only in mounts that
//! have others in them. As in the kernel, a mount is on a directory that exists, and follows when that is renamed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use rustix::io::Errno;

use crate::attributes::{Attributes, Changes, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, ENGINE_BITS, Engine, Entry, Handle, Inode, Listed, New, Rename, Seek,
    SetXattr, Use, WriteAt, Written,
};
use crate::error::Result;
use crate::filesystem::{At, FileSystem, OpenFlags};
use crate::limits::Limits;
use crate::locks::LockTable;
use crate::name::Name;
use crate::table::{read, write};

/// Several engines as one tree.
#[derive(Debug)]
pub struct Mounts {
    /// Numbers are not given out twice, so that what is left of an old mount never leads into a new one.
    mounts: Box<[OnceLock<Mount>]>,
    /// Which mount a directory has on it, by the directory.
    points: RwLock<HashMap<Inode, u64>>,
    next: Mutex<u64>,
}

#[derive(Debug)]
struct Mount {
    engine: Arc<dyn Engine>,
    /// The directory that it is on; none for the root's. Held.
    on: Option<Inode>,
    /// How many mounts are on directories of this one.
    within: AtomicU64,
}

/// Whether something may be mounted where programs look for what they trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere but on `/`, `/etc` and `/proc` or below the latter two.
    Ordinary,
    /// There too, but not on `/`, which has its engine.
    Sensitive,
}

impl Mounts {
    /// A tree with this engine at its root.
    pub fn new(root: Arc<dyn Engine>) -> Arc<Self> {
        let mounts: Box<[OnceLock<Mount>]> = (0..MOST_MOUNTS).map(|_| OnceLock::new()).collect();
        if let Some(first) = mounts.first() {
            let _set = first.set(Mount { engine: root, on: None, within: AtomicU64::new(0) });
        }
        Arc::new(Self { mounts, points: RwLock::default(), next: Mutex::new(1) })
    }

    /// Mounts an engine on a directory, which must exist. `EPERM` without the permission for a sensitive place, `EBUSY`
    /// where something is mounted already.
    pub fn mount(
        self: &Arc<Self>,
        path: &[u8],
        engine: Arc<dyn Engine>,
        placement: Placement,
    ) -> Result<()> {
        let (files, root) = (self.files(), Caller::root());
        let flags = OpenFlags { directory: true, path: true, ..OpenFlags::READ };
        let directory = files.open(&root, At::Root, path, flags, 0)?;
        let on = directory.inode();
        let sensitive = |name: &[u8]| self.is_below(&files, on, name);
        if placement == Placement::Ordinary
            && (on == self.root() || sensitive(b"/etc")? || sensitive(b"/proc")?)
        {
            return Err(Errno::PERM.into());
        }
        let (within, inner) = split(on);
        if inner == self.mounted(within)?.engine.root() {
            return Err(Errno::BUSY.into());
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next;
        let slot = usize::try_from(number).ok().and_then(|number| self.mounts.get(number));
        let slot = slot.ok_or(Errno::NOSPC)?;
        let mount = Mount { engine, on: Some(on), within: AtomicU64::new(0) };
        slot.set(mount).map_err(|_| Errno::BUSY)?;
        *next += 1;
        // It is held as long as there is the tree: an old inode of this mount still has a `..`.
        directory.keep();
        self.mounted(within)?.within.fetch_add(1, Ordering::SeqCst);
        write(&self.points).insert(on, number);
        Ok(())
    }

    /// Takes a mount away. What is open in it stays usable. `EBUSY` where others are mounted in it, `EINVAL` where nothing
    /// is mounted.
    pub fn unmount(self: &Arc<Self>, path: &[u8]) -> Result<()> {
        let flags = OpenFlags { directory: true, path: true, ..OpenFlags::READ };
        let directory = self.files().open(&Caller::root(), At::Root, path, flags, 0)?;
        let (number, inner) = split(directory.inode());
        let mount = self.mounted(number)?;
        let on = mount.on.filter(|_| inner == mount.engine.root()).ok_or(Errno::INVAL)?;
        let mut points = write(&self.points);
        if mount.within.load(Ordering::SeqCst) > 0 {
            return Err(Errno::BUSY.into());
        }
        points.remove(&on);
        self.mounted(split(on).0)?.within.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn files(self: &Arc<Self>) -> FileSystem {
        let engine: Arc<dyn Engine> = Arc::<Self>::clone(self);
        FileSystem::new(engine, &Limits::default())
    }

    /// Whether a directory is what a path leads to, or below it.
    fn is_below(&self, files: &FileSystem, directory: Inode, path: &[u8]) -> Result<bool> {
        let root = Caller::root();
        let flags = OpenFlags { directory: true, path: true, ..OpenFlags::READ };
        let above = match files.open(&root, At::Root, path, flags, 0) {
            Ok(above) => above.inode(),
            Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(error) => return Err(error),
        };
        files.is_within(&root, directory, above)
    }

    fn mounted(&self, number: u64) -> Result<&Mount> {
        let slot = usize::try_from(number).ok().and_then(|number| self.mounts.get(number));
        slot.and_then(OnceLock::get).ok_or(Errno::STALE.into())
    }

    fn at(&self, inode: Inode) -> Result<(&dyn Engine, Inode, u64)> {
        let (number, inner) = split(inode);
        Ok((&*self.mounted(number)?.engine, inner, number))
    }

    fn handle(&self, handle: Handle) -> Result<(&dyn Engine, Handle)> {
        let (number, inner) = split(Inode(handle.0));
        Ok((&*self.mounted(number)?.engine, Handle(inner.0)))
    }

    /// What an engine found, or the root of what is mounted on it.
    fn found(&self, caller: &Caller, number: u64, entry: Entry) -> Result<Entry> {
        let tagged = tag(number, entry.inode);
        let mount = self.mounted(number)?;
        if mount.within.load(Ordering::SeqCst) > 0
            && let Some(upon) = read(&self.points).get(&tagged).copied()
        {
            mount.engine.forget(entry.inode, 1);
            let engine = &self.mounted(upon)?.engine;
            // A root is its own parent.
            let root = engine.lookup_parent(caller, engine.root())?;
            return self.found(caller, upon, root);
        }
        Ok(Entry { inode: tagged, ..entry })
    }
}

impl Engine for Mounts {
    fn abilities(&self) -> Abilities {
        let nothing = Abilities {
            xattrs: false,
            hard_links: false,
            locks: false,
            persistent: false,
            read_only: true,
        };
        self.mounts.iter().filter_map(OnceLock::get).fold(nothing, |all, mount| {
            let one = mount.engine.abilities();
            Abilities {
                xattrs: all.xattrs || one.xattrs,
                hard_links: all.hard_links || one.hard_links,
                locks: all.locks || one.locks,
                persistent: all.persistent || one.persistent,
                read_only: all.read_only && one.read_only,
            }
        })
    }

    fn root(&self) -> Inode {
        self.mounted(0).map_or(Inode(0), |mount| mount.engine.root())
    }

    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let (engine, inner, number) = self.at(parent)?;
        let entry = engine.lookup(caller, inner, name)?;
        self.found(caller, number, entry)
    }

    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry> {
        let (engine, inner, number) = self.at(directory)?;
        let mount = self.mounted(number)?;
        if inner == engine.root()
            && let Some(on) = mount.on
        {
            return self.lookup_parent(caller, on);
        }
        let entry = engine.lookup_parent(caller, inner)?;
        Ok(Entry { inode: tag(number, entry.inode), ..entry })
    }

    fn forget(&self, inode: Inode, count: u64) {
        if let Ok((engine, inner, _)) = self.at(inode) {
            engine.forget(inner, count);
        }
    }

    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes> {
        let (engine, inner, _) = self.at(inode)?;
        engine.attributes(caller, inner)
    }

    fn change(&self, caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        let (engine, inner, _) = self.at(inode)?;
        engine.change(caller, inner, changes)
    }

    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        let (engine, inner, _) = self.at(inode)?;
        engine.read_link(caller, inner)
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let (engine, inner, number) = self.at(parent)?;
        let entry = engine.make(caller, inner, name, new, mode)?;
        Ok(Entry { inode: tag(number, entry.inode), ..entry })
    }

    fn link(&self, caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        if !self.are_together(inode, parent) {
            return Err(Errno::XDEV.into());
        }
        let (engine, inner, number) = self.at(parent)?;
        let entry = engine.link(caller, split(inode).1, inner, name)?;
        Ok(Entry { inode: tag(number, entry.inode), ..entry })
    }

    fn remove(&self, caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        if self.is_busy(judged) {
            return Err(Errno::BUSY.into());
        }
        if !self.are_together(parent, judged) {
            return Err(Errno::STALE.into());
        }
        let (engine, inner, _) = self.at(parent)?;
        engine.remove(caller, inner, name, split(judged).1)
    }

    fn rename(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        if self.is_busy(rename.moved) || rename.replaced.is_some_and(|inode| self.is_busy(inode)) {
            return Err(Errno::BUSY.into());
        }
        if !self.are_together(rename.from, rename.to) {
            return Err(Errno::XDEV.into());
        }
        let (engine, from, _) = self.at(rename.from)?;
        let inner = Rename {
            from,
            moved: split(rename.moved).1,
            to: split(rename.to).1,
            replaced: rename.replaced.map(|inode| split(inode).1),
            ..*rename
        };
        engine.rename(caller, &inner)
    }

    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let (engine, inner, number) = self.at(inode)?;
        Ok(Handle(tag(number, Inode(engine.open(caller, inner, how)?.0)).0))
    }

    fn open_directory(&self, caller: &Caller, inode: Inode) -> Result<Handle> {
        let (engine, inner, number) = self.at(inode)?;
        Ok(Handle(tag(number, Inode(engine.open_directory(caller, inner)?.0)).0))
    }

    fn release(&self, handle: Handle) {
        if let Ok((engine, inner)) = self.handle(handle) {
            engine.release(inner);
        }
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        let (engine, handle) = self.handle(handle)?;
        engine.read(handle, offset, into)
    }

    fn is_stream(&self, handle: Handle) -> bool {
        self.handle(handle).is_ok_and(|(engine, handle)| engine.is_stream(handle))
    }

    fn read_stream(
        &self,
        handle: Handle,
        into: &mut [u8],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<usize> {
        let (engine, handle) = self.handle(handle)?;
        engine.read_stream(handle, into, is_unwanted)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let (engine, handle) = self.handle(handle)?;
        engine.write(handle, at, bytes)
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let (engine, handle) = self.handle(handle)?;
        engine.allocate(handle, how, offset, length)
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        let (engine, handle) = self.handle(handle)?;
        engine.seek(handle, what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        let (engine, handle) = self.handle(handle)?;
        engine.flush(handle)
    }

    fn flushes(&self) -> bool {
        self.mounts.iter().filter_map(OnceLock::get).any(|mount| mount.engine.flushes())
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        let (engine, handle) = self.handle(handle)?;
        engine.sync(handle)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let (engine, handle) = self.handle(handle)?;
        engine.read_directory(handle, after, sink)
    }

    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        let (engine, inner, _) = self.at(inode)?;
        engine.xattr(caller, inner, name)
    }

    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        let (engine, inner, _) = self.at(inode)?;
        engine.xattrs(caller, inner)
    }

    fn set_xattr(
        &self,
        caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        let (engine, inner, _) = self.at(inode)?;
        engine.set_xattr(caller, inner, name, value, how)
    }

    fn remove_xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        let (engine, inner, _) = self.at(inode)?;
        engine.remove_xattr(caller, inner, name)
    }

    fn space(&self, inode: Inode) -> Result<Space> {
        let (engine, inner, _) = self.at(inode)?;
        engine.space(inner)
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        let (engine, inner, _) = self.at(inode)?;
        engine.locks(inner)
    }

    fn is_busy(&self, inode: Inode) -> bool {
        let (number, inner) = split(inode);
        let is_root = |mount: &Mount| mount.on.is_some() && mount.engine.root() == inner;
        let is_mounted_on = || {
            let has_others = |mount: &Mount| mount.within.load(Ordering::SeqCst) > 0;
            self.mounted(number).is_ok_and(has_others) && read(&self.points).contains_key(&inode)
        };
        self.mounted(number).is_ok_and(is_root) || is_mounted_on()
    }

    fn are_together(&self, one: Inode, other: Inode) -> bool {
        let ((first, inner), (second, outer)) = (split(one), split(other));
        let engine = |number| self.mounted(number).map(|mount| &mount.engine);
        first == second && engine(first).is_ok_and(|engine| engine.are_together(inner, outer))
    }
}

/// Which mount an inode is in, and which it is there.
const fn split(inode: Inode) -> (u64, Inode) {
    (inode.0 >> ENGINE_BITS, Inode(inode.0 & ((1 << ENGINE_BITS) - 1)))
}

const fn tag(mount: u64, inode: Inode) -> Inode {
    Inode(mount << ENGINE_BITS | inode.0)
}

/// How many mounts one tree may have had in its life: what fits between an engine's bits and those of
/// [`crate::Scoped`].
const MOST_MOUNTS: usize = 4096;
