//! Calls that move bytes and positions: reading, writing, seeking, listing.

use std::sync::Arc;

use vfs::{OpenFile, SeekTo};

use super::host::Guest;
use super::layout;
use super::memory::Piece;
use super::refusal::{Outcome, Refusal};
use super::rights::Rights;
use super::table::Opened;
use crate::streams::Stream;

pub(super) fn fd_read(
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    read: u32,
) -> Outcome<()> {
    let pieces = guest.memory.pieces(list, count)?;
    let descriptor = guest.host.table.find(fd)?;
    descriptor.rights.require(Rights::READ).map_err(|_| Refusal::BADF)?;
    let total = match descriptor.opened.clone() {
        Opened::Directory(_) => return Err(Refusal::BADF),
        Opened::File(file) => each(guest, &pieces, |guest, piece| {
            Ok(file.read(guest.memory.bytes_mut(piece.at, piece.length)?)?)
        })?,
        Opened::Stream(_) => each(guest, &pieces, |guest, piece| {
            let into = guest.memory.bytes_mut(piece.at, piece.length)?;
            Ok(guest.host.world.streams.read(into)?)
        })?,
    };
    guest.memory.put_u32(read, total)
}

pub(super) fn fd_pread(
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    offset: u64,
    read: u32,
) -> Outcome<()> {
    let pieces = guest.memory.pieces(list, count)?;
    let file = file(guest, fd, Rights::READ.and(Rights::SEEK))?;
    let mut at = offset;
    let total = each(guest, &pieces, |guest, piece| {
        let count = file.read_at(at, guest.memory.bytes_mut(piece.at, piece.length)?)?;
        at = at.saturating_add(count as u64);
        Ok(count)
    })?;
    guest.memory.put_u32(read, total)
}

pub(super) fn fd_write(
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    written: u32,
) -> Outcome<()> {
    let pieces = guest.memory.pieces(list, count)?;
    let descriptor = guest.host.table.find(fd)?;
    descriptor.rights.require(Rights::WRITE).map_err(|_| Refusal::BADF)?;
    let flags = descriptor.flags;
    let total = match descriptor.opened.clone() {
        Opened::Directory(_) => return Err(Refusal::BADF),
        Opened::File(file) => {
            let total = each(guest, &pieces, |guest, piece| {
                let bytes = guest.memory.bytes(piece.at, piece.length)?;
                Ok(file.write(&guest.host.world.caller, bytes)?)
            })?;
            sync_if_asked(&file, flags)?;
            total
        }
        Opened::Stream(stream) => each(guest, &pieces, |guest, piece| {
            let bytes = guest.memory.bytes(piece.at, piece.length)?;
            Ok(guest.host.world.streams.write(stream, bytes)?)
        })?,
    };
    guest.memory.put_u32(written, total)
}

pub(super) fn fd_pwrite(
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    offset: u64,
    written: u32,
) -> Outcome<()> {
    let pieces = guest.memory.pieces(list, count)?;
    let file = file(guest, fd, Rights::WRITE.and(Rights::SEEK))?;
    let flags = guest.host.table.find(fd)?.flags;
    let mut at = offset;
    let total = each(guest, &pieces, |guest, piece| {
        let bytes = guest.memory.bytes(piece.at, piece.length)?;
        let count = file.write_at(&guest.host.world.caller, at, bytes)?;
        at = at.saturating_add(count as u64);
        Ok(count)
    })?;
    sync_if_asked(&file, flags)?;
    guest.memory.put_u32(written, total)
}

/// One piece after the other, until one is not done in full. What was done before an error counts.
fn each(
    guest: &mut Guest<'_>,
    pieces: &[Piece],
    mut transfer: impl FnMut(&mut Guest<'_>, Piece) -> Outcome<usize>,
) -> Outcome<u32> {
    let mut total: u32 = 0;
    for piece in pieces.iter().filter(|piece| piece.length > 0) {
        let count = match transfer(guest, *piece) {
            Ok(count) => u32::try_from(count).unwrap_or(piece.length),
            Err(_) if total > 0 => break,
            Err(refusal) => return Err(refusal),
        };
        total = total.saturating_add(count);
        if count < piece.length {
            break;
        }
    }
    Ok(total)
}

fn file(guest: &Guest<'_>, fd: u32, rights: Rights) -> Outcome<Arc<OpenFile>> {
    guest.host.table.find(fd)?.file(rights).map(Arc::clone)
}

fn sync_if_asked(file: &OpenFile, flags: u16) -> Outcome<()> {
    if flags & SYNCHRONOUS != 0 {
        file.sync()?;
    }
    Ok(())
}

pub(super) fn fd_seek(
    guest: &mut Guest<'_>,
    fd: u32,
    offset: u64,
    whence: u32,
    into: u32,
) -> Outcome<()> {
    let by = offset.cast_signed();
    let (to, rights) = match whence {
        0 => (SeekTo::Start(u64::try_from(by).map_err(|_| Refusal::INVAL)?), Rights::SEEK),
        1 if by == 0 => (SeekTo::Current(0), Rights::TELL),
        1 => (SeekTo::Current(by), Rights::SEEK),
        2 => (SeekTo::End(by), Rights::SEEK),
        _ => return Err(Refusal::INVAL),
    };
    let at = file(guest, fd, rights)?.seek(&guest.host.world.caller, to)?;
    guest.memory.put_u64(into, at)
}

pub(super) fn fd_tell(guest: &mut Guest<'_>, fd: u32, into: u32) -> Outcome<()> {
    let file = file(guest, fd, Rights::TELL)?;
    let at = file.seek(&guest.host.world.caller, SeekTo::Current(0))?;
    guest.memory.put_u64(into, at)
}

/// The last entry is cut off where there is no more room, which is how a module learns that there are more.
pub(super) fn fd_readdir(
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    length: u32,
    cookie: u64,
    used: u32,
) -> Outcome<()> {
    let directory = guest.directory(fd, Rights::READDIR)?;
    let room = usize::try_from(length).map_err(|_| Refusal::OVERFLOW)?;
    guest.memory.bytes(at, length)?;
    directory.seek(&guest.host.world.caller, SeekTo::Start(cookie))?;
    let mut entries = Vec::new();
    directory.list(|listed| {
        let name_length = u32::try_from(listed.name.len()).unwrap_or_default();
        let entry = layout::entry(listed.cookie, listed.number, name_length, listed.kind);
        entries.extend_from_slice(&entry);
        entries.extend_from_slice(listed.name);
        entries.len() < room
    })?;
    entries.truncate(room);
    guest.memory.put(at, &entries)?;
    guest.memory.put_u32(used, u32::try_from(entries.len()).map_err(|_| Refusal::OVERFLOW)?)
}

impl Stream {
    /// Which descriptor it is.
    pub(super) const fn is_read(self) -> bool {
        matches!(self, Self::Input)
    }
}

/// `dsync`, `rsync` and `sync` of `fdflags`.
const SYNCHRONOUS: u16 = 2 | 8 | 16;
