//! The upper layer of a view that the kernel made (overlayfs, mounted with `userxattr`), as the upper layer of an
//! [`crate::Overlay`]: for whoever looks into the view while it is not mounted, or changes it.
//!
//! The kernel notes in the tree itself that a name is removed (a character device with the number 0) and that a directory
//! hides what lies below it (an attribute). Here both are [`Marks`], and nobody sees them as files or attributes. A name is
//! never both there and marked: a mark on a name that is still there waits until that is gone.
//!
//! What is made is made whole in a directory beside the layer and then put in place. Never used by two at once: whoever
//! has the layer's directory sees to that. Nothing is copied from here to a view that is mounted.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::{Host, HostMode};
use crate::attributes::{Attributes, Changes, Kind, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename, Seek, SetXattr,
    Use, WriteAt, Written,
};
use crate::error::Result;
use crate::limits::Limits;
use crate::locks::LockTable;
use crate::name::Name;

mod whiteouts;

/// A layer of the kernel's.
#[derive(Debug)]
pub struct Layer {
    /// The directory that has the layer, and beside it that in which things are made.
    host: Host,
    /// Where things are made; none where nothing is.
    staging: Option<Inode>,
    next: AtomicU64,
    /// Names that are hidden as soon as what has them is gone.
    waiting: Mutex<HashSet<(Inode, Box<[u8]>)>>,
    /// Open handles of the root, in which an overlay finds nothing but what it asks for.
    of_root: Mutex<HashSet<Handle>>,
}

impl Layer {
    /// The layer `upper` of a directory. What is written is made in its directory `staging` first, which is made where it
    /// is missing.
    pub fn new(directory: OwnedFd, mode: HostMode, limits: &Limits) -> Result<Self> {
        let host = Host::new(directory, mode, limits)?;
        let root = Caller::root();
        let top = host.root();
        let upper = host.lookup(&root, top, Name::new(UPPER)?)?;
        if upper.attributes.kind != Kind::Directory {
            return Err(Errno::NOTDIR.into());
        }
        host.forget(upper.inode, 1);
        let staging = match mode {
            HostMode::ReadOnly => None,
            HostMode::Writable | HostMode::WritableAsCaller => {
                let name = Name::new(STAGING)?;
                match rustix::fs::mkdirat(&host.root.descriptor, STAGING, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                Some(host.lookup(&root, top, name)?.inode)
            }
        };
        let (waiting, of_root) = (Mutex::default(), Mutex::default());
        Ok(Self { host, staging, next: AtomicU64::new(1), waiting, of_root })
    }

    fn is_root(&self, inode: Inode) -> bool {
        inode == self.host.root()
    }

    /// One of the two directories that an overlay keeps in an upper layer.
    fn own(&self, caller: &Caller, name: Name<'_>) -> Result<Entry> {
        let top = self.host.root();
        match (name.as_bytes(), self.staging) {
            (b"files", _) => self.host.lookup(caller, top, Name::new(UPPER)?),
            (b"staging", Some(_)) => self.host.lookup(caller, top, Name::new(STAGING)?),
            // Nothing is made: any directory without names will do.
            (b"staging", None) => self.host.lookup_parent(caller, top),
            _ => Err(Errno::NOENT.into()),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<(Inode, Box<[u8]>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_root(&self) -> MutexGuard<'_, HashSet<Handle>> {
        self.of_root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_name(&self) -> String {
        format!("new-{}", self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The name of an attribute that is the kernel's own note, of which nobody knows.
    fn is_note(name: &[u8]) -> bool {
        name.starts_with(NOTES)
    }
}

impl Engine for Layer {
    fn abilities(&self) -> Abilities {
        self.host.abilities()
    }

    fn root(&self) -> Inode {
        self.host.root()
    }

    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        if self.is_root(parent) {
            return self.own(caller, name);
        }
        let entry = self.host.lookup(caller, parent, name)?;
        if whiteouts::is_one(&entry.attributes) {
            self.host.forget(entry.inode, 1);
            return Err(Errno::NOENT.into());
        }
        Ok(entry)
    }

    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry> {
        self.host.lookup_parent(caller, directory)
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.host.forget(inode, count);
    }

    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes> {
        self.host.attributes(caller, inode)
    }

    fn change(&self, caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        self.host.change(caller, inode, changes)
    }

    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        self.host.read_link(caller, inode)
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        if self.is_root(parent) {
            // Both are there already.
            return Err(Errno::EXIST.into());
        }
        match self.host.make(caller, parent, name, new, mode) {
            Err(error) if error.errno == Errno::EXIST && self.is_whiteout(parent, name)? => {
                self.make_over(caller, parent, name, new, mode)
            }
            made => made,
        }
    }

    fn link(&self, caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        match self.host.link(caller, inode, parent, name) {
            Err(error) if error.errno == Errno::EXIST && self.is_whiteout(parent, name)? => {
                self.link_over(caller, inode, parent, name)
            }
            linked => linked,
        }
    }

    fn remove(&self, caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.host.writable()?;
        let node = self.host.node(judged)?;
        if node.kind == Kind::Directory {
            self.empty(&node)?;
        }
        let is_hidden = self.waiting().contains(&(parent, name.as_bytes().into()));
        if is_hidden {
            let directory = self.host.directory(parent)?;
            self.host.check(&directory, name, judged)?;
            self.put_whiteout(&directory, name, Some(node.kind))?;
            self.waiting().remove(&(parent, name.as_bytes().into()));
            return Ok(());
        }
        self.host.remove(caller, parent, name, judged)
    }

    fn rename(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.host.writable()?;
        let hides = (rename.from, Box::from(rename.name.as_bytes()));
        if rename.replaced.is_none() && self.is_whiteout(rename.to, rename.new_name)? {
            self.move_over(rename)?;
        } else {
            self.host.rename(caller, rename)?;
        }
        if self.waiting().contains(&hides) {
            // The old name shows what lies below it until here, which is more than there should be and nothing lost.
            let from = self.host.directory(rename.from)?;
            self.put_whiteout(&from, rename.name, None)?;
            self.waiting().remove(&hides);
        }
        Ok(())
    }

    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        self.host.open(caller, inode, how)
    }

    fn open_directory(&self, caller: &Caller, inode: Inode) -> Result<Handle> {
        let handle = self.host.open_directory(caller, inode)?;
        if self.is_root(inode) {
            self.of_root().insert(handle);
        }
        Ok(handle)
    }

    fn release(&self, handle: Handle) {
        self.of_root().remove(&handle);
        self.host.release(handle);
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        self.host.read(handle, offset, into)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        self.host.write(handle, at, bytes)
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        self.host.allocate(handle, how, offset, length)
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        self.host.seek(handle, what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.host.flush(handle)
    }

    fn flushes(&self) -> bool {
        self.host.flushes()
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.host.sync(handle)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        if self.of_root().contains(&handle) {
            return Ok(());
        }
        // Programs cannot make devices: every one in a layer is a note.
        let mut without_notes =
            |listed: &Listed<'_>| listed.kind == Kind::CharacterDevice || sink(listed);
        self.host.read_directory(handle, after, &mut without_notes)
    }

    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        if Self::is_note(name) {
            return Err(Errno::NODATA.into());
        }
        self.host.xattr(caller, inode, name)
    }

    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        let mut names = self.host.xattrs(caller, inode)?;
        names.retain(|name| !Self::is_note(name));
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
        if Self::is_note(name) {
            // A file below may have one, from a view of somebody else's. The kernel leaves it out when it copies, too.
            return Ok(());
        }
        self.host.set_xattr(caller, inode, name, value, how)
    }

    fn remove_xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        if Self::is_note(name) {
            return Err(Errno::NODATA.into());
        }
        self.host.remove_xattr(caller, inode, name)
    }

    fn space(&self, inode: Inode) -> Result<Space> {
        self.host.space(inode)
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        self.host.locks(inode)
    }

    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }
}

impl Marks for Layer {
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool> {
        if mark.is_empty() {
            return self.is_opaque(directory);
        }
        let is_waiting = self.waiting().contains(&(directory, mark.into()));
        Ok(is_waiting || self.is_whiteout(directory, Name::new(mark)?)?)
    }

    fn set(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        self.host.writable()?;
        if mark.is_empty() {
            let root = Caller::root();
            return self.host.set_xattr(&root, directory, OPAQUE, IS_OPAQUE, SetXattr::Any);
        }
        let (node, name) = (self.host.directory(directory)?, Name::new(mark)?);
        match rustix::fs::statat(&node.descriptor, mark, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => self.put_whiteout(&node, name, None),
            Err(errno) => Err(errno.into()),
            Ok(_) if self.is_whiteout(directory, name)? => Ok(()),
            Ok(_) => {
                self.waiting().insert((directory, mark.into()));
                Ok(())
            }
        }
    }

    fn clear(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        self.host.writable()?;
        if mark.is_empty() {
            return match self.host.remove_xattr(&Caller::root(), directory, OPAQUE) {
                Err(error) if error.errno == Errno::NODATA => Ok(()),
                removed => removed,
            };
        }
        self.waiting().remove(&(directory, mark.into()));
        if self.is_whiteout(directory, Name::new(mark)?)? {
            let node = self.host.directory(directory)?;
            rustix::fs::unlinkat(&node.descriptor, mark, AtFlags::empty())?;
        }
        Ok(())
    }

    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        let mut all = whiteouts::listed(&*self.host.directory(directory)?)?.whiteouts;
        let waiting = self.waiting();
        let here = waiting.iter().filter(|(at, _)| *at == directory);
        all.extend(here.map(|(_, name)| name.to_vec()));
        if self.is_opaque(directory)? {
            all.push(Vec::new());
        }
        Ok(all)
    }

    fn any(&self, directory: Inode) -> Result<bool> {
        Ok(!self.all(directory)?.is_empty())
    }
}

const UPPER: &[u8] = b"upper";
const STAGING: &[u8] = b"staging";
const NOTES: &[u8] = b"user.overlay.";
const OPAQUE: &[u8] = b"user.overlay.opaque";
const IS_OPAQUE: &[u8] = b"y";
