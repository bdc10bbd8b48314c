//! The files that tools see: a directory that is open, and nothing that leads out of it. Every path is looked up by the
//! kernel beneath that descriptor (`openat2`), or, where a cage answers that call with "no such call", step by step in
//! the same way (`root/steps.rs`). Never looks a path up twice to decide about it.

mod steps;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat};
use rustix::io::Errno;

use crate::error::{ErrorKind, ToolError};

/// A directory that tools cannot leave.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// What a model calls it: absolute.
    shown: PathBuf,
    /// Where relative paths begin, below `shown`.
    working: PathBuf,
}

impl Root {
    /// A directory; what a model calls it; and where relative paths begin, which is below it.
    ///
    /// # Errors
    /// If it cannot be opened, or the working directory is not below it.
    pub fn open(directory: &Path, shown: &Path, working: &Path) -> Result<Self, ToolError> {
        let name = directory.display().to_string();
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let directory = rustix::fs::open(directory, flags, Mode::empty())
            .map_err(|errno| ToolError::of_path("open", &name, errno))?;
        let working = working.strip_prefix(shown).map_err(|_| {
            ToolError::new(
                ErrorKind::Outside,
                format!("`{}` is not below `{}`", working.display(), shown.display()),
            )
        })?;
        Ok(Self { directory, shown: shown.to_owned(), working: working.to_owned() })
    }

    /// Where relative paths begin, as a model knows it.
    pub fn working_directory(&self) -> PathBuf {
        self.shown.join(&self.working)
    }

    /// A path below the root. Nothing has been looked up yet.
    pub(crate) fn below(&self, text: &str) -> Result<PathBuf, ToolError> {
        let error = |kind, text: String| Err(ToolError::new(kind, text));
        if text.is_empty() || text.contains('\0') {
            return error(
                ErrorKind::Arguments,
                "a path is not empty and has no zero byte".to_owned(),
            );
        }
        if text.len() > MOST_PATH {
            return error(ErrorKind::Arguments, format!("a path has at most {MOST_PATH} bytes"));
        }
        let path = Path::new(text);
        if !path.is_absolute() {
            return Ok(self.working.join(path));
        }
        match path.strip_prefix(&self.shown) {
            Ok(rest) => Ok(rest.to_owned()),
            Err(_) => error(
                ErrorKind::Outside,
                format!(
                    "`{text}` is outside; everything that can be seen is below `{}`",
                    self.shown.display()
                ),
            ),
        }
    }

    /// Opens something, as the kernel sees it from the root.
    pub(crate) fn open_at(
        &self,
        below: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, Errno> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        // From `/` every link leads to where it says; from elsewhere an absolute one would lead out.
        let resolve = match self.shown == Path::new("/") {
            true => ResolveFlags::IN_ROOT,
            false => ResolveFlags::BENEATH,
        };
        match rustix::fs::openat2(
            &self.directory,
            below,
            flags,
            mode,
            resolve | ResolveFlags::NO_MAGICLINKS,
        ) {
            Err(Errno::NOSYS) => steps::open(&self.directory, below, flags, mode, resolve),
            // Something was renamed on the way: the kernel asks for another try.
            Err(Errno::AGAIN) => Err(Errno::BUSY),
            opened => opened,
        }
    }

    /// Opens a regular file to read it.
    pub(crate) fn read(&self, text: &str) -> Result<Opened, ToolError> {
        let opened =
            self.open_at(&self.below(text)?, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        Opened::regular(text, opened)
    }

    /// Opens a regular file that exists, to read and write it.
    pub(crate) fn change(&self, text: &str) -> Result<Opened, ToolError> {
        let opened =
            self.open_at(&self.below(text)?, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty());
        Opened::regular(text, opened)
    }

    /// Makes a file that does not exist, with the directories above it.
    pub(crate) fn make(&self, text: &str) -> Result<Opened, ToolError> {
        let below = self.below(text)?;
        let parent = below.parent().unwrap_or(Path::new(""));
        let (Some(name), false) = (below.file_name(), text.ends_with('/')) else {
            return Err(ToolError::new(ErrorKind::Arguments, format!("`{text}` names no file")));
        };
        let directory = self.make_directories(text, parent)?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory, name, flags, Mode::from_raw_mode(0o666));
        Opened::regular(text, opened)
    }

    fn make_directories(&self, text: &str, below: &Path) -> Result<OwnedFd, ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        match self.open_at(below, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            opened => return opened.map_err(|errno| ToolError::of_path("open", text, errno)),
        }
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            return Err(ToolError::of_path("open", text, Errno::NOENT));
        };
        let directory = self.make_directories(text, parent)?;
        match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(ToolError::of_path("mkdir", text, errno)),
        }
        self.open_at(below, flags, Mode::empty())
            .map_err(|errno| ToolError::of_path("open", text, errno))
    }

    /// Opens a directory to list it.
    pub(crate) fn directory(&self, text: &str) -> Result<OwnedFd, ToolError> {
        let opened =
            self.open_at(&self.below(text)?, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        opened.map_err(|errno| match errno {
            Errno::NOTDIR => ToolError::new(
                ErrorKind::Type,
                format!("`{text}` is no directory; `read` shows a file"),
            ),
            errno => ToolError::of_path("open", text, errno),
        })
    }
}

/// A regular file that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    text: String,
}

impl Opened {
    fn regular(text: &str, opened: Result<OwnedFd, Errno>) -> Result<Self, ToolError> {
        let failed = |call, errno| ToolError::of_path(call, text, errno);
        let opened = opened.map_err(|errno| failed("open", errno))?;
        let stat = fstat(opened.as_fd()).map_err(|errno| failed("stat", errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(failed("open", Errno::ISDIR)),
            _ => {
                return Err(ToolError::new(
                    ErrorKind::Type,
                    format!("`{text}` is neither a file nor a directory"),
                ));
            }
        }
        Ok(Self {
            file: File::from(opened),
            identity: (stat.st_dev, stat.st_ino),
            text: text.to_owned(),
        })
    }

    /// All bytes, up to a bound.
    pub(crate) fn bytes(&mut self, most: usize) -> Result<Vec<u8>, ToolError> {
        let mut bytes = Vec::new();
        let read = (&self.file).take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed("read", &error))?;
        match bytes.len() > most {
            true => Err(ToolError::new(
                ErrorKind::TooLarge,
                format!(
                    "`{}` has more than {} MiB; use `exec` with `head`, `sed -n` or `grep`",
                    self.text,
                    most >> 20
                ),
            )),
            false => Ok(bytes),
        }
    }

    /// All text.
    pub(crate) fn content(&mut self, most: usize) -> Result<String, ToolError> {
        String::from_utf8(self.bytes(most)?).map_err(|_| {
            ToolError::new(
                ErrorKind::Type,
                format!("`{}` is no text (not UTF-8); use `exec` with `xxd` or `file`", self.text),
            )
        })
    }

    /// Replaces what is in it.
    pub(crate) fn replace(&mut self, content: &[u8]) -> Result<(), ToolError> {
        use std::io::Seek as _;
        let written = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(content))
            .and_then(|()| self.file.set_len(content.len() as u64));
        written.map_err(|error| self.failed("write", &error))
    }

    fn failed(&self, call: &str, error: &std::io::Error) -> ToolError {
        let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
        ToolError::of_path(call, &self.text, errno)
    }
}

const MOST_PATH: usize = 4095;

#[cfg(test)]
mod tests;
