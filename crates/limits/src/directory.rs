//! A control group as an open directory. Everything in it is reached from the descriptor and without
//! following any symbolic link; the path is for messages alone.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::LimitsError;
use crate::hierarchy::Place;

/// Which kind of hierarchy a directory must be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// An open control group.
#[derive(Debug)]
pub(crate) struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens a group that this process is in. Refused with `EINVAL` if no such hierarchy is there.
    pub(crate) fn open(place: &Place, version: Version) -> Result<Self, LimitsError> {
        let path = place.path();
        let failed = |errno| LimitsError::kernel("open", &path, errno);
        let mount = rustix::fs::openat(CWD, &place.mount_point, DIRECTORY, Mode::empty());
        let mount = mount.map_err(failed)?;
        let magic = match version {
            Version::One => CGROUP_SUPER_MAGIC,
            Version::Two => CGROUP2_SUPER_MAGIC,
        };
        if rustix::fs::fstatfs(&mount).map_err(failed)?.f_type != magic {
            return Err(failed(Errno::INVAL));
        }
        if place.relative.as_os_str().is_empty() {
            return Ok(Self { descriptor: mount, path });
        }
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let opened =
            rustix::fs::openat2(&mount, &place.relative, DIRECTORY, Mode::empty(), resolve);
        Ok(Self { descriptor: opened.map_err(failed)?, path })
    }

    /// Any directory, for tests of what only reads files.
    #[cfg(test)]
    pub(crate) fn of_test(path: &Path) -> Self {
        let descriptor = rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty()).unwrap();
        Self { descriptor, path: path.to_owned() }
    }

    /// Makes a group below this one.
    pub(crate) fn make(&self, name: &str) -> Result<Self, LimitsError> {
        let path = self.path.join(name);
        let made = rustix::fs::mkdirat(&self.descriptor, name, Mode::from_raw_mode(0o755));
        made.map_err(|errno| LimitsError::kernel("make the control group", &path, errno))?;
        self.child(name)
    }

    /// Opens a group right below this one.
    pub(crate) fn child(&self, name: &str) -> Result<Self, LimitsError> {
        let path = self.path.join(name);
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Self { descriptor, path }),
            Err(errno) => Err(LimitsError::kernel("open", &path, errno)),
        }
    }

    /// Removes a group right below this one. One that is gone already is as wanted.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether this process may make groups here.
    pub(crate) fn may_make(&self) -> Result<(), Errno> {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&self.descriptor, c".", access, AtFlags::EACCESS)
    }

    /// Whether this process may write a file.
    pub(crate) fn may_write(&self, file: &str) -> Result<(), Errno> {
        rustix::fs::accessat(&self.descriptor, file, Access::WRITE_OK, AtFlags::EACCESS)
    }

    pub(crate) fn open_file(&self, file: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.descriptor, file, flags, Mode::empty())
    }

    /// The text of a file, or of its beginning if it is very long.
    pub(crate) fn read(&self, file: &str) -> Result<String, Errno> {
        read_all(&self.open_file(file, OFlags::RDONLY)?)
    }

    /// Gives a file a value.
    pub(crate) fn write(&self, file: &str, value: impl ToString) -> Result<(), LimitsError> {
        self.try_write(file, value)
            .map_err(|errno| LimitsError::kernel("set", &self.path.join(file), errno))
    }

    /// As [`Self::write`], for who knows what a refusal means.
    pub(crate) fn try_write(&self, file: &str, value: impl ToString) -> Result<(), Errno> {
        let opened = self.open_file(file, OFlags::WRONLY)?;
        let value = value.to_string();
        match rustix::io::write(&opened, value.as_bytes())? {
            written if written == value.len() => Ok(()),
            _ => Err(Errno::IO),
        }
    }

    /// The processes in the group that this process can name.
    pub(crate) fn processes(&self) -> Result<Vec<Pid>, Errno> {
        let text = self.read(PROCESSES)?;
        let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
        Ok(numbers.filter_map(Pid::from_raw).collect())
    }

    /// Kills every process of the group, new ones too, until none is left or the time is up.
    pub(crate) fn kill_each(&self, deadline: Instant) -> Result<(), LimitsError> {
        let processes = || match self.processes() {
            // Every group has this file, so the group itself is gone, after its last process.
            Err(Errno::NOENT | Errno::NODEV) => Ok(Vec::new()),
            read => {
                read.map_err(|errno| LimitsError::kernel("read", &self.path.join(PROCESSES), errno))
            }
        };
        loop {
            let left = processes()?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(LimitsError::StillInUse { path: self.path.clone(), left: left.len() });
            }
            let handles: Vec<_> = left
                .into_iter()
                .filter_map(|pid| Some((pid, rustix::process::pidfd_open(pid, NONE).ok()?)))
                .collect();
            // A process that is in the group after its handle was opened is the one that the handle
            // is of, or that one is gone: no other can be hit.
            let still = processes()?;
            for (_, handle) in handles.iter().filter(|(pid, _)| still.contains(pid)) {
                let _gone = rustix::process::pidfd_send_signal(handle, Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Removes a group below this one as soon as its last process is gone.
    pub(crate) fn remove_when_empty(
        &self,
        name: &str,
        deadline: Instant,
    ) -> Result<(), LimitsError> {
        let mut pause = Duration::from_micros(50);
        loop {
            let errno = match self.remove(name) {
                Ok(()) => return Ok(()),
                Err(errno) => errno,
            };
            let path = self.path.join(name);
            if errno != Errno::BUSY {
                return Err(LimitsError::kernel("remove the control group", &path, errno));
            }
            if Instant::now() > deadline {
                let left = self.child(name)?.processes().map_or(0, |left| left.len());
                return Err(LimitsError::StillInUse { path, left });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// For a person.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all groups right below this one.
    pub(crate) fn children(&self) -> Result<Vec<String>, Errno> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = OsStr::to_str(std::os::unix::ffi::OsStrExt::from_bytes(
                entry.file_name().to_bytes(),
            ));
            if let (rustix::fs::FileType::Directory, Some(name)) = (entry.file_type(), name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The text of an open file from its beginning; the descriptor may have been read before.
pub(crate) fn read_all(file: &OwnedFd) -> Result<String, Errno> {
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 4096];
    while bytes.len() < MOST_TEXT {
        let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match rustix::io::pread(file, &mut chunk, offset)? {
            0 => break,
            read => bytes.extend_from_slice(chunk.get(..read).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file that lists the processes of a group and takes new ones.
pub(crate) const PROCESSES: &str = "cgroup.procs";

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
const NONE: PidfdFlags = PidfdFlags::empty();
const PAUSE: Duration = Duration::from_millis(2);
const MOST_TEXT: usize = 1 << 20;

// From linux/magic.h.
const CGROUP_SUPER_MAGIC: rustix::fs::FsWord = 0x0027_e0eb;
const CGROUP2_SUPER_MAGIC: rustix::fs::FsWord = 0x6367_7270;
