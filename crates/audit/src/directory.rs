//! The directory of a log: its files, who may touch them, and the lock that orders writers. Never
//! follows a link; a writer never uses what somebody else could have written.

use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

use crate::error::AuditError;

/// An opened directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) descriptor: OwnedFd,
    pub(crate) path: PathBuf,
    purpose: Purpose,
    /// Device and inode.
    identity: (u64, u64),
}

/// What a directory is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Everything in it must be the caller's alone.
    Writing,
    /// Whose it is does not matter: reading trusts nothing.
    Reading,
}

/// The log is this process's alone until this is dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a>(&'a OwnedFd);

impl Directory {
    /// Opens the directory, and makes it for its owner alone if it is missing.
    pub(crate) fn make(path: &Path) -> Result<Self, AuditError> {
        match Self::open(path) {
            Err(AuditError::Kernel { call: "open", source: Errno::NOENT, .. }) => {}
            opened => return opened,
        }
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| AuditError::Kernel {
            call: "mkdir",
            path: path.to_owned(),
            source: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        })?;
        let made = Self::open(path)?;
        // The new name is durable with the directory above it.
        if let Ok(above) = rustix::fs::openat(&made.descriptor, "..", DIRECTORY, Mode::empty()) {
            rustix::fs::fsync(above).map_err(made.failed("fsync", ".."))?;
        }
        Ok(made)
    }

    /// Opens the directory to read in it.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, AuditError> {
        Self::open_for(path, Purpose::Reading)
    }

    fn open(path: &Path) -> Result<Self, AuditError> {
        Self::open_for(path, Purpose::Writing)
    }

    fn open_for(path: &Path, purpose: Purpose) -> Result<Self, AuditError> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|source| AuditError::Kernel { call: "open", path: path.to_owned(), source })?;
        let status = rustix::fs::fstat(&descriptor).map_err(|source| AuditError::Kernel {
            call: "fstat",
            path: path.to_owned(),
            source,
        })?;
        // Whoever keeps it open may change to another working directory.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let identity = (status.st_dev, status.st_ino);
        let directory = Self { descriptor, path, purpose, identity };
        directory.check_status(&status, "")?;
        Ok(directory)
    }

    /// Whether the directory is still the one at its path, and its owner's alone: whoever keeps it
    /// open would go on where nobody looks, or where others have written.
    pub(crate) fn check_place(&self) -> Result<(), AuditError> {
        let moved = |problem| Err(AuditError::Moved { path: self.path.clone(), problem });
        let status = match rustix::fs::lstat(&self.path) {
            Ok(status) => status,
            Err(Errno::NOENT | Errno::NOTDIR) => return moved("it was moved away or removed"),
            Err(errno) => return Err(self.failed("lstat", "")(errno)),
        };
        if (status.st_dev, status.st_ino) != self.identity {
            return moved("something else is in its place");
        }
        self.check_status(&status, "")
    }

    /// What is at the name of a file now, if anything is; it must be the owner's alone.
    pub(crate) fn status_of(&self, name: &str) -> Result<Option<Stat>, AuditError> {
        match rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => self.check_status(&status, name).map(|()| Some(status)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed("fstatat", name)(errno)),
        }
    }

    /// Opens a file of the log that exists.
    pub(crate) fn file(&self, name: &str, access: OFlags) -> Result<OwnedFd, AuditError> {
        // A FIFO must not hang whoever opens it: hence NONBLOCK, which regular files ignore.
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.descriptor, name, flags, mode)
            .map_err(self.failed("open", name))?;
        self.check(&file, name)?;
        Ok(file)
    }

    /// The same, or none if it does not exist.
    pub(crate) fn file_if_any(
        &self,
        name: &str,
        access: OFlags,
    ) -> Result<Option<OwnedFd>, AuditError> {
        match self.file(name, access) {
            Ok(file) => Ok(Some(file)),
            Err(AuditError::Kernel { call: "open", source: Errno::NOENT, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The numbers of the log's files, in order.
    pub(crate) fn numbers(&self) -> Result<Vec<u32>, AuditError> {
        // A second descriptor, because reading moves the offset that all threads share.
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let reading = rustix::fs::openat(&self.descriptor, ".", flags, Mode::empty())
            .map_err(self.failed("open", ""))?;
        let mut buffer = Vec::with_capacity(4096);
        let mut entries = RawDir::new(reading, buffer.spare_capacity_mut());
        let mut numbers = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(self.failed("getdents", ""))?;
            numbers.extend(entry.file_name().to_str().ok().and_then(number_of));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Makes a file with these contents, durably: written beside and renamed, so that there is never
    /// half of it.
    pub(crate) fn make_file(&self, name: &str, contents: &[u8]) -> Result<(), AuditError> {
        let new = format!("{name}.new");
        self.remove_file(&new)?;
        let file = self.file(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let mut file = std::fs::File::from(file);
        file.write_all(contents).and_then(|()| file.sync_all()).map_err(|error| {
            self.failed("write", &new)(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        rustix::fs::renameat(&self.descriptor, &new, &self.descriptor, name)
            .map_err(self.failed("rename", name))?;
        self.sync()
    }

    /// Removes a file; one that is gone already is no error.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), AuditError> {
        match rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed("unlink", name)(errno)),
        }
    }

    /// Makes names in the directory durable.
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        rustix::fs::fsync(&self.descriptor).map_err(self.failed("fsync", ""))
    }

    /// Waits until no other process writes. Bounded: a process that was stopped at the wrong moment
    /// must not hold up everybody for ever.
    pub(crate) fn lock<'a>(
        &self,
        lock: &'a OwnedFd,
        how: FlockOperation,
    ) -> Result<Locked<'a>, AuditError> {
        let mut pause = Duration::from_micros(20);
        let mut began = None;
        loop {
            match rustix::fs::flock(lock, how) {
                Ok(()) => return Ok(Locked(lock)),
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(self.failed("flock", LOCK_FILE)(errno)),
            }
            if began.get_or_insert_with(Instant::now).elapsed() > LONGEST_WAIT {
                let seconds = LONGEST_WAIT.as_secs();
                return Err(AuditError::Busy { path: self.path.clone(), seconds });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Makes an error about something in the directory.
    pub(crate) fn failed(
        &self,
        call: &'static str,
        name: &str,
    ) -> impl FnOnce(Errno) -> AuditError + use<> {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        move |source| AuditError::Kernel { call, path, source }
    }

    /// A log that is no longer what was written.
    pub(crate) fn damaged(&self, problem: String) -> AuditError {
        AuditError::Damaged { path: self.path.clone(), problem }
    }

    fn check(&self, object: impl AsFd, name: &str) -> Result<(), AuditError> {
        let status = rustix::fs::fstat(object).map_err(self.failed("fstat", name))?;
        self.check_status(&status, name)
    }

    fn check_status(&self, status: &Stat, name: &str) -> Result<(), AuditError> {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        let for_writing = self.purpose == Purpose::Writing;
        let own = rustix::process::geteuid().as_raw();
        let (why, fix) = if !is_file && !name.is_empty() {
            ("it is not a regular file".to_owned(), format!("rm {}", path.display()))
        } else if for_writing && status.st_uid != own {
            let why = format!("it belongs to user {} and you are user {own}", status.st_uid);
            (why, format!("chown {own} {}", path.display()))
        } else if for_writing && status.st_mode & WRITABLE_BY_OTHERS != 0 {
            ("others may write to it".to_owned(), format!("chmod go-w {}", path.display()))
        } else {
            return Ok(());
        };
        Err(AuditError::Untrustworthy { path, why, fix })
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Closing the descriptor would do the same.
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// The name of a file of the log.
pub(crate) fn file_name(number: u32) -> String {
    format!("{number:06}.jsonl")
}

/// The number of a file of the log; none for any other name.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".jsonl")?.parse().ok()?;
    (number > 0 && file_name(number) == name).then_some(number)
}

/// The file whose lock orders writers. Empty.
pub(crate) const LOCK_FILE: &str = "lock";

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A writer needs some microseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
