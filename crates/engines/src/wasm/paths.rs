//! Calls about paths, each from a directory that the module holds and never out of it.

use std::sync::Arc;

use vfs::{Follow, New, OpenFlags, Removal};

use super::descriptors::{ALL_FLAGS, APPEND, opening, times};
use super::files;
use super::host::Guest;
use super::layout;
use super::refusal::{Outcome, Refusal};
use super::rights::Rights;
use super::table::{Descriptor, Opened};

pub(super) fn path_create_directory(
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Outcome<()> {
    make(guest, (fd, Rights::CREATE_DIRECTORY), (path, length), New::Directory)
}

pub(super) fn path_symlink(
    guest: &mut Guest<'_>,
    target: u32,
    target_length: u32,
    fd: u32,
    path: u32,
    length: u32,
) -> Outcome<()> {
    let target = guest.path(target, target_length)?;
    make(guest, (fd, Rights::SYMLINK), (path, length), New::Link(&target))
}

fn make(
    guest: &Guest<'_>,
    (fd, rights): (u32, Rights),
    (path, length): (u32, u32),
    new: New<'_>,
) -> Outcome<()> {
    let directory = guest.directory(fd, rights)?;
    let path = guest.path(path, length)?;
    Ok(files::make(&guest.host.world, &directory, &path, new)?)
}

pub(super) fn path_filestat_get(
    guest: &mut Guest<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    into: u32,
) -> Outcome<()> {
    let directory = guest.directory(fd, Rights::PATH_STAT)?;
    let path = guest.path(path, length)?;
    let found = files::stat(&guest.host.world, &directory, &path, follow(flags))?;
    guest.memory.put(into, &layout::file_stat(&found))
}

#[expect(clippy::too_many_arguments, reason = "WASI has so many")]
pub(super) fn path_filestat_set_times(
    guest: &mut Guest<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    accessed: u64,
    modified: u64,
    which: u32,
) -> Outcome<()> {
    let times = times(accessed, modified, which)?;
    let directory = guest.directory(fd, Rights::PATH_SET_TIMES)?;
    let path = guest.path(path, length)?;
    Ok(files::set_times(&guest.host.world, &directory, &path, follow(flags), times)?)
}

#[expect(clippy::too_many_arguments, reason = "WASI has so many")]
pub(super) fn path_link(
    guest: &mut Guest<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    to: u32,
    new_path: u32,
    new_length: u32,
) -> Outcome<()> {
    let from = guest.directory(fd, Rights::LINK_SOURCE)?;
    let to = guest.directory(to, Rights::LINK_TARGET)?;
    let (path, new_path) = (guest.path(path, length)?, guest.path(new_path, new_length)?);
    let linked = (&*from, &*path, follow(flags));
    Ok(files::link(&guest.host.world, linked, (&to, &new_path))?)
}

pub(super) fn path_rename(
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    length: u32,
    to: u32,
    new_path: u32,
    new_length: u32,
) -> Outcome<()> {
    let from = guest.directory(fd, Rights::RENAME_SOURCE)?;
    let to = guest.directory(to, Rights::RENAME_TARGET)?;
    let (path, new_path) = (guest.path(path, length)?, guest.path(new_path, new_length)?);
    Ok(files::rename(&guest.host.world, (&from, &path), (&to, &new_path))?)
}

#[expect(clippy::too_many_arguments, reason = "WASI has so many")]
pub(super) fn path_open(
    guest: &mut Guest<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    how: u32,
    rights: u64,
    inheriting: u64,
    descriptor_flags: u32,
    into: u32,
) -> Outcome<()> {
    let descriptor_flags = u16::try_from(descriptor_flags).ok();
    let descriptor_flags = descriptor_flags.filter(|flags| *flags <= ALL_FLAGS);
    let descriptor_flags = descriptor_flags.ok_or(Refusal::INVAL)?;
    if how > ALL_OPEN_FLAGS {
        return Err(Refusal::INVAL);
    }
    let is_set = |flag: u32| how & flag != 0;
    let through = guest.host.table.find(fd)?;
    let directory = Arc::clone(through.directory(Rights::OPEN)?);
    let passed_on = through.inheriting;
    // Bits that mean nothing are not asked for.
    let (rights, inheriting) =
        (Rights(rights).within(Rights::ALL), Rights(inheriting).within(Rights::ALL));
    passed_on.require(rights.and(inheriting))?;
    for (flag, right) in [(CREATE, Rights::CREATE_FILE), (TRUNCATE, Rights::PATH_SET_SIZE)] {
        if is_set(flag) {
            through.rights.require(right)?;
        }
    }
    guest.host.table.has_room()?;
    let path = guest.path(path, length)?;
    let OpenFlags { read, write, .. } = opening(rights);
    let is_directory = is_set(DIRECTORY);
    let flags = OpenFlags {
        // Whoever opens a directory asks for all rights at once; none of them is writing it.
        read: read || is_directory,
        write: write && !is_directory,
        append: descriptor_flags & APPEND != 0,
        create: is_set(CREATE),
        exclusive: is_set(EXCLUSIVE),
        truncate: is_set(TRUNCATE),
        directory: is_directory,
        no_follow: follow(flags) == Follow::No,
        path: false,
    };
    let (opened, kind) = files::open(&guest.host.world, &directory, &path, flags)?;
    let is_directory = kind == vfs::Kind::Directory;
    let descriptor = Descriptor {
        opened: if is_directory { Opened::Directory(opened) } else { Opened::File(opened) },
        rights: rights.within(if is_directory { Rights::DIRECTORY } else { Rights::FILE }),
        inheriting: if is_directory { inheriting } else { Rights::NONE },
        flags: descriptor_flags,
        preopened: None,
    };
    let number = guest.host.table.add(descriptor)?;
    guest.memory.put_u32(into, number)
}

pub(super) fn path_readlink(
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    length: u32,
    at: u32,
    room: u32,
    used: u32,
) -> Outcome<()> {
    let directory = guest.directory(fd, Rights::READLINK)?;
    let path = guest.path(path, length)?;
    let mut target = files::read_link(&guest.host.world, &directory, &path)?;
    target.truncate(usize::try_from(room).unwrap_or(usize::MAX));
    guest.memory.put(at, &target)?;
    guest.memory.put_u32(used, u32::try_from(target.len()).map_err(|_| Refusal::OVERFLOW)?)
}

pub(super) fn path_remove_directory(
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Outcome<()> {
    remove(guest, (fd, Rights::REMOVE_DIRECTORY), (path, length), Removal::Directory)
}

pub(super) fn path_unlink_file(
    guest: &mut Guest<'_>,
    fd: u32,
    path: u32,
    length: u32,
) -> Outcome<()> {
    remove(guest, (fd, Rights::UNLINK), (path, length), Removal::File)
}

fn remove(
    guest: &Guest<'_>,
    (fd, rights): (u32, Rights),
    (path, length): (u32, u32),
    what: Removal,
) -> Outcome<()> {
    let directory = guest.directory(fd, rights)?;
    let path = guest.path(path, length)?;
    Ok(files::remove(&guest.host.world, &directory, &path, what)?)
}

/// `lookupflags`
const fn follow(flags: u32) -> Follow {
    if flags & 1 == 0 { Follow::No } else { Follow::Yes }
}

const CREATE: u32 = 1;
const DIRECTORY: u32 = 2;
const EXCLUSIVE: u32 = 4;
const TRUNCATE: u32 = 8;
const ALL_OPEN_FLAGS: u32 = 15;
