//! One daemon for one socket: a lock that the kernel drops with its holder, and a socket that takes
//! the place of a dead daemon's, never of a living one's.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// This process as the one that serves a socket. Dropping it removes the socket.
#[derive(Debug)]
pub struct Instance {
    socket: PathBuf,
    visibility: Visibility,
    /// Whether what lies at the path is this process's own.
    is_bound: AtomicBool,
    /// Held, never read. Whoever opens it next finds it free when this process is gone.
    _lock: File,
}

/// Who can connect to the socket; who is served is another question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Its owner, in a directory of the owner's own.
    Owner,
    /// Everybody.
    Everybody,
}

/// Why this process cannot serve a socket.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another one does.
    #[error("a daemon serves `{socket}` already{}", pid.map(|pid| format!(": process {pid}")).unwrap_or_default())]
    AlreadyServed {
        /// The socket.
        socket: String,
        /// Who, if that is known.
        pid: Option<u32>,
    },
    /// The kernel did not do it.
    #[error("{call} `{path}`: {}", std::io::Error::from(*errno))]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// With what.
        path: String,
        /// The answer.
        errno: Errno,
    },
    /// Somebody else could take the socket's place.
    #[error("`{path}` {problem}")]
    Unsafe {
        /// The directory or file.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Instance {
    /// Makes this process the one that serves a socket. The directory is made if it does not exist.
    pub fn claim(socket: &Path, visibility: Visibility) -> Result<Self, InstanceError> {
        if socket.as_os_str().len() > LONGEST_SOCKET_PATH {
            let problem = "is longer than the 107 bytes that the kernel takes for a socket";
            return Err(InstanceError::Unsafe { path: shown(socket), problem });
        }
        let directory = socket.parent().unwrap_or(Path::new("/"));
        make_directory(directory, visibility)?;
        let lock_path = with_suffix(socket, ".lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&lock_path, flags, Mode::RUSR | Mode::WUSR);
        let mut lock = File::from(opened.map_err(|errno| failed("open", &lock_path, errno))?);
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let _unread = lock.read_to_string(&mut text);
                let pid = text.trim().parse().ok();
                return Err(InstanceError::AlreadyServed { socket: shown(socket), pid });
            }
            Err(errno) => return Err(failed("flock", &lock_path, errno)),
        }
        write_pid(&mut lock).map_err(|error| failed("write", &lock_path, errno_of(&error)))?;
        let (socket, is_bound) = (socket.to_owned(), AtomicBool::new(false));
        Ok(Self { socket, visibility, is_bound, _lock: lock })
    }

    /// The socket, listening. What lies at its path is replaced if it is a socket and nobody
    /// answers there.
    pub fn listen(&self) -> Result<UnixListener, InstanceError> {
        let Self { socket, visibility, is_bound, .. } = self;
        let failed = |call, error: &std::io::Error| failed(call, socket, errno_of(error));
        match std::fs::symlink_metadata(socket) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                let problem = "is in the way: it is not a socket";
                return Err(InstanceError::Unsafe { path: shown(socket), problem });
            }
            Ok(_) if UnixStream::connect(socket).is_ok() => {
                return Err(InstanceError::AlreadyServed { socket: shown(socket), pid: None });
            }
            Ok(_) => std::fs::remove_file(socket).map_err(|error| failed("unlink", &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("stat", &error)),
        }
        let listener = UnixListener::bind(socket).map_err(|error| failed("bind", &error))?;
        is_bound.store(true, Ordering::Release);
        let mode = match visibility {
            Visibility::Owner => 0o600,
            Visibility::Everybody => 0o666,
        };
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(mode))
            .map_err(|error| failed("chmod", &error))?;
        Ok(listener)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What was in the way is not this process's to remove.
        if self.is_bound.load(Ordering::Acquire) {
            let _gone = std::fs::remove_file(&self.socket);
        }
    }
}

/// A directory in which nobody else can put a socket in ours' place.
fn make_directory(directory: &Path, visibility: Visibility) -> Result<(), InstanceError> {
    let failed = |call, error: &std::io::Error| failed(call, directory, errno_of(error));
    let mode = match visibility {
        Visibility::Owner => 0o700,
        Visibility::Everybody => 0o755,
    };
    if !directory.exists() {
        std::fs::create_dir_all(directory).map_err(|error| failed("mkdir", &error))?;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode))
            .map_err(|error| failed("chmod", &error))?;
    }
    let metadata = std::fs::metadata(directory).map_err(|error| failed("stat", &error))?;
    let refused = |problem| InstanceError::Unsafe { path: shown(directory), problem };
    if !metadata.is_dir() {
        return Err(refused("is not a directory"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("belongs to somebody else, who could take the socket's place"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refused("can be written to by others, who could take the socket's place"));
    }
    Ok(())
}

fn write_pid(lock: &mut File) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn failed(call: &'static str, path: &Path, errno: Errno) -> InstanceError {
    InstanceError::Kernel { call, path: shown(path), errno }
}

fn shown(path: &Path) -> String {
    policy::shown::shown(path.display())
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The kernel's `sun_path` with its final zero (unix(7)).
const LONGEST_SOCKET_PATH: usize = 107;
