//! The engine's operations. What they do to names, contents and attributes is in the files of those.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use vfs::{
    ALL_MODE_BITS, Abilities, Allocate, Attributes, Caller, Changes, Counter, Engine, Entry,
    Handle, Inode, Kind, LONGEST_NAME, Listed, LockTable, Marks, Name, New, Rename, Result, Seek,
    SetXattr, Space, Use, WriteAt, Written, read, write,
};

use crate::contents::pages::PAGE;
use crate::database::all;
use crate::node::{Facts, Node};
use crate::rows;
use crate::schema::ROOT;
use crate::store::Store;

impl Engine for Store {
    fn abilities(&self) -> Abilities {
        Abilities {
            xattrs: true,
            hard_links: true,
            locks: true,
            persistent: true,
            read_only: false,
        }
    }

    fn root(&self) -> Inode {
        Inode(ROOT)
    }

    fn lookup(&self, _caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.look_up(&*self.node(parent)?, name)
    }

    fn lookup_parent(&self, _caller: &Caller, directory: Inode) -> Result<Entry> {
        let node = self.node(directory)?;
        let parent = read(&node.directory()?.facts).parent;
        Ok(Self::entry(&*self.hold(parent)?))
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.give_back(inode.0, count);
    }

    fn attributes(&self, _caller: &Caller, inode: Inode) -> Result<Attributes> {
        Ok(self.node(inode)?.attributes())
    }

    fn change(&self, _caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        let node = self.node(inode)?;
        if let Some(size) = changes.size {
            let size = self.check_size(Some(size))?;
            node.file()?;
            self.resize(&node, &mut write(&node.contents), size)?;
        }
        let is_more = Changes { size: None, ..*changes } != Changes::default();
        if is_more {
            self.change_facts(&node, changes)?;
        }
        Ok(node.attributes())
    }

    fn read_link(&self, _caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        let node = self.node(inode)?;
        if node.kind == Kind::Link { Ok(node.target.to_vec()) } else { Err(Errno::INVAL.into()) }
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        self.make_named(caller, &*self.node(parent)?, name, new, mode)
    }

    fn link(&self, _caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        self.link_named(&*self.node(inode)?, &*self.node(parent)?, name)
    }

    fn remove(&self, _caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.remove_named(&*self.node(parent)?, name, &*self.node(judged)?)
    }

    fn rename(&self, _caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        self.perform(rename)
    }

    fn open(&self, _caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let node = self.node(inode)?;
        node.file()?;
        self.put_open(node, how)
    }

    fn open_directory(&self, _caller: &Caller, inode: Inode) -> Result<Handle> {
        let node = self.node(inode)?;
        node.directory()?;
        self.put_open(node, Use { read: true, write: false })
    }

    fn release(&self, handle: Handle) {
        let Some(open) = self.open.take(handle.0) else { return };
        self.handles.give(1);
        if open.how.write && read(&open.node.facts).links > 0 {
            // Who wanted to know of a failure has flushed; what is late is tried again.
            let _later = self.flush_contents(&open.node, &mut write(&open.node.contents));
        }
        self.give_back(open.node.number, 1);
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        let open = self.opened(handle)?;
        if !open.how.read {
            return Err(Errno::BADF.into());
        }
        let node = open.node.file()?;
        self.read_contents(node, &read(&node.contents), offset, into)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        let mut contents = write(&open.node.file()?.contents);
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => contents.size,
        };
        // As much as may be there, and an error only where that is nothing.
        let most = self.limits.max_file_bytes.saturating_sub(offset);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
        if most == 0 && !bytes.is_empty() {
            self.check_size(None)?;
        }
        let bytes = bytes.get(..most).unwrap_or_default();
        let count = self.write_contents(&open.node, &mut contents, offset, bytes)?;
        Ok(Written { count, end: offset + count as u64 })
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        let open = self.opened(handle)?;
        if !open.how.write {
            return Err(Errno::BADF.into());
        }
        let end = self.check_size(offset.checked_add(length))?;
        let node = open.node.file()?;
        let mut contents = write(&node.contents);
        if how == Allocate::PunchHole {
            return self.punch(node, &mut contents, offset, length);
        }
        self.reserve(node, &mut contents, offset, length)?;
        if how == Allocate::Extend && contents.size < end {
            self.resize(node, &mut contents, end)?;
        }
        Ok(())
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        let open = self.opened(handle)?;
        let node = open.node.file()?;
        self.seek_contents(node, &read(&node.contents), what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        let node = &self.opened(handle)?.node;
        self.flush_contents(node, &mut write(&node.contents))
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.flush(handle)?;
        self.database.sync()
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.opened(handle)?;
        let node = open.node.directory()?;
        let facts = node.facts();
        for (cookie, name, number) in [(1, &b"."[..], node.number), (2, b"..", facts.parent)] {
            let kind = Kind::Directory;
            if cookie > after && !sink(&Listed { name, number, kind, cookie }) {
                return Ok(());
            }
        }
        if facts.links == 0 {
            return Err(Errno::NOENT.into());
        }
        let mut after = after.max(2);
        loop {
            let names = self.names_after(node, after)?;
            for (name, number, kind, cookie) in &names {
                if !sink(&Listed { name, number: *number, kind: *kind, cookie: *cookie }) {
                    return Ok(());
                }
                after = *cookie;
            }
            if names.len() < LISTED {
                return Ok(());
            }
        }
    }

    fn xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        self.xattr_of(&*self.node(inode)?, name)
    }

    fn xattrs(&self, _caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        self.xattrs_of(&*self.node(inode)?)
    }

    fn set_xattr(
        &self,
        _caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        self.set_xattr_of(&*self.node(inode)?, name, value, how)
    }

    fn remove_xattr(&self, _caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        self.remove_xattr_of(&*self.node(inode)?, name)
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

/// A name of a listing: where it leads, what that is, its cookie.
type NameRow = (Vec<u8>, u64, Kind, u64);

impl Store {
    fn change_facts(&self, node: &Node, changes: &Changes) -> Result<()> {
        let mut writer = self.database.writer();
        let before = node.facts();
        let touched = before.touched();
        let now = touched.changed;
        let after = Facts {
            mode: changes.mode.map_or(before.mode, |mode| mode & ALL_MODE_BITS),
            uid: changes.uid.unwrap_or(before.uid),
            gid: changes.gid.unwrap_or(before.gid),
            accessed: changes.accessed.map_or(before.accessed, |time| time.or_now(now)),
            modified: changes.modified.map_or(before.modified, |time| time.or_now(now)),
            ..touched
        };
        writer.change(|change| rows::update(change, self.tree, node.number, &after))?;
        node.set_facts(&before, after);
        Ok(())
    }

    fn names_after(&self, node: &Node, cookie: u64) -> Result<Vec<NameRow>> {
        let text = "SELECT name, child, kind, cookie FROM name
                    WHERE tree = ?1 AND parent = ?2 AND cookie > ?3 ORDER BY cookie LIMIT ?4";
        let values = rusqlite::params![self.tree, node.number, cookie, LISTED];
        let found: Vec<NameRow> = self.database.read(|reader| {
            all(reader, text, values, |row| {
                Ok((row.get(0)?, row.get(1)?, rows::kind(row.get(2)?)?, row.get(3)?))
            })
        })?;
        // Whoever wrote the database may have put a path there.
        match found.iter().find(|(name, ..)| Name::new(name).is_err()) {
            Some((name, ..)) => {
                let name = name.get(..LONGEST_NAME).unwrap_or(name).escape_ascii();
                Err(self
                    .database
                    .damaged(&format!("a directory has the name `{name}`, which is none")))
            }
            None => Ok(found),
        }
    }

    /// Whether anybody holds anything but the root, or has anything open.
    pub(crate) fn is_used(&self) -> bool {
        let is_held = |number: u64, held: u64| held > u64::from(number == ROOT);
        self.nodes.all().iter().any(|node| is_held(node.number, node.held.load(Ordering::SeqCst)))
    }
}

/// How many names are looked at in one go.
const LISTED: usize = 512;
