//! Requests about names: looking up, making, linking, renaming, removing; and what is known of files.

use rustix::io::Errno;
use vfs::{
    Attributes, Caller, Changes, Entry, Inode, Kind, Name, New, NewTime, Rename, Replace, SET_GID,
    SET_UID, Timestamp,
};

use super::reply::Reply;
use super::wire::{Request, change, operation};
use super::{Done, Fuse, Gained};

impl Fuse {
    pub(super) fn lookup(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let text = body.text()?;
        let (caller, parent) = (self.caller(request), self.inode(request.node));
        let found = match text {
            // Only who exports the file system asks for these.
            b"." | b".." => self.engine.lookup_parent(&caller, parent),
            text => Name::new(text).and_then(|name| self.engine.lookup(&caller, parent, name)),
        };
        match found {
            Ok(entry) => Ok(self.tell(request.node, text, entry, reply)),
            Err(error) if error.errno == Errno::NOENT && self.is_alone() => {
                reply.nothing(self.valid());
                Ok(Done::Reply(Gained::default()))
            }
            Err(error) => Err(error.errno),
        }
    }

    /// Tells the kernel of an entry, which it holds from then on.
    pub(super) fn tell(&self, parent: u64, name: &[u8], entry: Entry, reply: &mut Reply) -> Done {
        self.held.hold(entry.inode, entry.attributes.number);
        self.note(parent, name);
        let node = self.node(entry.inode);
        reply.entry(node, entry.generation, &entry.attributes, self.valid());
        Done::Reply(Gained { inode: Some(entry.inode), handle: None })
    }

    pub(super) fn forget(&self, request: &Request<'_>) -> Result<(), Errno> {
        let mut body = request.body;
        if request.operation == operation::FORGET {
            let count = body.u64()?;
            self.held.forget(&*self.engine, self.inode(request.node), count);
            return Ok(());
        }
        let count = body.u32()?;
        body.skip(4)?;
        for _ in 0..count {
            let (node, count) = (body.u64()?, body.u64()?);
            self.held.forget(&*self.engine, self.inode(node), count);
        }
        Ok(())
    }

    pub(super) fn attributes(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let inode = self.inode(request.node);
        let found = self.engine.attributes(&self.caller(request), inode);
        reply.known(&found.map_err(errno)?, self.valid());
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn change(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let (caller, inode) = (self.caller(request), self.inode(request.node));
        let (mut changes, valid) = read_changes(request)?;
        if self.settings.one_owner.is_some() {
            // The kernel lets a user give a file to nobody but itself.
            (changes.uid, changes.gid) = (None, None);
        }
        let drops = valid & change::DROP_PRIVILEGES != 0;
        let gives = valid & (change::UID | change::GID) != 0;
        // A `chown` to nobody takes setuid and setgid away too. The kernel does not ask whether the caller may, and
        // sends the same before a write, which says by itself what goes.
        let is_empty = changes == Changes::default();
        if (drops || gives || is_empty) && changes.mode.is_none() {
            let found = self.engine.attributes(&caller, inode).map_err(errno)?;
            let owns = caller.is_root() || caller.uid == found.uid;
            changes.mode = without_privileges(&found).filter(|_| owns || !is_empty);
            if changes == Changes::default() {
                reply.known(&found, self.valid());
                return Ok(Done::Reply(Gained::default()));
            }
        }
        let found = self.engine.change(&caller, inode, &changes).map_err(errno)?;
        reply.known(&found, self.valid());
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn read_link(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let target = self.engine.read_link(&self.caller(request), self.inode(request.node));
        reply.bytes(&target.map_err(errno)?);
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn make_link(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let mut body = request.body;
        let (name, target) = (body.name()?, body.text()?);
        self.make(request, name, New::Link(target), 0o777, reply)
    }

    pub(super) fn make_node(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let mut body = request.body;
        let (mode, _device) = (body.u32()?, body.u32()?);
        body.skip(8)?;
        let new = match mode & TYPE_BITS {
            0 | 0o100_000 => New::File,
            0o010_000 => New::Fifo,
            0o140_000 => New::Socket,
            // No guest makes a device.
            _ => return Err(Errno::PERM),
        };
        self.make(request, body.name()?, new, mode & !TYPE_BITS, reply)
    }

    pub(super) fn make_directory(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let mut body = request.body;
        let mode = body.u32()?;
        body.skip(4)?;
        self.make(request, body.name()?, New::Directory, mode & 0o1777, reply)
    }

    fn make(
        &self,
        request: &Request<'_>,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let (caller, parent) = (self.maker(request, new, mode)?, self.inode(request.node));
        let made = self.engine.make(&caller, parent, name, new, mode).map_err(errno)?;
        Ok(self.tell(request.node, name.as_bytes(), made, reply))
    }

    /// Who makes something, as the engine judges it.
    pub(super) fn maker(
        &self,
        request: &Request<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Caller, Errno> {
        let mut caller = self.caller(request);
        if mode & SET_GID != 0 && new != New::Directory {
            // The kernel has asked already whether the caller is in the directory's group.
            let parent = self.inode(request.node);
            let directory = self.engine.attributes(&caller, parent).map_err(errno)?;
            caller.groups = caller.groups.iter().copied().chain([directory.gid]).collect();
        }
        Ok(caller)
    }

    pub(super) fn link(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let file = self.inode(body.u64()?);
        let (name, parent) = (body.name()?, self.inode(request.node));
        if !self.engine.are_together(file, parent) {
            return Err(Errno::XDEV);
        }
        let linked = self.engine.link(&self.caller(request), file, parent, name);
        Ok(self.tell(request.node, name.as_bytes(), linked.map_err(errno)?, reply))
    }

    pub(super) fn remove(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let (name, parent) = (body.name()?, self.inode(request.node));
        let caller = self.caller(request);
        let wants_directory = request.operation == operation::REMOVE_DIRECTORY;
        until_same(|| {
            let found = self.find(&caller, parent, name)?;
            match (wants_directory, found.is(Kind::Directory)) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                _ if self.engine.is_busy(found.entry.inode) => return Err(Errno::BUSY),
                _ => {}
            }
            self.engine.remove(&caller, parent, name, found.entry.inode).map_err(errno)
        })?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn rename(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let (from, to) = (self.inode(request.node), self.inode(body.u64()?));
        let flags = if request.operation == operation::RENAME_WITH_FLAGS {
            let flags = body.u32()?;
            body.skip(4)?;
            flags
        } else {
            0
        };
        let (name, new_name) = (body.name()?, body.name()?);
        let replace = match flags {
            0 => Replace::Yes,
            RENAME_KEEPS => Replace::No,
            RENAME_EXCHANGES => Replace::Exchange,
            _ => return Err(Errno::INVAL),
        };
        if !self.engine.are_together(from, to) {
            return Err(Errno::XDEV);
        }
        let caller = self.caller(request);
        until_same(|| {
            let moved = self.find(&caller, from, name)?;
            let replaced = match self.find(&caller, to, new_name) {
                Ok(found) => Some(found),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(errno),
            };
            let replaced_inode = replaced.as_ref().map(|found| found.entry.inode);
            if replaced_inode == Some(moved.entry.inode) {
                return Ok(());
            }
            let is_busy = |inode: Inode| self.engine.is_busy(inode);
            if is_busy(moved.entry.inode) || replaced_inode.is_some_and(is_busy) {
                return Err(Errno::BUSY);
            }
            let rename = Rename {
                from,
                name,
                moved: moved.entry.inode,
                to,
                new_name,
                replaced: replaced_inode,
                replace,
            };
            self.engine.rename(&caller, &rename).map_err(errno)
        })?;
        Ok(Done::Reply(Gained::default()))
    }

    fn find<'a>(
        &'a self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
    ) -> Result<Found<'a>, Errno> {
        let entry = self.engine.lookup(caller, parent, name).map_err(errno)?;
        Ok(Found { fuse: self, entry })
    }
}

/// Something that is held for the length of one request.
struct Found<'a> {
    fuse: &'a Fuse,
    entry: Entry,
}

impl Found<'_> {
    fn is(&self, kind: Kind) -> bool {
        self.entry.attributes.kind == kind
    }
}

impl Drop for Found<'_> {
    fn drop(&mut self) {
        self.fuse.engine.forget(self.entry.inode, 1);
    }
}

fn read_changes(request: &Request<'_>) -> Result<(Changes, u32), Errno> {
    let mut body = request.body;
    let valid = body.u32()?;
    body.skip(12)?;
    let size = body.u64()?;
    body.skip(8)?;
    let (accessed, modified, _changed) = (body.u64()?, body.u64()?, body.u64()?);
    let (accessed_rest, modified_rest, _rest) = (body.u32()?, body.u32()?, body.u32()?);
    let mode = body.u32()?;
    body.skip(4)?;
    let (uid, gid) = (body.u32()?, body.u32()?);
    let time = |is_set: u32, is_now: u32, seconds: u64, nanoseconds: u32| {
        let at = Timestamp { seconds: seconds.cast_signed(), nanoseconds };
        let now = (valid & is_now != 0).then_some(NewTime::Now);
        now.or((valid & is_set != 0).then_some(NewTime::At(at)))
    };
    let changes = Changes {
        mode: (valid & change::MODE != 0).then_some(mode & !TYPE_BITS),
        uid: (valid & change::UID != 0).then_some(uid),
        gid: (valid & change::GID != 0).then_some(gid),
        size: (valid & change::SIZE != 0).then_some(size),
        accessed: time(change::ACCESSED, change::ACCESSED_NOW, accessed, accessed_rest),
        modified: time(change::MODIFIED, change::MODIFIED_NOW, modified, modified_rest),
    };
    Ok((changes, valid))
}

/// The mode of a file that must no longer act as its owner, if that changes it.
pub(super) fn without_privileges(file: &Attributes) -> Option<u32> {
    let group = if file.mode & 0o010 == 0 { 0 } else { SET_GID };
    let mode = file.mode & !(SET_UID | group);
    (mode != file.mode && file.kind != Kind::Directory).then_some(mode)
}

/// Tries again while what was found is replaced meanwhile.
fn until_same(mut act: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 0..MOST_TRIES {
        match act() {
            Err(Errno::STALE) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// What a program sees of an error.
pub(super) fn errno(error: vfs::Error) -> Errno {
    error.errno
}

const TYPE_BITS: u32 = 0o170_000;
const RENAME_KEEPS: u32 = 1;
const RENAME_EXCHANGES: u32 = 2;
const MOST_TRIES: u32 = 1000;
