//! What a watched call names: read from the memory of whoever makes it, before the call is answered. Whoever
//! makes it may change the name meanwhile, or have none; only a note depends on it.

use std::os::fd::OwnedFd;

use plan::seccomp::{Arch, syscall_name};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use sys::seccomp::Notification;

/// What a call is about to do with what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    /// Finds out whether it is there, what it is or where it leads.
    Look,
    /// Opens it to read it.
    Read,
    /// Starts it.
    Execute,
    /// Changes what is there, which follows a link.
    Change,
    /// Changes what is there, or makes it.
    ChangeOrMake,
    /// Makes it, and fails where it is there already.
    Make,
    /// Puts something in its place or takes it away, and follows no link.
    Replace,
}

/// A name, and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Named {
    pub(super) deed: Deed,
    /// From the root, as it was written behind the directory that it begins at.
    pub(super) path: Vec<u8>,
}

/// All that a call names and that could be read.
pub(super) fn named(call: &Notification) -> Vec<Named> {
    let number = u32::try_from(call.number).unwrap_or(u32::MAX);
    let Some(name) = syscall_name(Arch::NATIVE, number) else { return Vec::new() };
    let Ok(memory) = open_of(call.thread, "mem") else { return Vec::new() };
    if name == "connect" {
        return socket_address(call, &memory).into_iter().collect();
    }
    let Some((_, shape, places)) = SHAPES.iter().find(|(known, _, _)| *known == name) else {
        return Vec::new();
    };
    let deed = match shape {
        Shape::Does(deed) => *deed,
        Shape::Opens(flags) => opening(argument(call, *flags)),
    };
    let read = |place: &Place| {
        let path = text(&memory, argument(call, place.path))?;
        Some(Named { deed, path: absolute(call, place.directory, path)? })
    };
    places.iter().filter_map(read).collect()
}

fn argument(call: &Notification, index: usize) -> u64 {
    call.arguments.get(index).copied().unwrap_or_default()
}

/// What an open with these flags is about to do.
fn opening(flags: u64) -> Deed {
    let flags = OFlags::from_bits_retain(u32::try_from(flags & 0xffff_ffff).unwrap_or_default());
    let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
    match (flags.contains(OFlags::CREATE), writes) {
        (true, true) => Deed::ChangeOrMake,
        (false, true) => Deed::Change,
        // Where it is there, it is only read.
        (true, false) => Deed::Make,
        (false, false) if flags.contains(OFlags::PATH) => Deed::Look,
        (false, false) => Deed::Read,
    }
}

/// A name in memory, up to its end.
fn text(memory: &OwnedFd, address: u64) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    let mut at = address;
    while path.len() < LONGEST_NAME {
        let mut chunk = [0_u8; CHUNK];
        // Not beyond the page: the next one may not be there.
        let in_page = usize::try_from(PAGE - at % PAGE).ok()?.min(CHUNK);
        let read = rustix::io::pread(memory, chunk.get_mut(..in_page)?, at).ok()?;
        let chunk = chunk.get(..read).filter(|chunk| !chunk.is_empty())?;
        if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
            path.extend(chunk.get(..end)?);
            return (!path.is_empty()).then_some(path);
        }
        path.extend(chunk);
        at = at.checked_add(u64::try_from(read).ok()?)?;
    }
    None
}

/// The path behind the directory that it begins at.
fn absolute(call: &Notification, directory: Option<usize>, path: Vec<u8>) -> Option<Vec<u8>> {
    if path.first() == Some(&b'/') {
        return Some(path);
    }
    let beginning = match directory.map(|index| argument(call, index)) {
        // The kernel cuts a descriptor to its lower half.
        Some(descriptor) if i64::from(descriptor as u32 as i32) != AT_FDCWD => {
            format!("fd/{}", descriptor & 0xffff_ffff)
        }
        _ => "cwd".to_owned(),
    };
    let link = format!("/proc/{}/{beginning}", call.thread);
    let base = rustix::fs::readlink(link.as_str(), Vec::new()).ok()?.into_bytes();
    // What is no directory of the tree has a name that is no path.
    (base.first() == Some(&b'/')).then(|| [base.as_slice(), b"/", &path].concat())
}

/// The path of a unix socket that a connection is made to.
fn socket_address(call: &Notification, memory: &OwnedFd) -> Option<Named> {
    let length = usize::try_from(argument(call, 2)).ok()?.min(LONGEST_ADDRESS);
    let mut address = [0_u8; LONGEST_ADDRESS];
    let read = rustix::io::pread(memory, address.get_mut(..length)?, argument(call, 1)).ok()?;
    let (family, path) = address.get(..read)?.split_at_checked(2)?;
    if family != libc_family_unix() {
        return None;
    }
    let path = path.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    Some(Named { deed: Deed::Look, path: absolute(call, None, path.to_owned())? })
}

fn libc_family_unix() -> [u8; 2] {
    1_u16.to_ne_bytes()
}

fn open_of(thread: u32, name: &str) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/{thread}/{name}");
    rustix::fs::openat(CWD, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Where a call has a name.
struct Place {
    /// The argument with the descriptor that the path begins at, if there is one.
    directory: Option<usize>,
    path: usize,
}

/// What a call does.
enum Shape {
    Does(Deed),
    /// Its flags, by their argument, say what.
    Opens(usize),
}

const fn at(directory: usize, path: usize) -> Place {
    Place { directory: Some(directory), path }
}

const fn plain(path: usize) -> Place {
    Place { directory: None, path }
}

/// Every call of the lists of watched ones but `connect`.
const SHAPES: &[(&str, Shape, &[Place])] = &[
    ("openat", Shape::Opens(2), &[at(0, 1)]),
    ("open", Shape::Opens(1), &[plain(0)]),
    ("newfstatat", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("fstatat", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("statx", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("stat", Shape::Does(Deed::Look), &[plain(0)]),
    ("lstat", Shape::Does(Deed::Look), &[plain(0)]),
    ("access", Shape::Does(Deed::Look), &[plain(0)]),
    ("faccessat", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("faccessat2", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("readlink", Shape::Does(Deed::Look), &[plain(0)]),
    ("readlinkat", Shape::Does(Deed::Look), &[at(0, 1)]),
    ("chdir", Shape::Does(Deed::Look), &[plain(0)]),
    ("execve", Shape::Does(Deed::Execute), &[plain(0)]),
    ("execveat", Shape::Does(Deed::Execute), &[at(0, 1)]),
    ("creat", Shape::Does(Deed::ChangeOrMake), &[plain(0)]),
    ("truncate", Shape::Does(Deed::Change), &[plain(0)]),
    ("chmod", Shape::Does(Deed::Change), &[plain(0)]),
    ("fchmodat", Shape::Does(Deed::Change), &[at(0, 1)]),
    ("fchmodat2", Shape::Does(Deed::Change), &[at(0, 1)]),
    ("mkdir", Shape::Does(Deed::Make), &[plain(0)]),
    ("mkdirat", Shape::Does(Deed::Make), &[at(0, 1)]),
    ("link", Shape::Does(Deed::Make), &[plain(1)]),
    ("linkat", Shape::Does(Deed::Make), &[at(2, 3)]),
    ("symlink", Shape::Does(Deed::Make), &[plain(1)]),
    ("symlinkat", Shape::Does(Deed::Make), &[at(1, 2)]),
    ("rmdir", Shape::Does(Deed::Replace), &[plain(0)]),
    ("unlink", Shape::Does(Deed::Replace), &[plain(0)]),
    ("unlinkat", Shape::Does(Deed::Replace), &[at(0, 1)]),
    ("rename", Shape::Does(Deed::Replace), &[plain(0), plain(1)]),
    ("renameat", Shape::Does(Deed::Replace), &[at(0, 1), at(2, 3)]),
    ("renameat2", Shape::Does(Deed::Replace), &[at(0, 1), at(2, 3)]),
];

const AT_FDCWD: i64 = -100;
const PAGE: u64 = 4096;
const CHUNK: usize = 256;
const LONGEST_NAME: usize = 4096;
/// `struct sockaddr_un`.
const LONGEST_ADDRESS: usize = 110;
