//! What is known of files, and changing it, in the words of both dialects.

use rustix::io::Errno;
use vfs::{At, Attributes, Follow, Inode, Kind, NewTime, Owner, Replace, Times, Timestamp};

use super::message::{Changed, ChangedStat};
use super::wire::{Qid, Reply};
use super::{Fid, Session, errno};

impl Session {
    fn known(&self, fid: &Fid) -> Result<Attributes, Errno> {
        self.files.stat(&fid.caller, At::Itself(&fid.held), b"", Follow::No).map_err(errno)
    }

    pub(super) fn attributes(&self, fid: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let found = self.known(fid)?;
        let mut reply = reply
            .u64(BASIC)
            .qid(qid(fid.held.inode(), &found))
            .u32(type_bits(found.kind) | found.mode)
            .u32(found.uid)
            .u32(found.gid)
            .u64(found.links.into())
            .u64(found.device)
            .u64(found.size)
            .u64(BLOCK_BYTES)
            .u64(found.blocks);
        for Timestamp { seconds, nanoseconds } in [found.accessed, found.modified, found.changed] {
            reply = reply.u64(seconds.cast_unsigned()).u64(nanoseconds.into());
        }
        // When it was made, and which one of its number it is: not told.
        Ok(reply.u64(0).u64(0).u64(0).u64(0))
    }

    pub(super) fn change(&self, fid: u32, change: &Changed, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let (caller, at) = (&fid.caller, At::Itself(&fid.held));
        let has = |bit: u32| change.valid & bit != 0;
        if has(MODE) {
            self.files.set_mode(caller, at, b"", change.mode & 0o7777).map_err(errno)?;
        }
        if has(UID) || has(GID) {
            let owner =
                Owner { uid: has(UID).then_some(change.uid), gid: has(GID).then_some(change.gid) };
            self.files.set_owner(caller, at, b"", Follow::No, owner).map_err(errno)?;
        }
        if has(SIZE) {
            match &fid.open {
                // Who has it open may go on, whatever its mode is by now.
                Some(open) => open.set_size(caller, change.size).map_err(errno)?,
                None => self.files.set_size(caller, at, b"", change.size).map_err(errno)?,
            }
        }
        let time = |is_set: bool, is_given: bool, (seconds, rest): (u64, u64)| {
            let nanoseconds = u32::try_from(rest).map_err(|_| Errno::INVAL)?;
            let given = NewTime::At(Timestamp { seconds: seconds.cast_signed(), nanoseconds });
            Ok(is_set.then_some(if is_given { given } else { NewTime::Now }))
        };
        let times = Times {
            accessed: time(has(ACCESSED), has(ACCESSED_GIVEN), change.accessed)?,
            modified: time(has(MODIFIED), has(MODIFIED_GIVEN), change.modified)?,
        };
        self.files.set_times(caller, at, b"", Follow::No, times).map_err(errno)?;
        Ok(reply)
    }

    pub(super) fn space(&self, fid: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let space = self.files.space(&fid.caller, At::Itself(&fid.held), b"").map_err(errno)?;
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(reply
            .u32(MAGIC)
            .u32(narrow(space.block_bytes))
            .u64(space.blocks)
            .u64(space.free_blocks)
            .u64(space.free_blocks)
            .u64(space.inodes)
            .u64(space.free_inodes)
            .u64(0)
            .u32(narrow(space.longest_name)))
    }

    pub(super) fn stat(&self, fid: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let found = self.known(fid)?;
        let name = fid.place.as_ref().map_or(&b"/"[..], |(_, name)| name);
        let stat = stat(fid.held.inode(), &found, name);
        let length = u16::try_from(stat.len()).map_err(|_| Errno::NAMETOOLONG)?;
        Ok(stat.into_iter().fold(reply.u16(length), Reply::u8))
    }

    pub(super) fn change_stat(
        &mut self,
        number: u32,
        stat: &ChangedStat<'_>,
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid(number)?;
        let (caller, at) = (&fid.caller, At::Itself(&fid.held));
        if stat.mode != u32::MAX {
            let mode = stat.mode & 0o777;
            self.files.set_mode(caller, at, b"", mode).map_err(errno)?;
        }
        if stat.length != u64::MAX {
            self.files.set_size(caller, at, b"", stat.length).map_err(errno)?;
        }
        if stat.modified != u32::MAX {
            let seconds = i64::from(stat.modified);
            let time = NewTime::At(Timestamp { seconds, nanoseconds: 0 });
            let times = Times { accessed: None, modified: Some(time) };
            self.files.set_times(caller, at, b"", Follow::No, times).map_err(errno)?;
        }
        if !stat.name.is_empty() {
            let (directory, name) = fid.place.clone().ok_or(Errno::BUSY)?;
            if name != stat.name {
                let (from, to) = ((&*directory, &name[..]), (&*directory, stat.name));
                self.move_name(&fid.caller, from, to, Replace::No)?;
                self.fid_mut(number)?.place = Some((directory, stat.name.to_vec()));
            }
        }
        Ok(reply)
    }
}

/// What a file is called on the wire. The bits above an engine's say which file system of a tree it is in.
pub(super) const fn qid(inode: Inode, found: &Attributes) -> Qid {
    let kind = match found.kind {
        Kind::Directory => Qid::DIRECTORY,
        Kind::Link => Qid::LINK,
        _ => 0,
    };
    let above = inode.0 >> vfs::ENGINE_BITS << vfs::ENGINE_BITS;
    Qid { kind, version: 0, path: found.number ^ above }
}

/// What is known of a file, in Plan 9's form.
pub(super) fn stat(inode: Inode, found: &Attributes, name: &[u8]) -> Vec<u8> {
    let is_directory = found.kind == Kind::Directory;
    let mode = found.mode & 0o777 | if is_directory { PLAN9_DIRECTORY } else { 0 };
    let time = |time: Timestamp| u32::try_from(time.seconds).unwrap_or_default();
    let mut stat = vec![0; 2 + 2 + 4];
    qid(inode, found).append(&mut stat);
    stat.extend_from_slice(&mode.to_le_bytes());
    stat.extend_from_slice(&time(found.accessed).to_le_bytes());
    stat.extend_from_slice(&time(found.modified).to_le_bytes());
    let length = if is_directory { 0 } else { found.size };
    stat.extend_from_slice(&length.to_le_bytes());
    let (uid, gid) = (found.uid.to_string(), found.gid.to_string());
    for text in [name, uid.as_bytes(), gid.as_bytes(), uid.as_bytes()] {
        let length = u16::try_from(text.len()).unwrap_or_default();
        stat.extend_from_slice(&length.to_le_bytes());
        stat.extend_from_slice(text);
    }
    let length = u16::try_from(stat.len() - 2).unwrap_or_default();
    if let Some(start) = stat.first_chunk_mut() {
        *start = length.to_le_bytes();
    }
    stat
}

pub(super) const fn type_bits(kind: Kind) -> u32 {
    match kind {
        Kind::Fifo => 0o010_000,
        Kind::CharacterDevice => 0o020_000,
        Kind::Directory => 0o040_000,
        Kind::BlockDevice => 0o060_000,
        Kind::File => 0o100_000,
        Kind::Link => 0o120_000,
        Kind::Socket => 0o140_000,
    }
}

pub(super) const PLAN9_DIRECTORY: u32 = 0x8000_0000;
const BASIC: u64 = 0x7ff;
const BLOCK_BYTES: u64 = 4096;
const MAGIC: u32 = 0x0102_1997;
const MODE: u32 = 1;
const UID: u32 = 1 << 1;
const GID: u32 = 1 << 2;
const SIZE: u32 = 1 << 3;
const ACCESSED: u32 = 1 << 4;
const MODIFIED: u32 = 1 << 5;
const ACCESSED_GIVEN: u32 = 1 << 7;
const MODIFIED_GIVEN: u32 = 1 << 8;
