//! The engine: a tree of calls as every server of the virtual file system asks for one. Files are made by nobody and
//! removed by nobody; what can be done is to list, to open, to read and to write.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use vfs::{
    Abilities, Allocate, Attributes, Caller, Changes, Engine, Entry, Handle, Inode, Kind, Listed,
    LockTable, Name, New, Rename, Result, Seek, SetXattr, Space, Table, Timestamp, Use, WriteAt,
    Written,
};

use crate::tree::{Node, Opened, ROOT, Stream, Tree};

/// A tree of calls as a file system.
pub struct CallFs {
    tree: Arc<dyn Tree>,
    open: Table<Open>,
    count: AtomicUsize,
    owner: (u32, u32),
    begun: Timestamp,
}

enum Open {
    Text(Arc<[u8]>),
    Stream(Box<dyn Stream>),
    /// Its number, and its names when it was opened.
    Directory(u64, Vec<(String, u64)>),
}

impl fmt::Debug for CallFs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallFs").field("tree", &self.tree).finish_non_exhaustive()
    }
}

impl CallFs {
    /// Serves a tree, whose files belong to a user and a group, and can be used by nobody else.
    pub fn new(tree: Arc<dyn Tree>, owner: (u32, u32)) -> Self {
        let begun = Timestamp::now();
        Self { tree, open: Table::new(), count: AtomicUsize::new(0), owner, begun }
    }

    fn node(&self, inode: Inode) -> Result<Node> {
        Ok(self.tree.node(inode.0).ok_or(Errno::NOENT)?)
    }

    fn seen(&self, inode: Inode) -> Result<Attributes> {
        let (kind, mode, size, links) = match self.node(inode)? {
            Node::Directory => (Kind::Directory, 0o500, 0, 2),
            Node::Text(size) => (Kind::File, 0o400, size, 1),
            Node::Stream => (Kind::File, 0o600, 0, 1),
        };
        Ok(Attributes {
            number: inode.0,
            kind,
            mode,
            links,
            uid: self.owner.0,
            gid: self.owner.1,
            device: 0,
            size,
            blocks: size.div_ceil(512),
            accessed: self.begun,
            modified: self.begun,
            changed: self.begun,
        })
    }

    fn entry(&self, number: u64) -> Result<Entry> {
        let inode = Inode(number);
        Ok(Entry { inode, generation: 0, attributes: self.seen(inode)? })
    }

    fn add(&self, open: Open) -> Result<Handle> {
        if self.count.fetch_add(1, Ordering::SeqCst) >= MOST_OPEN {
            self.count.fetch_sub(1, Ordering::SeqCst);
            return Err(Errno::NFILE.into());
        }
        let number = self.open.next();
        self.open.put(number, Arc::new(open));
        Ok(Handle(number))
    }

    fn opened(&self, handle: Handle) -> Result<Arc<Open>> {
        Ok(self.open.get(handle.0).ok_or(Errno::BADF)?)
    }
}

impl Engine for CallFs {
    fn abilities(&self) -> Abilities {
        Abilities {
            xattrs: false,
            hard_links: false,
            locks: false,
            persistent: false,
            read_only: false,
        }
    }

    fn root(&self) -> Inode {
        Inode(ROOT)
    }

    fn lookup(&self, _: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        if self.node(parent)? != Node::Directory {
            return Err(Errno::NOTDIR.into());
        }
        self.entry(self.tree.child(parent.0, name.as_bytes()).ok_or(Errno::NOENT)?)
    }

    fn lookup_parent(&self, _: &Caller, directory: Inode) -> Result<Entry> {
        self.entry(self.tree.parent(directory.0))
    }

    /// Nothing is held for it.
    fn forget(&self, _: Inode, _: u64) {}

    fn attributes(&self, _: &Caller, inode: Inode) -> Result<Attributes> {
        self.seen(inode)
    }

    fn change(&self, _: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        // A shell that writes into a file cuts it off first, and some programs set times.
        let is_other = changes.mode.is_some() || changes.uid.is_some() || changes.gid.is_some();
        if is_other || self.node(inode)? != Node::Stream {
            return Err(Errno::PERM.into());
        }
        self.seen(inode)
    }

    fn read_link(&self, _: &Caller, _: Inode) -> Result<Vec<u8>> {
        Err(Errno::INVAL.into())
    }

    fn make(&self, _: &Caller, _: Inode, _: Name<'_>, _: New<'_>, _: u32) -> Result<Entry> {
        Err(Errno::PERM.into())
    }

    fn link(&self, _: &Caller, _: Inode, _: Inode, _: Name<'_>) -> Result<Entry> {
        Err(Errno::PERM.into())
    }

    fn remove(&self, _: &Caller, _: Inode, _: Name<'_>, _: Inode) -> Result<()> {
        Err(Errno::PERM.into())
    }

    fn rename(&self, _: &Caller, _: &Rename<'_>) -> Result<()> {
        Err(Errno::PERM.into())
    }

    fn open(&self, _: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        match self.node(inode)? {
            Node::Directory => return Err(Errno::ISDIR.into()),
            Node::Text(_) if how.write => return Err(Errno::ACCESS.into()),
            Node::Text(_) | Node::Stream => {}
        }
        self.add(match self.tree.open(inode.0)? {
            Opened::Text(text) => Open::Text(text),
            Opened::Stream(stream) => Open::Stream(stream),
        })
    }

    fn open_directory(&self, _: &Caller, inode: Inode) -> Result<Handle> {
        match self.node(inode)? {
            Node::Directory => self.add(Open::Directory(inode.0, self.tree.names(inode.0))),
            Node::Text(_) | Node::Stream => Err(Errno::NOTDIR.into()),
        }
    }

    fn release(&self, handle: Handle) {
        if let Some(open) = self.open.take(handle.0) {
            self.count.fetch_sub(1, Ordering::SeqCst);
            if let Open::Stream(stream) = &*open {
                stream.close();
            }
        }
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        match &*self.opened(handle)? {
            Open::Text(text) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = text.get(from..).unwrap_or_default();
                let count = rest.len().min(into.len());
                let (into, rest) = (into.get_mut(..count), rest.get(..count));
                if let (Some(into), Some(rest)) = (into, rest) {
                    into.copy_from_slice(rest);
                }
                Ok(count)
            }
            Open::Stream(stream) => Ok(stream.read(into, &|| false)?),
            Open::Directory(..) => Err(Errno::ISDIR.into()),
        }
    }

    fn is_stream(&self, handle: Handle) -> bool {
        self.opened(handle).is_ok_and(|open| matches!(*open, Open::Stream(_)))
    }

    fn read_stream(
        &self,
        handle: Handle,
        into: &mut [u8],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<usize> {
        match &*self.opened(handle)? {
            Open::Stream(stream) => Ok(stream.read(into, is_unwanted)?),
            Open::Text(_) | Open::Directory(..) => Err(Errno::SPIPE.into()),
        }
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let Open::Stream(stream) = &*self.opened(handle)? else { return Err(Errno::BADF.into()) };
        let count = stream.write(bytes)?;
        let from = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => 0,
        };
        Ok(Written { count, end: from.saturating_add(count as u64) })
    }

    fn allocate(&self, _: Handle, _: Allocate, _: u64, _: u64) -> Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn seek(&self, _: Handle, _: Seek, _: u64) -> Result<u64> {
        Err(Errno::INVAL.into())
    }

    fn flush(&self, _: Handle) -> Result<()> {
        Ok(())
    }

    fn flushes(&self) -> bool {
        false
    }

    fn sync(&self, _: Handle) -> Result<()> {
        Ok(())
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.opened(handle)?;
        let Open::Directory(own, names) = &*open else { return Err(Errno::NOTDIR.into()) };
        let above = self.tree.parent(*own);
        let dots = [(".", *own), ("..", above)];
        let all = dots.iter().copied().chain(names.iter().map(|(name, at)| (name.as_str(), *at)));
        for (place, (name, number)) in all.enumerate() {
            let cookie = place as u64 + 1;
            let kind = match self.tree.node(number) {
                Some(Node::Directory) => Kind::Directory,
                Some(Node::Text(_) | Node::Stream) => Kind::File,
                None => continue,
            };
            let listed = Listed { name: name.as_bytes(), number, kind, cookie };
            if cookie > after && !sink(&listed) {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&self, _: &Caller, _: Inode, _: &[u8]) -> Result<Vec<u8>> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn xattrs(&self, _: &Caller, _: Inode) -> Result<Vec<Vec<u8>>> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn set_xattr(&self, _: &Caller, _: Inode, _: &[u8], _: &[u8], _: SetXattr) -> Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn remove_xattr(&self, _: &Caller, _: Inode, _: &[u8]) -> Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    fn space(&self, _: Inode) -> Result<Space> {
        let (block_bytes, longest_name) = (4096, vfs::LONGEST_NAME as u64);
        Ok(Space {
            block_bytes,
            blocks: 0,
            free_blocks: 0,
            inodes: 0,
            free_inodes: 0,
            longest_name,
        })
    }

    fn locks(&self, _: Inode) -> Result<(&LockTable, u64)> {
        Err(Errno::NOLCK.into())
    }
}

/// What may be open at one time.
const MOST_OPEN: usize = 1024;

#[cfg(test)]
mod tests;
