//! Open files: opening, reading, writing, listing, locking.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{At, Caller, Follow, Kind, LockKind, New, OpenFile, OpenFlags, Patience, Range, SeekTo};

use super::attributes::{PLAN9_DIRECTORY, stat, type_bits};
use super::message::Lock;
use super::wire::{Qid, Reply};
use super::{Session, checked, errno};

impl Session {
    pub(super) fn open(&mut self, number: u32, flags: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        if fid.open.is_some() || fid.xattr.is_some() {
            return Err(Errno::BADF);
        }
        let flags = OpenFlags { create: false, exclusive: false, ..open_flags(flags) };
        let at = At::Itself(&fid.held);
        let open = self.files.open(&fid.caller, at, b"", flags, 0).map_err(errno)?;
        let qid = self.qid(&fid.caller, &fid.held)?;
        self.fid_mut(number)?.open = Some(open);
        Ok(reply.qid(qid).u32(0))
    }

    pub(super) fn create(
        &mut self,
        number: u32,
        name: &[u8],
        (flags, mode, gid): (u32, u32, u32),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        let caller = self.maker(fid, gid);
        // The client has looked already, unless it means to be the first.
        let flags = OpenFlags { create: true, no_follow: true, ..open_flags(flags) };
        self.create_as(number, name, flags, (mode & 0o7777, &caller), reply)
    }

    fn create_as(
        &mut self,
        number: u32,
        name: &[u8],
        flags: OpenFlags,
        (mode, maker): (u32, &Caller),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        if fid.open.is_some() {
            return Err(Errno::BADF);
        }
        let at = At::Directory(&fid.held);
        let open = self.files.open(maker, at, checked(name)?, flags, mode).map_err(errno)?;
        let (held, qid) = self.step(&fid.caller, &fid.held, name)?;
        let place = Some((Arc::clone(&fid.held), name.to_vec()));
        let fid = self.fid_mut(number)?;
        (fid.held, fid.place, fid.open) = (Arc::new(held), place, Some(open));
        Ok(reply.qid(qid).u32(0))
    }

    pub(super) fn plan9_open(
        &mut self,
        number: u32,
        mode: u8,
        reply: Reply,
    ) -> Result<Reply, Errno> {
        // To be removed when it is closed: not offered.
        if mode & 0x40 != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        self.open(number, plan9_flags(mode), reply)
    }

    pub(super) fn plan9_create(
        &mut self,
        number: u32,
        name: &[u8],
        (permissions, mode): (u32, u8),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        if mode & 0x40 != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        let fid = self.fid(number)?;
        let caller = fid.caller.clone();
        if permissions & PLAN9_DIRECTORY == 0 {
            let flags = OpenFlags {
                create: true,
                exclusive: true,
                no_follow: true,
                ..open_flags(plan9_flags(mode))
            };
            return self.create_as(number, name, flags, (permissions & 0o777, &caller), reply);
        }
        let (at, bits) = (At::Directory(&fid.held), permissions & 0o777);
        self.files.make(&caller, at, checked(name)?, New::Directory, bits).map_err(errno)?;
        let (held, _) = self.step(&caller, &fid.held, name)?;
        let place = Some((Arc::clone(&fid.held), name.to_vec()));
        let fid = self.fid_mut(number)?;
        (fid.held, fid.place) = (Arc::new(held), place);
        self.open(number, 0, reply)
    }

    pub(super) fn read(
        &mut self,
        number: u32,
        offset: u64,
        count: u32,
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let room = self.room(count);
        let fid = self.fid(number)?;
        if let Some(xattr) = &fid.xattr {
            return Ok(reply.data(xattr.read(offset, room)?));
        }
        let open = fid.open.as_ref().ok_or(Errno::BADF)?;
        let caller = &fid.caller;
        if open.attributes(caller).map_err(errno)?.kind == Kind::Directory {
            let (data, listed) = self.plan9_list(caller, open, (offset, fid.listed), room)?;
            self.fid_mut(number)?.listed = listed;
            return Ok(reply.data(&data));
        }
        let mut data = vec![0; room];
        let read = open.read_at(offset, &mut data).map_err(errno)?;
        Ok(reply.data(data.get(..read).unwrap_or_default()))
    }

    /// A listing in Plan 9's form, which is read from its start on or from where it was left.
    fn plan9_list(
        &self,
        caller: &Caller,
        open: &OpenFile,
        (offset, listed): (u64, u64),
        room: usize,
    ) -> Result<(Vec<u8>, u64), Errno> {
        if offset != 0 && offset != listed {
            return Err(Errno::INVAL);
        }
        if offset == 0 {
            open.seek(caller, SeekTo::Start(0)).map_err(errno)?;
        }
        let from = open.seek(caller, SeekTo::Current(0)).map_err(errno)?;
        let mut names = Vec::new();
        let mut length = 0;
        open.list(|one| {
            // An entry has its name and less than this.
            length += one.name.len() + 128;
            let fits = length <= room || names.is_empty();
            if fits {
                names.push((one.name.to_vec(), one.cookie));
            }
            fits
        })
        .map_err(errno)?;
        let (mut data, mut last) = (Vec::new(), from);
        for (name, cookie) in names {
            let found = self.step(caller, open, &name).ok();
            if let Some((file, _)) = found.filter(|_| name != b"..")
                && let Ok(known) = self.files.stat(caller, At::Itself(&file), b"", Follow::No)
            {
                let entry = stat(file.inode(), &known, &name);
                if data.len() + entry.len() > room {
                    break;
                }
                data.extend(entry);
            }
            last = cookie;
        }
        open.seek(caller, SeekTo::Start(last)).map_err(errno)?;
        let listed = offset + data.len() as u64;
        Ok((data, listed))
    }

    pub(super) fn list(
        &self,
        number: u32,
        offset: u64,
        count: u32,
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let room = self.room(count);
        let fid = self.fid(number)?;
        let open = fid.open.as_ref().ok_or(Errno::BADF)?;
        open.seek(&fid.caller, SeekTo::Start(offset)).map_err(errno)?;
        let above = fid.held.inode().0 >> vfs::ENGINE_BITS << vfs::ENGINE_BITS;
        let mut data = Vec::new();
        open.list(|listed| {
            let length = Qid::BYTES + 8 + 1 + 2 + listed.name.len();
            if data.len() + length > room {
                return false;
            }
            let kind = match listed.kind {
                Kind::Directory => Qid::DIRECTORY,
                Kind::Link => Qid::LINK,
                _ => 0,
            };
            Qid { kind, version: 0, path: listed.number ^ above }.append(&mut data);
            data.extend_from_slice(&listed.cookie.to_le_bytes());
            data.push(u8::try_from(type_bits(listed.kind) >> 12).unwrap_or_default());
            let name = u16::try_from(listed.name.len()).unwrap_or_default();
            data.extend_from_slice(&name.to_le_bytes());
            data.extend_from_slice(listed.name);
            true
        })
        .map_err(errno)?;
        Ok(reply.data(&data))
    }

    pub(super) fn write(
        &mut self,
        number: u32,
        offset: u64,
        data: &[u8],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid_mut(number)?;
        let count = match &mut fid.xattr {
            Some(xattr) => xattr.write(offset, data)?,
            None => {
                let open = fid.open.as_ref().ok_or(Errno::BADF)?;
                open.write_at(&fid.caller, offset, data).map_err(errno)?
            }
        };
        Ok(reply.u32(u32::try_from(count).map_err(|_| Errno::IO)?))
    }

    pub(super) fn sync(&self, number: u32, reply: Reply) -> Result<Reply, Errno> {
        let open = self.fid(number)?.open.as_ref().ok_or(Errno::BADF)?;
        open.sync().map_err(errno)?;
        Ok(reply)
    }

    pub(super) fn lock(&self, number: u32, lock: &Lock, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        let open = fid.open.as_ref().ok_or(Errno::BADF)?;
        let (range, kind) = wanted(lock)?;
        let who = self.locker(&fid.caller, lock.process);
        match open.lock_range(&who, range, kind, Patience::None) {
            Ok(()) => Ok(reply.u8(0)),
            // The client asks again, if it waits.
            Err(error) if error.errno == Errno::AGAIN => Ok(reply.u8(1)),
            Err(error) => Err(error.errno),
        }
    }

    pub(super) fn test_lock(&self, number: u32, lock: &Lock, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        let open = fid.open.as_ref().ok_or(Errno::BADF)?;
        let (range, kind) = wanted(lock)?;
        let who = self.locker(&fid.caller, lock.process);
        let found = open.test_range(&who, range, kind).map_err(errno)?;
        let Some(held) = found else {
            return Ok(reply.u8(UNLOCK).u64(lock.start).u64(lock.length).u32(0).text(b""));
        };
        let kind = if held.kind == LockKind::Shared { SHARED } else { EXCLUSIVE };
        let (first, last) = (held.range.first, held.range.last);
        let length = if last == u64::MAX { 0 } else { last - first + 1 };
        Ok(reply.u8(kind).u64(first).u64(length).u32(held.pid).text(b""))
    }
}

fn wanted(lock: &Lock) -> Result<(Range, LockKind), Errno> {
    let last = match lock.length {
        0 => u64::MAX,
        length => lock.start.checked_add(length - 1).ok_or(Errno::INVAL)?,
    };
    let kind = match lock.kind {
        SHARED => LockKind::Shared,
        EXCLUSIVE => LockKind::Exclusive,
        UNLOCK => LockKind::Unlock,
        _ => return Err(Errno::INVAL),
    };
    Ok((Range { first: lock.start, last }, kind))
}

/// Flags of `open`, as Linux numbers them on every machine here.
const fn open_flags(flags: u32) -> OpenFlags {
    OpenFlags {
        read: flags & 3 != 1,
        write: matches!(flags & 3, 1 | 2),
        append: flags & 0o2000 != 0,
        create: flags & 0o100 != 0,
        exclusive: flags & 0o200 != 0,
        truncate: flags & 0o1000 != 0,
        directory: flags & 0o200_000 != 0,
        no_follow: flags & 0o400_000 != 0,
        path: false,
    }
}

const fn plan9_flags(mode: u8) -> u32 {
    let access = match mode & 3 {
        1 => 1,
        2 => 2,
        _ => 0,
    };
    access | if mode & 0x10 == 0 { 0 } else { 0o1000 }
}

const SHARED: u8 = 0;
const EXCLUSIVE: u8 = 1;
const UNLOCK: u8 = 2;
