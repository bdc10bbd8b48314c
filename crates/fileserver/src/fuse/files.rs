//! Requests about open files: opening, reading, writing, reserving, closing.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{
    Allocate, Caller, Changes, Entry, Handle, Inode, Kind, LockKind, Name, New, Patience, Seek,
    Use, WriteAt,
};

use super::names::{errno, without_privileges};
use super::reply::Reply;
use super::wire::{
    RELEASE_UNLOCKS, Request, WRITE_DROPS_PRIVILEGES, WRITE_FROM_CACHE, opened, operation,
};
use super::{Done, Fuse, Gained};

impl Fuse {
    pub(super) fn open(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let flags = body.u32()?;
        let handle = self.open_as(request, self.inode(request.node), flags)?;
        let kept = match self.engine.is_stream(handle) {
            // Nothing of it is kept, whatever its length is said to be, and a program has no place in it.
            true => opened::DIRECT | opened::STREAM | opened::NO_FLUSH,
            false => self.kept(flags),
        };
        reply.opened(handle.0, kept);
        Ok(Done::Reply(Gained { inode: None, handle: Some(handle) }))
    }

    fn open_as(&self, request: &Request<'_>, inode: Inode, flags: u32) -> Result<Handle, Errno> {
        let handle = self.engine.open(&self.caller(request), inode, self.how(flags));
        let handle = handle.map_err(errno)?;
        self.held.open(handle);
        Ok(handle)
    }

    const fn how(&self, flags: u32) -> Use {
        match flags & ACCESS_BITS {
            READ_ONLY => Use { read: true, write: false },
            // The kernel reads what is around a write that it gathers.
            WRITE_ONLY => Use { read: self.settings.gather_writes, write: true },
            _ => Use { read: true, write: true },
        }
    }

    /// What the kernel keeps of a file from one opening to the next.
    fn kept(&self, flags: u32) -> u32 {
        let keeps = if self.is_alone() { opened::KEEP_CACHE } else { 0 };
        let is_only_read = flags & ACCESS_BITS == READ_ONLY;
        let skips = self.is_alone() && (is_only_read || !self.flushes);
        keeps | if skips { opened::NO_FLUSH } else { 0 }
    }

    pub(super) fn create(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let (flags, mode) = (body.u32()?, body.u32()?);
        body.skip(8)?;
        let name = body.name()?;
        let (caller, parent) = (self.maker(request, New::File, mode)?, self.inode(request.node));
        let how = self.how(flags);
        let (entry, handle) = match self.engine.create(&caller, parent, name, mode & 0o7777, how) {
            // Somebody else was faster.
            Err(error) if error.errno == Errno::EXIST && flags & EXCLUSIVE == 0 => {
                self.open_found(&caller, parent, name, how)?
            }
            made => made.map_err(errno)?,
        };
        self.held.open(handle);
        self.tell(request.node, name.as_bytes(), entry, reply);
        reply.opened(handle.0, self.kept(flags));
        Ok(Done::Reply(Gained { inode: Some(entry.inode), handle: Some(handle) }))
    }

    fn open_found(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        how: Use,
    ) -> Result<(Entry, Handle), Errno> {
        let entry = self.engine.lookup(caller, parent, name).map_err(errno)?;
        let handle = if entry.attributes.kind == Kind::File {
            self.engine.open(caller, entry.inode, how).map_err(errno)
        } else {
            Err(Errno::STALE)
        };
        Ok((entry, handle.inspect_err(|_| self.engine.forget(entry.inode, 1))?))
    }

    pub(super) fn read(
        self: &Arc<Self>,
        request: &Request<'_>,
        data: &mut [u8],
    ) -> Result<Done, Errno> {
        let mut body = request.body;
        let (handle, offset, size) = (Handle(body.u64()?), body.u64()?, body.u32()?);
        let size = usize::try_from(size).map_err(|_| Errno::INVAL)?;
        if self.engine.is_stream(handle) {
            return self.read_stream(request.unique, handle, size.min(data.len()));
        }
        let into = data.get_mut(..size).ok_or(Errno::INVAL)?;
        self.engine.read(handle, offset, into).map(Done::Data).map_err(errno)
    }

    pub(super) fn write(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let (handle, offset, size) = (Handle(body.u64()?), body.u64()?, body.u32()?);
        let (how, _owner, flags) = (body.u32()?, body.u64()?, body.u32()?);
        body.skip(4)?;
        let bytes = body.bytes(size)?;
        if how & WRITE_DROPS_PRIVILEGES != 0 {
            let (caller, inode) = (self.caller(request), self.inode(request.node));
            let found = self.engine.attributes(&caller, inode).map_err(errno)?;
            if let Some(mode) = without_privileges(&found) {
                let changes = Changes { mode: Some(mode), ..Changes::default() };
                self.engine.change(&caller, inode, &changes).map_err(errno)?;
            }
        }
        // Where others write too, only the engine knows where the end is.
        let appends = flags & APPEND != 0 && how & WRITE_FROM_CACHE == 0 && !self.is_alone();
        let at = if appends { WriteAt::End } else { WriteAt::Offset(offset) };
        let written = self.engine.write(handle, at, bytes).map_err(errno)?;
        reply.u32(u32::try_from(written.count).map_err(|_| Errno::IO)?).u32(0);
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn release(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let (handle, _flags, how) = (Handle(body.u64()?), body.u32()?, body.u32()?);
        let owner = body.u64()?;
        if how & RELEASE_UNLOCKS != 0 && request.operation == operation::RELEASE {
            let (locks, file) = self.engine.locks(self.inode(request.node)).map_err(errno)?;
            let _held = locks.lock_whole(file, owner, LockKind::Unlock, Patience::None);
        }
        self.held.close(&*self.engine, handle);
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn flush(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let handle = Handle(body.u64()?);
        body.skip(8)?;
        let owner = body.u64()?;
        if !self.flushes {
            // It is not asked again.
            return Err(Errno::NOSYS);
        }
        if !self.is_alone()
            && let Ok((locks, file)) = self.engine.locks(self.inode(request.node))
        {
            locks.close(file, owner);
        }
        self.engine.flush(handle).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn sync(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        self.engine.sync(Handle(body.u64()?)).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn allocate(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let (handle, offset, length) = (Handle(body.u64()?), body.u64()?, body.u64()?);
        let how = match body.u32()? {
            0 => Allocate::Extend,
            KEEP_SIZE => Allocate::KeepSize,
            PUNCH_HOLE => Allocate::PunchHole,
            _ => return Err(Errno::OPNOTSUPP),
        };
        let (caller, inode) = (self.caller(request), self.inode(request.node));
        if !caller.is_root()
            && let Some(mode) =
                without_privileges(&self.engine.attributes(&caller, inode).map_err(errno)?)
        {
            let changes = Changes { mode: Some(mode), ..Changes::default() };
            self.engine.change(&caller, inode, &changes).map_err(errno)?;
        }
        self.engine.allocate(handle, how, offset, length).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn seek(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        if self.settings.gather_writes {
            // The kernel does not hand over first what it has gathered. It now takes every file as without holes.
            return Err(Errno::NOSYS);
        }
        let mut body = request.body;
        let (handle, offset) = (Handle(body.u64()?), body.u64()?);
        let what = match body.u32()? {
            SEEK_DATA => Seek::Data,
            SEEK_HOLE => Seek::Hole,
            _ => return Err(Errno::INVAL),
        };
        reply.u64(self.engine.seek(handle, what, offset).map_err(errno)?);
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn space(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        reply.space(&self.engine.space(self.inode(request.node)).map_err(errno)?);
        Ok(Done::Reply(Gained::default()))
    }
}

const ACCESS_BITS: u32 = 3;
const READ_ONLY: u32 = 0;
const WRITE_ONLY: u32 = 1;
const EXCLUSIVE: u32 = 0o200;
const APPEND: u32 = 0o2000;
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 3;
const SEEK_DATA: u32 = 3;
const SEEK_HOLE: u32 = 4;
