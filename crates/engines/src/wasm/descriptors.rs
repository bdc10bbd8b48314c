//! Calls about descriptors themselves: what they are, what they may be used for, closing and renumbering them, and what
//! is known of the files behind them.

use std::sync::Arc;

use vfs::{Allocate, NewTime, OpenFlags, SeekTo, Times};

use super::files;
use super::host::Guest;
use super::layout;
use super::refusal::{Outcome, Refusal};
use super::rights::Rights;
use super::table::{Descriptor, Opened};
use crate::streams::Stream;

pub(super) fn fd_advise(
    guest: &mut Guest<'_>,
    fd: u32,
    _offset: u64,
    length: u64,
    advice: u32,
) -> Outcome<()> {
    guest.host.table.find(fd)?.file(Rights::ADVISE)?;
    // Nothing is read ahead; what means nothing is refused all the same.
    if advice > LAST_ADVICE || i64::try_from(length).is_err() {
        return Err(Refusal::INVAL);
    }
    Ok(())
}

pub(super) fn fd_allocate(guest: &mut Guest<'_>, fd: u32, offset: u64, length: u64) -> Outcome<()> {
    let file = guest.host.table.find(fd)?.file(Rights::ALLOCATE)?;
    Ok(file.allocate(&guest.host.world.caller, Allocate::Extend, offset, length)?)
}

pub(super) fn fd_close(guest: &mut Guest<'_>, fd: u32) -> Outcome<()> {
    let closed = guest.host.table.remove(fd)?;
    close(guest, closed)
}

pub(super) fn fd_renumber(guest: &mut Guest<'_>, fd: u32, to: u32) -> Outcome<()> {
    match guest.host.table.renumber(fd, to)? {
        Some(closed) => close(guest, closed),
        None => Ok(()),
    }
}

fn close(guest: &Guest<'_>, closed: Descriptor) -> Outcome<()> {
    let (Opened::File(opened) | Opened::Directory(opened)) = closed.opened else { return Ok(()) };
    Ok(files::close(&guest.host.world, opened)?)
}

pub(super) fn fd_datasync(guest: &mut Guest<'_>, fd: u32) -> Outcome<()> {
    Ok(guest.host.table.find(fd)?.either(Rights::DATASYNC)?.sync()?)
}

pub(super) fn fd_sync(guest: &mut Guest<'_>, fd: u32) -> Outcome<()> {
    Ok(guest.host.table.find(fd)?.either(Rights::SYNC)?.sync()?)
}

pub(super) fn fd_fdstat_get(guest: &mut Guest<'_>, fd: u32, into: u32) -> Outcome<()> {
    let descriptor = guest.host.table.find(fd)?;
    let file_type = match &descriptor.opened {
        Opened::Directory(_) => layout::DIRECTORY,
        Opened::File(_) => layout::file_type(vfs::Kind::File),
        Opened::Stream(stream) => type_of_stream(guest, *stream),
    };
    let Descriptor { flags, rights, inheriting, .. } = descriptor;
    let record = layout::descriptor_stat(file_type, *flags, rights.0, inheriting.0);
    guest.memory.put(into, &record)
}

/// A file is opened anew where that changes how it is written: its other flags change nothing of it.
pub(super) fn fd_fdstat_set_flags(guest: &mut Guest<'_>, fd: u32, flags: u32) -> Outcome<()> {
    let flags = u16::try_from(flags).ok().filter(|flags| *flags <= ALL_FLAGS);
    let flags = flags.ok_or(Refusal::INVAL)?;
    let descriptor = guest.host.table.find(fd)?;
    descriptor.rights.require(Rights::SET_FLAGS)?;
    let changes_appending = (descriptor.flags ^ flags) & APPEND != 0;
    if let (Opened::File(file), true) = (&descriptor.opened, changes_appending) {
        let caller = &guest.host.world.caller;
        let how = OpenFlags { append: flags & APPEND != 0, ..opening(descriptor.rights) };
        let again = files::open_again(&guest.host.world, file, how)?;
        again.seek(caller, SeekTo::Start(file.seek(caller, SeekTo::Current(0))?))?;
        guest.host.table.find_mut(fd)?.opened = Opened::File(Arc::new(again));
    }
    guest.host.table.find_mut(fd)?.flags = flags;
    Ok(())
}

/// How a file with such rights is opened.
pub(super) const fn opening(rights: Rights) -> OpenFlags {
    let write = rights.has_any(Rights::WRITE.and(Rights::ALLOCATE).and(Rights::SET_SIZE));
    let read = rights.has_any(Rights::READ.and(Rights::READDIR)) || !write;
    OpenFlags { read, write, ..OpenFlags::NOTHING }
}

pub(super) fn fd_fdstat_set_rights(
    guest: &mut Guest<'_>,
    fd: u32,
    rights: u64,
    inheriting: u64,
) -> Outcome<()> {
    let descriptor = guest.host.table.find_mut(fd)?;
    let (rights, inheriting) = (Rights(rights), Rights(inheriting));
    descriptor.rights.require(rights)?;
    descriptor.inheriting.require(inheriting)?;
    (descriptor.rights, descriptor.inheriting) = (rights, inheriting);
    Ok(())
}

pub(super) fn fd_filestat_get(guest: &mut Guest<'_>, fd: u32, into: u32) -> Outcome<()> {
    let descriptor = guest.host.table.find(fd)?;
    descriptor.rights.require(Rights::STAT)?;
    let record = match &descriptor.opened {
        Opened::File(opened) | Opened::Directory(opened) => {
            layout::file_stat(&opened.attributes(&guest.host.world.caller)?)
        }
        Opened::Stream(stream) => layout::stream_stat(type_of_stream(guest, *stream)),
    };
    guest.memory.put(into, &record)
}

fn type_of_stream(guest: &Guest<'_>, stream: Stream) -> u8 {
    match guest.host.world.streams.is_terminal(stream) {
        true => layout::CHARACTER_DEVICE,
        false => layout::UNKNOWN,
    }
}

pub(super) fn fd_filestat_set_size(guest: &mut Guest<'_>, fd: u32, size: u64) -> Outcome<()> {
    let file = guest.host.table.find(fd)?.file(Rights::SET_SIZE)?;
    Ok(file.set_size(&guest.host.world.caller, size)?)
}

pub(super) fn fd_filestat_set_times(
    guest: &mut Guest<'_>,
    fd: u32,
    accessed: u64,
    modified: u64,
    which: u32,
) -> Outcome<()> {
    let times = times(accessed, modified, which)?;
    let opened = guest.host.table.find(fd)?.either(Rights::SET_TIMES)?;
    Ok(guest.host.world.files.set_times_of(&guest.host.world.caller, opened, times)?)
}

/// `fstflags`
pub(super) fn times(accessed: u64, modified: u64, which: u32) -> Outcome<Times> {
    let one = |given: u32, now: u32, time: u64| match (which & given != 0, which & now != 0) {
        (true, true) => Err(Refusal::INVAL),
        (true, false) => Ok(Some(NewTime::At(layout::timestamp(time)))),
        (false, true) => Ok(Some(NewTime::Now)),
        (false, false) => Ok(None),
    };
    if which > 15 {
        return Err(Refusal::INVAL);
    }
    Ok(Times { accessed: one(1, 2, accessed)?, modified: one(4, 8, modified)? })
}

pub(super) fn fd_prestat_get(guest: &mut Guest<'_>, fd: u32, into: u32) -> Outcome<()> {
    let name = preopened(guest, fd)?;
    let length = u32::try_from(name.len()).map_err(|_| Refusal::OVERFLOW)?;
    // The one kind that there is, a directory, and the length of its name.
    guest.memory.put_u64(into, u64::from(length) << 32)
}

pub(super) fn fd_prestat_dir_name(
    guest: &mut Guest<'_>,
    fd: u32,
    at: u32,
    length: u32,
) -> Outcome<()> {
    let name = preopened(guest, fd)?;
    if usize::try_from(length).is_ok_and(|length| length < name.len()) {
        return Err(rustix::io::Errno::NAMETOOLONG.into());
    }
    guest.memory.put(at, &name)
}

fn preopened(guest: &Guest<'_>, fd: u32) -> Outcome<Arc<[u8]>> {
    guest.host.table.find(fd)?.preopened.clone().ok_or(Refusal::BADF)
}

/// `append` of `fdflags`.
pub(super) const APPEND: u16 = 1;
/// All of `fdflags`.
pub(super) const ALL_FLAGS: u16 = 31;
const LAST_ADVICE: u32 = 5;
