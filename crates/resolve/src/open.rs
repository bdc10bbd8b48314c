//! The one place that opens granted host paths. Opens for reference (`O_PATH`), and directories once more to
//! read the names in them: nothing is written, triggered or waited for. Tells where the opened
//! object really is, and never takes a path's word for it.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use plan::{FileKind, HostPath, Source};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDirEntry, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::path::DecInt;
use rustix::process::{Resource, Rlimit};

#[cfg(test)]
mod tests;

/// Opens paths, and asks the kernel where what was opened lies.
pub(super) struct Opener {
    /// `/proc/self/fd`: looking a number up in it is cheaper than walking there every time.
    own_descriptors: OwnedFd,
    /// The process's limit of descriptors, if it had to be raised; put back in the end.
    limit_before: Cell<Option<Rlimit>>,
}

/// A host object.
pub(super) struct Opened {
    /// Refers to it, whatever its name becomes.
    pub(super) descriptor: OwnedFd,
    /// Where it was found, with every symlink resolved.
    pub(super) path: HostPath,
    /// What it is.
    pub(super) status: Status,
}

/// What the kernel says about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) file_type: FileType,
    pub(super) permissions: u32,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) links: u64,
    pub(super) owner: (u32, u32),
    /// The device that a device node stands for.
    pub(super) represents: u64,
}

/// Why a path could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenFailure {
    Missing,
    /// A step led out of the directory that it must stay beneath.
    Leaves,
    /// A step led through a link of `/proc`, which leads to an object and not to a path.
    MagicLink,
    NotADirectory,
    Denied,
    Loop,
    TooLong,
    /// Renamed or removed between two looks at it.
    Moved,
    /// Anything else.
    Kernel {
        call: &'static str,
        errno: Errno,
    },
}

impl Opener {
    pub(super) fn new() -> Result<Self, OpenFailure> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own_descriptors = rustix::fs::open("/proc/self/fd", flags, Mode::empty())
            .map_err(|errno| OpenFailure::Kernel { call: "open /proc/self/fd", errno })?;
        Ok(Self { own_descriptors, limit_before: Cell::new(None) })
    }

    /// Opens a path from the root of the host, through any symlink but those of `/proc`.
    pub(super) fn anywhere(&self, path: &HostPath) -> Result<Opened, OpenFailure> {
        match self.reference(CWD, path.as_bytes(), ResolveFlags::NO_SYMLINKS) {
            // No step was a link: the path is where the object is.
            Ok(descriptor) => Opened::new(descriptor, path.clone()),
            Err(Errno::LOOP) => {
                self.through_links(CWD, path.as_bytes(), ResolveFlags::NO_MAGICLINKS)
            }
            Err(errno) => Err(failure(errno)),
        }
    }

    /// Opens a path from the root of the host if no step on the way is a symlink.
    pub(super) fn without_links(&self, path: &HostPath) -> Result<Opened, OpenFailure> {
        match self.reference(CWD, path.as_bytes(), ResolveFlags::NO_SYMLINKS) {
            Ok(descriptor) => Opened::new(descriptor, path.clone()),
            Err(errno) => Err(failure(errno)),
        }
    }

    /// Opens a path that must stay beneath `root` at every step, links included.
    ///
    /// The kernel refuses a step that leaves, also when somebody renames directories meanwhile;
    /// afterwards the object's place is compared once more, because it can have been moved out
    /// after the walk.
    pub(super) fn beneath(&self, root: &Opened, relative: &[u8]) -> Result<Opened, OpenFailure> {
        let relative = if relative.is_empty() { b"." } else { relative };
        let without_links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let with_links = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let start = root.descriptor.as_fd();
        match self.reference(start, relative, without_links) {
            Ok(descriptor) => {
                let below = if relative == b"." { b"" } else { relative };
                let place = root.path.join(below).map_err(|_| OpenFailure::TooLong)?;
                Opened::new(descriptor, place)
            }
            Err(Errno::LOOP) => {
                let opened = self.through_links(start, relative, with_links)?;
                if opened.path.is_within(&root.path) {
                    Ok(opened)
                } else {
                    Err(OpenFailure::Leaves)
                }
            }
            Err(errno) => Err(failure(errno)),
        }
    }

    /// Opens a directory to read the names in it, if no step on the way is a symlink.
    pub(super) fn open_to_list(&self, path: &HostPath) -> Result<OwnedFd, Errno> {
        self.open(CWD, path.as_bytes(), TO_LIST, ResolveFlags::NO_SYMLINKS)
    }

    /// Calls a function with a descriptor that reads the names in an opened directory.
    pub(super) fn list<R>(
        &self,
        directory: &Opened,
        read: impl FnOnce(&OwnedFd) -> R,
    ) -> Result<R, Errno> {
        let held = directory.descriptor.as_fd();
        self.open(held, b".", TO_LIST, ResolveFlags::NO_SYMLINKS).map(|opened| read(&opened))
    }

    /// Gives the caller room below its own limit: that is a limit on the numbers of descriptors, and
    /// whoever holds these has to open something, too. A few are enough to have no need of it.
    pub(super) fn leave_room(&self, descriptors: &mut [OwnedFd]) {
        let before = self.limit_before.get();
        if before.is_none() && descriptors.len() < FEW {
            return;
        }
        let now = rustix::process::getrlimit(Resource::Nofile);
        let Some(limit) = before.unwrap_or(now).current else { return };
        let Ok(limit) = i32::try_from(limit) else { return };
        let highest = descriptors.iter().map(AsRawFd::as_raw_fd).max().unwrap_or_default();
        if highest < limit.saturating_sub(ROOM) {
            return;
        }
        if before.is_none() && !self.raise_descriptor_limit() {
            return;
        }
        let low = descriptors.iter_mut().filter(|descriptor| descriptor.as_raw_fd() < limit);
        for descriptor in low.take(usize::try_from(ROOM).unwrap_or_default()) {
            // Where the hard limit is reached there is no room to be had.
            let Ok(moved) = rustix::io::fcntl_dupfd_cloexec(&*descriptor, limit) else { return };
            *descriptor = moved;
        }
    }

    fn through_links(
        &self,
        start: BorrowedFd<'_>,
        path: &[u8],
        resolve: ResolveFlags,
    ) -> Result<Opened, OpenFailure> {
        let descriptor = match self.reference(start, path, resolve) {
            Ok(descriptor) => descriptor,
            Err(Errno::LOOP) => return Err(self.which_loop(start, path, resolve)),
            Err(errno) => return Err(failure(errno)),
        };
        let place = self.place(&descriptor)?;
        let opened = Opened::new(descriptor, place)?;
        // The kernel marks what has no name any more by a suffix, which a living name can have too.
        if opened.path.as_bytes().ends_with(b" (deleted)") {
            let again = self.without_links(&opened.path).map_err(|_| OpenFailure::Moved)?;
            if !again.status.is_same_object(&opened.status) {
                return Err(OpenFailure::Moved);
            }
        }
        Ok(opened)
    }

    /// Where an opened object lies at this moment.
    fn place(&self, descriptor: &OwnedFd) -> Result<HostPath, OpenFailure> {
        let number = DecInt::from_fd(descriptor);
        let place = rustix::fs::readlinkat(&self.own_descriptors, number, Vec::new())
            .map_err(|errno| OpenFailure::Kernel { call: "readlink /proc/self/fd", errno })?;
        // An object outside this process's root has no path that begins with a slash.
        HostPath::new(place.into_bytes()).map_err(|_| OpenFailure::Moved)
    }

    /// `ELOOP` stands for too many links and for a link that must not be followed; the second kind
    /// goes away, or becomes `EXDEV`, where such links may be followed. What is opened here is
    /// dropped.
    fn which_loop(&self, start: BorrowedFd<'_>, path: &[u8], resolve: ResolveFlags) -> OpenFailure {
        let tolerant = resolve.difference(ResolveFlags::NO_MAGICLINKS);
        match self.reference(start, path, tolerant) {
            Err(Errno::LOOP) => OpenFailure::Loop,
            _ => OpenFailure::MagicLink,
        }
    }

    fn reference(
        &self,
        start: BorrowedFd<'_>,
        path: &[u8],
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        self.open(start, path, OFlags::PATH | OFlags::CLOEXEC, resolve)
    }

    /// `openat2` answers `EAGAIN` when directories were renamed under a walk that must stay beneath
    /// one. An attacker can cause that at will, so the number of tries is bounded.
    fn open(
        &self,
        start: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        let mut outcome = Err(Errno::AGAIN);
        let mut may_raise = true;
        for _ in 0..MOST_TRIES {
            outcome = rustix::fs::openat2(start, path, flags, Mode::empty(), resolve);
            match outcome {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::MFILE) if may_raise => {
                    may_raise = false;
                    self.raise_descriptor_limit();
                }
                _ => return outcome,
            }
        }
        outcome
    }

    /// The usual soft limit is 1024 descriptors, and every grant needs one. Says whether it is higher
    /// than it was.
    fn raise_descriptor_limit(&self) -> bool {
        let before = rustix::process::getrlimit(Resource::Nofile);
        if before.current == before.maximum {
            return self.limit_before.get().is_some();
        }
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        let done = rustix::process::setrlimit(Resource::Nofile, raised).is_ok();
        if done {
            self.limit_before.set(Some(before));
        }
        done
    }
}

/// The caller, and whatever it starts, keeps the limit that it had. Descriptors that are open beyond
/// it stay open.
impl Drop for Opener {
    fn drop(&mut self) {
        if let Some(before) = self.limit_before.take() {
            // Lowering a soft limit is always allowed; were it refused, the higher one would do no
            // harm here.
            let _ = rustix::process::setrlimit(Resource::Nofile, before);
        }
    }
}

impl Opened {
    /// What a Plan says about it.
    pub(super) fn described(&self) -> Source {
        Source {
            path: self.path.clone(),
            kind: self.status.kind(),
            device: self.status.device,
            inode: self.status.inode,
        }
    }

    fn new(descriptor: OwnedFd, path: HostPath) -> Result<Self, OpenFailure> {
        let status = rustix::fs::fstat(&descriptor)
            .map_err(|errno| OpenFailure::Kernel { call: "fstat", errno })?;
        Ok(Self { descriptor, path, status: Status::from(&status) })
    }
}

impl Status {
    pub(super) fn is_directory(&self) -> bool {
        self.file_type == FileType::Directory
    }

    pub(super) fn is_regular_file(&self) -> bool {
        self.file_type == FileType::RegularFile
    }

    pub(super) fn kind(&self) -> FileKind {
        if self.is_directory() { FileKind::Directory } else { FileKind::File }
    }

    /// What tells it from every other object.
    pub(super) fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    pub(super) fn is_same_object(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl From<&Stat> for Status {
    fn from(status: &Stat) -> Self {
        Self {
            file_type: FileType::from_raw_mode(status.st_mode),
            permissions: status.st_mode & 0o7777,
            device: status.st_dev,
            inode: status.st_ino,
            // Narrower on some architectures.
            #[allow(clippy::useless_conversion)]
            links: u64::from(status.st_nlink),
            owner: (status.st_uid, status.st_gid),
            represents: status.st_rdev,
        }
    }
}

/// What a name in a listed directory stands for, links not followed. Some file systems do not tell
/// while listing, and are asked.
pub fn kind_of(directory: impl AsFd, entry: &RawDirEntry<'_>) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |status| FileType::from_raw_mode(status.st_mode))
        }
        known => known,
    }
}

/// Whether a directory was not listed for want of something that this process or the machine has too
/// little of. What was not looked into then must not be shown; one that is closed to its caller is
/// closed to a cage as well.
pub(super) fn is_shortage(errno: Errno) -> bool {
    matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

fn failure(errno: Errno) -> OpenFailure {
    match errno {
        Errno::NOENT => OpenFailure::Missing,
        Errno::XDEV => OpenFailure::Leaves,
        Errno::NOTDIR => OpenFailure::NotADirectory,
        Errno::ACCESS => OpenFailure::Denied,
        Errno::LOOP => OpenFailure::Loop,
        Errno::NAMETOOLONG => OpenFailure::TooLong,
        errno => OpenFailure::Kernel { call: "openat2", errno },
    }
}

/// To read the names in a directory. Anything else is not opened, so that nothing is triggered.
const TO_LIST: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

const MOST_TRIES: usize = 256;

/// As many descriptors as every limit allows.
const FEW: usize = 512;

/// How many a supervisor and its libraries may need.
const ROOM: i32 = 128;
