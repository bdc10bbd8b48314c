//! A directory of the host. A6, A12
//!
//! Every file is reached from the directory's own descriptor by one name at a time, with `openat2`: never through a
//! link, never out of what it is beneath, whatever is exchanged meanwhile. What a guest holds is a descriptor that names
//! the file and nothing else (`O_PATH`); what is done, is done to that one. `..` is what the guest came from and is never
//! asked of the host, so that a directory that was moved away leads nowhere new.
//!
//! The kernel judges with the rights of this process, beside what [`crate::rules`] says. A file of the host is opened for
//! reading or writing only if it is a regular one: no device, pipe or socket is ever opened.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{AtFlags, FallocateFlags, FileType, Gid, OFlags, RenameFlags, SeekFrom, Uid};
use rustix::io::Errno;

use crate::attributes::{Attributes, Changes, Kind, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename, Replace, Seek,
    SetXattr, Use, WriteAt, Written,
};
use crate::error::{Error, Result};
use crate::limits::Counter;
use crate::locks::LockTable;
use crate::name::Name;
use crate::table::Table;

mod calls;
mod held;
mod listing;
mod making;
mod marks;
mod whiteouts;

use calls::Reach;
pub use calls::descriptors_are_in;
use held::{Known, Lists};
use listing::Ahead;
use marks::{Marked, Marking};

/// What a guest may do with a directory of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostMode {
    /// Nothing is changed: `EROFS`. A7
    ReadOnly,
    /// It is changed; what is made belongs to this process.
    Writable,
    /// It is changed; what is made belongs to the caller. Only root can give files away.
    WritableAsCaller,
    /// It is changed, and what is made belongs to this process and stays so: nothing is given away, not even what is copied
    /// from somebody else. For whoever shows all files as one user's.
    WritableAsOne,
}

/// A directory of the host, and what is below it.
#[derive(Debug)]
pub struct Host {
    nodes: Table<Node>,
    known: Known,
    open: Table<Open>,
    root: Arc<Node>,
    reach: Reach,
    mode: HostMode,
    inodes: Counter,
    handles: Counter,
    locks: LockTable,
    marks: Option<Marking>,
    lists: Lists,
}

/// A file that somebody holds.
#[derive(Debug)]
struct Node {
    number: u64,
    identity: (u64, u64),
    descriptor: OwnedFd,
    kind: Kind,
    /// The number of the directory that it was last found in, if it is a directory; that one is held.
    parent: AtomicU64,
    held: AtomicU64,
    /// An overlay's facts about it, if it is a directory.
    marks: Marked,
    /// Whether it has an access control list, where that is asked once.
    has_list: OnceLock<bool>,
}

#[derive(Debug)]
struct Open {
    node: Arc<Node>,
    descriptor: OwnedFd,
    how: Use,
    /// Of a directory: what was read of it and not listed yet. Several threads at once would disturb each other.
    listing: Mutex<Ahead>,
}

impl Host {
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

    fn writable(&self) -> Result<()> {
        match self.mode {
            HostMode::ReadOnly => Err(Errno::ROFS.into()),
            HostMode::Writable | HostMode::WritableAsCaller | HostMode::WritableAsOne => Ok(()),
        }
    }
}

impl Engine for Host {
    fn abilities(&self) -> Abilities {
        Abilities {
            xattrs: true,
            hard_links: true,
            locks: true,
            persistent: true,
            read_only: self.mode == HostMode::ReadOnly,
        }
    }

    fn root(&self) -> Inode {
        Inode(self.root.number)
    }

    fn lookup(&self, _caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        Ok(self.find(&self.directory(parent)?, name)?.1)
    }

    fn lookup_parent(&self, _caller: &Caller, directory: Inode) -> Result<Entry> {
        let node = self.directory(directory)?;
        let parent = self.node(Inode(node.parent.load(Ordering::SeqCst)))?;
        parent.held.fetch_add(1, Ordering::SeqCst);
        let attributes =
            self.attributes_of(&parent).inspect_err(|_| self.forget(Inode(parent.number), 1))?;
        Ok(Entry { inode: Inode(parent.number), generation: 1, attributes })
    }

    fn forget(&self, inode: Inode, count: u64) {
        let (mut inode, mut count) = (inode, count);
        // A directory holds the one that it was found in.
        loop {
            let Some(node) = self.nodes.get(inode.0) else { return };
            let mut known = self.known.of(node.identity);
            if node.held.fetch_sub(count, Ordering::SeqCst) != count {
                return;
            }
            known.remove(&node.identity);
            self.nodes.take(node.number);
            drop(known);
            self.inodes.give(1);
            let parent = node.parent.load(Ordering::SeqCst);
            if node.kind != Kind::Directory || parent == node.number {
                return;
            }
            (inode, count) = (Inode(parent), 1);
        }
    }

    fn attributes(&self, _caller: &Caller, inode: Inode) -> Result<Attributes> {
        self.attributes_of(&*self.node(inode)?)
    }

    fn change(&self, _caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        self.writable()?;
        let node = self.node(inode)?;
        if let Some(size) = changes.size {
            if node.kind != Kind::File {
                return Err(Errno::INVAL.into());
            }
            let file = calls::open_again(&node.descriptor, OFlags::WRONLY)?;
            rustix::fs::ftruncate(file, size)?;
        }
        let gives = changes.uid.is_some() || changes.gid.is_some();
        if gives && self.mode != HostMode::WritableAsOne {
            let (uid, gid) = (changes.uid.map(Uid::from_raw), changes.gid.map(Gid::from_raw));
            calls::chown(&node.descriptor, uid, gid)?;
        }
        if let Some(mode) = changes.mode {
            if node.kind == Kind::Link {
                return Err(Errno::OPNOTSUPP.into());
            }
            calls::chmod(&node.descriptor, mode)?;
        }
        if changes.accessed.is_some() || changes.modified.is_some() {
            calls::set_times(&node.descriptor, changes.accessed, changes.modified)?;
        }
        self.attributes_of(&node)
    }

    fn read_link(&self, _caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        let node = self.node(inode)?;
        if node.kind != Kind::Link {
            return Err(Errno::INVAL.into());
        }
        Ok(rustix::fs::readlinkat(&node.descriptor, "", Vec::new())?.into_bytes())
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        self.writable()?;
        let directory = self.directory(parent)?;
        let (at, path) = (&directory.descriptor, name.as_bytes());
        let first = self.first_mode(caller, mode);
        match new {
            New::File => rustix::fs::mknodat(at, path, FileType::RegularFile, first, 0),
            New::Directory => rustix::fs::mkdirat(at, path, first),
            New::Fifo => rustix::fs::mknodat(at, path, FileType::Fifo, first, 0),
            New::Socket => rustix::fs::mknodat(at, path, FileType::Socket, first, 0),
            New::Link(target) => rustix::fs::symlinkat(target, at, path),
        }?;
        let (node, entry) = self.find(&directory, name)?;
        if node.kind != new.kind() {
            // Somebody has put another thing there; it is not ours to change.
            self.forget(entry.inode, 1);
            return Err(Errno::STALE.into());
        }
        self.settle(caller, &directory, entry, new, mode).inspect_err(|_| {
            // What could not be made in full is not there at all.
            let _removed = self.remove(caller, parent, name, entry.inode);
            self.forget(entry.inode, 1);
        })
    }

    fn create(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        mode: u32,
        how: Use,
    ) -> Result<(Entry, Handle)> {
        self.writable()?;
        self.make_open(caller, &self.directory(parent)?, name, mode, how)
    }

    fn link(&self, _caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.writable()?;
        let (node, directory) = (self.node(inode)?, self.directory(parent)?);
        if node.kind == Kind::Directory {
            return Err(Errno::PERM.into());
        }
        calls::link(&node.descriptor, directory.descriptor.as_fd(), name.as_bytes())?;
        Ok(self.find(&directory, name)?.1)
    }

    fn remove(&self, _caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.writable()?;
        let directory = self.directory(parent)?;
        let node = self.check(&directory, name, judged)?;
        let flags =
            if node.kind == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&directory.descriptor, name.as_bytes(), flags)?;
        self.lose_marks(&node);
        Ok(())
    }

    fn rename(&self, _caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.writable()?;
        let (from, to) = (self.directory(rename.from)?, self.directory(rename.to)?);
        let moved = self.check(&from, rename.name, rename.moved)?;
        let other =
            rename.replaced.map(|inode| self.check(&to, rename.new_name, inode)).transpose()?;
        let flags = match (rename.replace, &other) {
            (Replace::Exchange, _) => RenameFlags::EXCHANGE,
            // Nothing was judged that would be replaced.
            (Replace::No, _) | (Replace::Yes, None) => RenameFlags::NOREPLACE,
            (Replace::Yes, Some(_)) => RenameFlags::empty(),
        };
        let (old, new) = (rename.name.as_bytes(), rename.new_name.as_bytes());
        let done = rustix::fs::renameat_with(&from.descriptor, old, &to.descriptor, new, flags);
        match done {
            Err(Errno::EXIST) if rename.replace == Replace::Yes => return Err(Errno::STALE.into()),
            done => done?,
        }
        if let Some(other) = other.as_ref().filter(|_| rename.replace == Replace::Yes) {
            self.lose_marks(other);
        }
        if moved.kind == Kind::Directory {
            self.adopt(&moved, &to);
        }
        if let Some(other) = other.filter(|other| other.kind == Kind::Directory)
            && rename.replace == Replace::Exchange
        {
            self.adopt(&other, &from);
        }
        Ok(())
    }

    fn open(&self, _caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let node = self.node(inode)?;
        match node.kind {
            Kind::File => {}
            Kind::Directory => return Err(Errno::ISDIR.into()),
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => {
                return Err(Errno::NXIO.into());
            }
        }
        if how.write {
            self.writable()?;
        }
        self.handles.take(1)?;
        let descriptor = calls::open_again(&node.descriptor, calls::access(how));
        let descriptor = descriptor.inspect_err(|_| self.handles.give(1))?;
        Ok(self.put_open(node, descriptor, how))
    }

    fn open_directory(&self, _caller: &Caller, inode: Inode) -> Result<Handle> {
        let node = self.directory(inode)?;
        self.handles.take(1)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let descriptor = self.reach.open(node.descriptor.as_fd(), b".", flags);
        let descriptor = descriptor.inspect_err(|_: &Error| self.handles.give(1))?;
        Ok(self.put_open(node, descriptor, Use { read: true, write: false }))
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
        let mut done = 0;
        while let Some(left) = into.get_mut(done..).filter(|left| !left.is_empty()) {
            match rustix::io::pread(&open.descriptor, left, offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(done)
    }

    fn is_stream(&self, handle: Handle) -> bool {
        // Of what is served from below a directory only regular files of a disk are opened.
        self.reach == Reach::Mounts
            && self.opened(handle).is_ok_and(|open| calls::is_stream(&open.descriptor))
    }

    fn read_stream(
        &self,
        handle: Handle,
        into: &mut [u8],
        _is_unwanted: &dyn Fn() -> bool,
    ) -> Result<usize> {
        let open = self.opened(handle)?;
        if !open.how.read {
            return Err(Errno::BADF.into());
        }
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(&open.descriptor, &mut *into))?)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        match at {
            WriteAt::Offset(offset) => {
                let count = rustix::io::pwrite(&open.descriptor, bytes, offset)?;
                Ok(Written { count, end: offset + count as u64 })
            }
            // The kernel knows where the end is when it writes.
            WriteAt::End => {
                let flags = rustix::io::ReadWriteFlags::APPEND;
                let slices = [std::io::IoSlice::new(bytes)];
                let count = match rustix::io::pwritev2(&open.descriptor, &slices, 0, flags) {
                    // The end of a stream is where it is.
                    Err(Errno::SPIPE) => rustix::io::write(&open.descriptor, bytes)?,
                    written => written?,
                };
                let end = rustix::fs::fstat(&open.descriptor)?.st_size;
                Ok(Written { count, end: u64::try_from(end).unwrap_or_default() })
            }
        }
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        let flags = match how {
            Allocate::Extend => FallocateFlags::empty(),
            Allocate::KeepSize => FallocateFlags::KEEP_SIZE,
            Allocate::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        };
        Ok(rustix::fs::fallocate(&open.descriptor, flags, offset, length)?)
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        let open = self.opened(handle)?;
        if open.node.kind != Kind::File {
            return Err(Errno::ISDIR.into());
        }
        let to = match what {
            Seek::Data => SeekFrom::Data(offset),
            Seek::Hole => SeekFrom::Hole(offset),
        };
        Ok(rustix::fs::seek(&open.descriptor, to)?)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.opened(handle).map(drop)
    }

    fn flushes(&self) -> bool {
        false
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        Ok(rustix::fs::fsync(&self.opened(handle)?.descriptor)?)
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.opened(handle)?;
        let mut ahead = open.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_root = open.node.number == self.root.number;
        let mut shown = |listed: &Listed<'_>| {
            // Nothing above the root is known to a guest.
            let is_above = is_root && listed.name == b"..";
            let number = if is_above { self.root.identity.1 } else { listed.number };
            sink(&Listed { number, ..*listed })
        };
        ahead.list(&open.descriptor, after, &mut shown)
    }

    fn xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        calls::xattr(&self.node(inode)?.descriptor, name)
    }

    fn xattrs(&self, _caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        calls::xattrs(&self.node(inode)?.descriptor)
    }

    fn set_xattr(
        &self,
        _caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        self.writable()?;
        calls::set_xattr(&self.node(inode)?.descriptor, name, value, how)
    }

    fn remove_xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        self.writable()?;
        calls::remove_xattr(&self.node(inode)?.descriptor, name)
    }

    fn space(&self, inode: Inode) -> Result<Space> {
        let found = rustix::fs::fstatvfs(&self.node(inode)?.descriptor)?;
        Ok(Space {
            block_bytes: found.f_frsize,
            blocks: found.f_blocks,
            free_blocks: found.f_bavail,
            inodes: found.f_files,
            free_inodes: found.f_favail,
            longest_name: found.f_namemax,
        })
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        Ok((&self.locks, inode.0))
    }

    fn marks(&self) -> Option<&dyn Marks> {
        self.marks.as_ref().map(|_| -> &dyn Marks { self })
    }
}
