//! The kernel calls of the host engine: by descriptor, or by one name beneath one. What a descriptor for reference alone
//! (`O_PATH`) cannot do goes through `/proc/self/fd`, where that descriptor is a name for the very same file.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::{OnceLock, RwLock};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, SeekFrom, Stat, StatxFlags, Timespec,
    Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
};
use rustix::io::Errno;

use crate::attributes::{ALL_MODE_BITS, Attributes, Kind, NewTime, Timestamp};
use crate::engine::{SetXattr, Use};
use crate::error::Result;
use crate::table::{read, write};

/// Opens a name beneath a directory, never through a link and never out of it. `.` is the directory itself.
pub(super) fn open_beneath(at: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
    open_or_create(at, name, flags, Mode::empty())
}

fn open_or_create(at: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    // The kernel gives up where names are moved about meanwhile; one name is found in the end.
    for _ in 0..MOST_TRIES {
        match rustix::fs::openat2(at, name, flags, mode, BENEATH) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return Ok(opened?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// What of the host can be reached from a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// What is in it, and not what is mounted there, which is somebody else's.
    Beneath,
    /// What is mounted there too, but for a `/proc`.
    Mounts,
}

impl Reach {
    /// Opens one name in a directory, never through a link. `.` is the directory itself.
    pub(super) fn open(self, at: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
        match self {
            Self::Beneath => open_beneath(at, name, flags),
            Self::Mounts => {
                if name.contains(&b'/') || name == b".." {
                    return Err(Errno::INVAL.into());
                }
                // A cage has no `openat2`. One name that is no `..` leads nowhere but into its directory, and a link
                // is opened itself.
                let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                Ok(rustix::fs::openat(at, name, flags, Mode::empty())?)
            }
        }
    }

    /// Makes a file where nothing has its name, and opens it.
    pub(super) fn create(
        self,
        at: BorrowedFd<'_>,
        name: &[u8],
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY;
        match self {
            Self::Beneath => open_or_create(at, name, flags, mode),
            Self::Mounts => Ok(rustix::fs::openat(at, name, flags | OFlags::CLOEXEC, mode)?),
        }
    }

    /// What tells one file from another, and keeps what is in a `/proc` from being held. A file that is shown twice, once
    /// read-only, is two where mounts are seen.
    pub(super) fn identity(self, held: &OwnedFd, found: &Stat) -> Result<(u64, u64)> {
        let mount = match self {
            Self::Beneath => 0,
            Self::Mounts => mount_of(held)?,
        };
        Ok((found.st_dev | (mount << 32), found.st_ino))
    }
}

/// The mount that a file is in. In `/proc` the memory and the descriptors of this very process are files.
fn mount_of(held: &OwnedFd) -> Result<u64> {
    // Mounts that are no `/proc`, by numbers that no other mount will have. The kernel gives such since 6.8.
    static OTHERS: RwLock<BTreeSet<u64>> = RwLock::new(BTreeSet::new());
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    let asked = StatxFlags::MNT_ID | UNIQUE_MOUNT;
    let found = rustix::fs::statx(held, "", flags, asked)?;
    let mount = found.stx_mnt_id;
    let is_unique = found.stx_mask & UNIQUE_MOUNT.bits() != 0;
    if is_unique && read(&OTHERS).contains(&mount) {
        return Ok(mount);
    }
    let system = rustix::fs::fstatfs(held)?.f_type;
    if u64::try_from(system).is_ok_and(|system| system == PROC) {
        return Err(Errno::ACCESS.into());
    }
    if is_unique {
        let mut others = write(&OTHERS);
        if others.len() >= MOST_MOUNTS {
            others.clear();
        }
        others.insert(mount);
    }
    Ok(mount)
}

/// How the kernel is asked for what a file is opened for.
pub(super) const fn access(how: Use) -> OFlags {
    match (how.read, how.write) {
        (_, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
    }
}

/// Opens a file that is held, for more than reference.
pub(super) fn open_again(held: &OwnedFd, flags: OFlags) -> Result<OwnedFd> {
    // It was a regular file when it was held, and a held file does not change its kind.
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    Ok(rustix::fs::open(by_descriptor(held), flags, Mode::empty())?)
}

/// Whether an open file has no places, so that it is read and written from where it is. A file system of its own may
/// show such files as regular ones.
pub(super) fn is_stream(open: &OwnedFd) -> bool {
    rustix::fs::seek(open, SeekFrom::Current(0)) == Err(Errno::SPIPE)
}

pub(super) fn link(held: &OwnedFd, at: BorrowedFd<'_>, name: &[u8]) -> Result<()> {
    match rustix::fs::linkat(held, "", at, name, AtFlags::EMPTY_PATH) {
        // Not for everybody, and since Linux 6.10 for whoever has opened it.
        Err(Errno::NOENT) => {}
        linked => return Ok(linked?),
    }
    Ok(rustix::fs::linkat(CWD, by_descriptor(held), at, name, AtFlags::SYMLINK_FOLLOW)?)
}

pub(super) fn chmod(held: &OwnedFd, mode: u32) -> Result<()> {
    Ok(rustix::fs::chmod(by_descriptor(held), Mode::from_raw_mode(mode & ALL_MODE_BITS))?)
}

pub(super) fn chown(held: &OwnedFd, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
    Ok(rustix::fs::chownat(held, "", uid, gid, AtFlags::EMPTY_PATH)?)
}

pub(super) fn set_times(
    held: &OwnedFd,
    accessed: Option<NewTime>,
    modified: Option<NewTime>,
) -> Result<()> {
    let time = |time: Option<NewTime>| match time {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(NewTime::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(NewTime::At(time)) => {
            Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() }
        }
    };
    let times = Timestamps { last_access: time(accessed), last_modification: time(modified) };
    Ok(rustix::fs::utimensat(held, "", &times, AtFlags::EMPTY_PATH)?)
}

pub(super) fn xattr(held: &OwnedFd, name: &[u8]) -> Result<Vec<u8>> {
    grown(|buffer| rustix::fs::getxattr(by_descriptor(held), name, buffer))
}

/// Whether a file has an access control list (`acl(5)`), or may have one.
pub(super) fn has_access_list(held: &OwnedFd) -> bool {
    let nothing = &mut [0_u8; 0][..];
    is_list(rustix::fs::getxattr(by_descriptor(held), ACCESS_LIST, nothing))
}

/// The same of a file that is open for more than reference: without the way through `/proc`, which takes longer than
/// everything else about a new file together.
pub(super) fn has_open_access_list(open: &OwnedFd) -> bool {
    let nothing = &mut [0_u8; 0][..];
    is_list(rustix::fs::fgetxattr(open, ACCESS_LIST, nothing))
}

fn is_list(asked: rustix::io::Result<usize>) -> bool {
    !matches!(asked, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

pub(super) fn xattrs(held: &OwnedFd) -> Result<Vec<Vec<u8>>> {
    let list = grown(|buffer| rustix::fs::listxattr(by_descriptor(held), buffer))?;
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    // What else there is means something to the host's kernel, and nothing to a guest.
    let families = [&b"user."[..], b"trusted."];
    let names = names.filter(|name| families.iter().any(|family| name.starts_with(family)));
    Ok(names.map(<[u8]>::to_vec).collect())
}

pub(super) fn set_xattr(held: &OwnedFd, name: &[u8], value: &[u8], how: SetXattr) -> Result<()> {
    let flags = match how {
        SetXattr::Any => XattrFlags::empty(),
        SetXattr::Create => XattrFlags::CREATE,
        SetXattr::Replace => XattrFlags::REPLACE,
    };
    Ok(rustix::fs::setxattr(by_descriptor(held), name, value, flags)?)
}

pub(super) fn remove_xattr(held: &OwnedFd, name: &[u8]) -> Result<()> {
    Ok(rustix::fs::removexattr(by_descriptor(held), name)?)
}

pub(super) fn kind_of(found: &Stat) -> Kind {
    of_type(FileType::from_raw_mode(found.st_mode))
}

pub(super) fn attributes(found: &Stat) -> Attributes {
    let time = |seconds: i64, nanoseconds| Timestamp {
        seconds,
        nanoseconds: u32::try_from(nanoseconds).unwrap_or_default(),
    };
    Attributes {
        number: found.st_ino,
        kind: kind_of(found),
        mode: found.st_mode & ALL_MODE_BITS,
        links: u32::try_from(found.st_nlink).unwrap_or(u32::MAX),
        uid: found.st_uid,
        gid: found.st_gid,
        device: found.st_rdev,
        size: u64::try_from(found.st_size).unwrap_or_default(),
        blocks: u64::try_from(found.st_blocks).unwrap_or_default(),
        accessed: time(found.st_atime, found.st_atime_nsec),
        modified: time(found.st_mtime, found.st_mtime_nsec),
        changed: time(found.st_ctime, found.st_ctime_nsec),
    }
}

/// The kernel's own name for what a descriptor is.
pub(super) fn by_descriptor(held: &OwnedFd) -> String {
    let directory = DESCRIPTORS.get().map_or("/proc/self/fd", |directory| &**directory);
    format!("{directory}/{}", held.as_fd().as_raw_fd())
}

/// Says where the kernel lists the descriptors of this process, where that is not `/proc/self/fd`: for one whose root has
/// nothing else of `/proc`. Only the first word counts.
pub fn descriptors_are_in(directory: &str) {
    let _said_before = DESCRIPTORS.set(directory.into());
}

static DESCRIPTORS: OnceLock<Box<str>> = OnceLock::new();

pub(super) const fn of_type(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile | FileType::Unknown => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharacterDevice,
        FileType::BlockDevice => Kind::BlockDevice,
    }
}

/// Asks with more room until it is enough.
fn grown(ask: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> Result<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        match ask(&mut buffer) {
            Ok(count) => {
                buffer.truncate(count);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < MOST_XATTR_BYTES => {
                buffer.resize(buffer.len() * 4, 0);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Where Linux keeps who else may have a file.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
const MOST_XATTR_BYTES: usize = 128 << 10;
const MOST_TRIES: u32 = 1000;

/// How names of one directory are found: without leaving it, and not in what is mounted in it, which is somebody
/// else's.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_XDEV);

/// `PROC_SUPER_MAGIC`
const PROC: u64 = 0x9fa0;
/// `STATX_MNT_ID_UNIQUE`
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);
const MOST_MOUNTS: usize = 1024;

/// What of the first number of an identity is a device: the kernel has 32 bits of that, and as many of a mount.
pub(super) const DEVICE: u64 = u32::MAX as u64;
