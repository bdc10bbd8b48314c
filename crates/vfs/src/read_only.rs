//! A file system that nobody changes any more: the root that a guest starts from, or what is mounted for reading alone.
//! The refusal is the engine's own, whoever asks. A4, A7

use std::sync::Arc;

use rustix::io::Errno;

use crate::attributes::{Attributes, Changes, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename, Seek, SetXattr,
    Use, WriteAt, Written,
};
use crate::error::Result;
use crate::locks::LockTable;
use crate::name::Name;

/// Another engine, for reading alone.
#[derive(Clone, Debug)]
pub struct ReadOnly(Arc<dyn Engine>);

impl ReadOnly {
    /// What is there stays as it is, as long as nobody has the engine itself.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl Engine for ReadOnly {
    fn abilities(&self) -> Abilities {
        Abilities { read_only: true, ..self.0.abilities() }
    }

    fn root(&self) -> Inode {
        self.0.root()
    }

    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.0.lookup(caller, parent, name)
    }

    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry> {
        self.0.lookup_parent(caller, directory)
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.0.forget(inode, count);
    }

    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes> {
        self.0.attributes(caller, inode)
    }

    fn change(&self, _: &Caller, _: Inode, _: &Changes) -> Result<Attributes> {
        Err(Errno::ROFS.into())
    }

    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        self.0.read_link(caller, inode)
    }

    fn make(&self, _: &Caller, _: Inode, _: Name<'_>, _: New<'_>, _: u32) -> Result<Entry> {
        Err(Errno::ROFS.into())
    }

    fn link(&self, _: &Caller, _: Inode, _: Inode, _: Name<'_>) -> Result<Entry> {
        Err(Errno::ROFS.into())
    }

    fn remove(&self, _: &Caller, _: Inode, _: Name<'_>, _: Inode) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn rename(&self, _: &Caller, _: &Rename<'_>) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        if how.write { Err(Errno::ROFS.into()) } else { self.0.open(caller, inode, how) }
    }

    fn open_directory(&self, caller: &Caller, inode: Inode) -> Result<Handle> {
        self.0.open_directory(caller, inode)
    }

    fn release(&self, handle: Handle) {
        self.0.release(handle);
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        self.0.read(handle, offset, into)
    }

    fn is_stream(&self, handle: Handle) -> bool {
        self.0.is_stream(handle)
    }

    fn read_stream(
        &self,
        handle: Handle,
        into: &mut [u8],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<usize> {
        self.0.read_stream(handle, into, is_unwanted)
    }

    fn write(&self, _: Handle, _: WriteAt, _: &[u8]) -> Result<Written> {
        Err(Errno::ROFS.into())
    }

    fn allocate(&self, _: Handle, _: Allocate, _: u64, _: u64) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        self.0.seek(handle, what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.0.flush(handle)
    }

    fn flushes(&self) -> bool {
        self.0.flushes()
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.0.sync(handle)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        self.0.read_directory(handle, after, sink)
    }

    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        self.0.xattr(caller, inode, name)
    }

    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        self.0.xattrs(caller, inode)
    }

    fn set_xattr(&self, _: &Caller, _: Inode, _: &[u8], _: &[u8], _: SetXattr) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn remove_xattr(&self, _: &Caller, _: Inode, _: &[u8]) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn space(&self, inode: Inode) -> Result<Space> {
        self.0.space(inode)
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        self.0.locks(inode)
    }

    fn is_busy(&self, inode: Inode) -> bool {
        self.0.is_busy(inode)
    }

    fn are_together(&self, one: Inode, other: Inode) -> bool {
        self.0.are_together(one, other)
    }

    fn marks(&self) -> Option<&dyn Marks> {
        self.0.marks().map(|_| self as &dyn Marks)
    }
}

impl ReadOnly {
    fn below(&self) -> Result<&dyn Marks> {
        self.0.marks().ok_or(Errno::OPNOTSUPP.into())
    }
}

impl Marks for ReadOnly {
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool> {
        self.below()?.has(directory, mark)
    }

    fn set(&self, _: Inode, _: &[u8]) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn clear(&self, _: Inode, _: &[u8]) -> Result<()> {
        Err(Errno::ROFS.into())
    }

    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        self.below()?.all(directory)
    }

    fn any(&self, directory: Inode) -> Result<bool> {
        self.below()?.any(directory)
    }
}
