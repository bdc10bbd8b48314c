//! A tree into a directory of the host that is empty and nobody else's, and out of one. Every file is reached beneath
//! the directory, never through a link.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;
use vfs::{Host, HostMode, Limits, Timestamp};

use crate::engine::from_engine;
use crate::error::{SnapshotError, on_file, on_host};
use crate::item::{Contents, Item, ItemKind, Sink, split};

/// Gives everything below a directory of the host to a sink, but for what is left out.
///
/// # Errors
/// What could not be read, or what the sink refused.
pub fn read_host(
    directory: OwnedFd,
    leave_out: &dyn Fn(&[u8]) -> bool,
    sink: &mut dyn Sink,
) -> Result<(), SnapshotError> {
    let host = Host::new(directory, HostMode::ReadOnly, &Limits::default());
    from_engine(&host.map_err(on_file("open", b"/"))?, leave_out, sink)
}

/// Fills a directory of the host that is empty.
#[derive(Debug)]
pub struct IntoHost {
    directory: OwnedFd,
    /// Only root can give files away.
    gives: bool,
    /// Modes and times that are set when nothing comes into the directories any more.
    directories: Vec<(Vec<u8>, u32, Timestamp)>,
}

impl IntoHost {
    /// Into this one.
    pub fn new(directory: OwnedFd) -> Self {
        let gives = rustix::process::geteuid().is_root();
        Self { directory, gives, directories: Vec::new() }
    }

    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), resolve)
    }

    fn make(&self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError> {
        let failed = |call| on_host(call, &item.path);
        if item.path.is_empty() {
            return self.adorn(self.directory.as_fd(), b"", item);
        }
        let (directory, name) = split(&item.path);
        let parent =
            self.open(directory, OFlags::PATH | OFlags::DIRECTORY).map_err(failed("open"))?;
        let node = |kind| {
            rustix::fs::mknodat(&parent, name, kind, Mode::RUSR | Mode::WUSR, 0)
                .map_err(failed("mknod"))
        };
        match &item.kind {
            ItemKind::Directory => {
                match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
                    // It was needed before it came.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(failed("mkdir")(errno)),
                }
            }
            ItemKind::File(size) => self.write(&parent, name, *size, item, contents)?,
            ItemKind::Link(target) => {
                rustix::fs::symlinkat(&target[..], &parent, name).map_err(failed("symlink"))?;
            }
            ItemKind::HardLink(first) => {
                let (from, first_name) = split(first);
                let from =
                    self.open(from, OFlags::PATH | OFlags::DIRECTORY).map_err(failed("open"))?;
                return rustix::fs::linkat(&from, first_name, &parent, name, AtFlags::empty())
                    .map_err(failed("link"));
            }
            ItemKind::Fifo => node(FileType::Fifo)?,
            ItemKind::Socket => node(FileType::Socket)?,
            ItemKind::Whiteout => node(FileType::CharacterDevice)?,
        }
        self.adorn(parent.as_fd(), name, item)
    }

    fn write(
        &self,
        parent: &OwnedFd,
        name: &[u8],
        size: u64,
        item: &Item,
        contents: &mut dyn Contents,
    ) -> Result<(), SnapshotError> {
        let failed = |call| on_host(call, &item.path);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(failed("open"))?;
        let unread = |error| failed("read")(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let mut buffer = vec![0; BUFFER];
        let mut at = contents.pass_hole().map_err(unread)?;
        loop {
            let mut bytes = crate::archive::fill(contents, &mut buffer).map_err(unread)?;
            if bytes.is_empty() {
                break;
            }
            if bytes.iter().all(|byte| *byte == 0) {
                at += bytes.len() as u64 + contents.pass_hole().map_err(unread)?;
                continue;
            }
            while !bytes.is_empty() {
                let count = rustix::io::pwrite(&file, bytes, at).map_err(failed("write"))?;
                bytes = bytes.get(count..).unwrap_or_default();
                at += count as u64;
            }
        }
        rustix::fs::ftruncate(&file, size).map_err(failed("truncate"))?;
        rustix::fs::fsync(&file).map_err(failed("fsync"))
    }

    /// Owner before mode, as a change of the owner takes setuid away.
    fn adorn(&self, at: BorrowedFd<'_>, name: &[u8], item: &Item) -> Result<(), SnapshotError> {
        let failed = |call| on_host(call, &item.path);
        let empty = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        if self.gives {
            let (uid, gid) = (Uid::from_raw(item.uid), Gid::from_raw(item.gid));
            rustix::fs::chownat(at, name, Some(uid), Some(gid), empty).map_err(failed("chown"))?;
        }
        if matches!(item.kind, ItemKind::Link(_)) {
            return set_times(at, name, item.modified).map_err(failed("utimensat"));
        }
        if !item.xattrs.is_empty() {
            let opened = self.open(&item.path, OFlags::PATH).map_err(failed("open"))?;
            let path = by_descriptor(&opened);
            for (key, value) in &item.xattrs {
                rustix::fs::setxattr(&path, &key[..], value, XattrFlags::empty())
                    .map_err(failed("setxattr"))?;
            }
        }
        if item.kind == ItemKind::Directory {
            return Ok(());
        }
        let mode = Mode::from_raw_mode(item.mode);
        let opened = self.open(&item.path, OFlags::PATH).map_err(failed("open"))?;
        rustix::fs::chmodat(CWD, by_descriptor(&opened), mode, AtFlags::empty())
            .map_err(failed("chmod"))?;
        set_times(at, name, item.modified).map_err(failed("utimensat"))
    }
}

impl Sink for IntoHost {
    fn put(&mut self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError> {
        self.make(item, contents)?;
        if item.kind == ItemKind::Directory {
            self.directories.push((item.path.clone(), item.mode, item.modified));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SnapshotError> {
        // From the innermost on: one that may not be entered any more has everything.
        let mut directories = std::mem::take(&mut self.directories);
        directories.sort_by(|one, other| other.0.cmp(&one.0));
        for (path, mode, modified) in directories {
            let failed = |call| on_host(call, &path);
            let opened =
                self.open(&path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(failed("open"))?;
            rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode)).map_err(failed("chmod"))?;
            set_times(opened.as_fd(), b"", modified).map_err(failed("utimensat"))?;
            rustix::fs::fsync(&opened).map_err(failed("fsync"))?;
        }
        Ok(())
    }
}

fn set_times(at: BorrowedFd<'_>, name: &[u8], time: Timestamp) -> Result<(), Errno> {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    if name.is_empty() {
        return rustix::fs::futimens(at, &times);
    }
    rustix::fs::utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// The name that a process has for what it has open.
fn by_descriptor(opened: &OwnedFd) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    let text = format!("/proc/self/fd/{}", opened.as_raw_fd());
    std::path::PathBuf::from(std::ffi::OsStr::from_bytes(text.as_bytes()))
}

const BUFFER: usize = 256 << 10;
