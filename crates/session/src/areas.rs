//! Areas: directories of the user's own, each for one path of the host. A workspace's and a cache's hold the layer
//! that overlayfs writes to; a home's is the home itself. Never looks at what programs have put into one but whether
//! there is anything.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime};

use plan::{HostPath, MAX_PATH_BYTES};
use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, Uid};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::beneath::{is_empty, make_directory, names, open_below, read, write_new};
use crate::error::SessionError;
use crate::id::SessionId;

#[cfg(test)]
mod tests;

/// What an area is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AreaKind {
    /// What programs changed in their view of a directory, to be reviewed.
    Workspace,
    /// The same, never to be brought to the host.
    Cache,
    /// A home directory.
    Home,
}

/// Who else may use an area meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Nobody.
    Alone,
    /// Others who share it.
    Shared,
}

/// What the root of a layer is to be like when it is made: that of the directory below it, which a view then shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Permission bits.
    pub mode: u32,
    /// Owner and group, where this process may give files away.
    pub owner: (u32, u32),
}

/// The areas below one directory.
#[derive(Debug)]
pub struct Areas {
    directory: OwnedFd,
    path: HostPath,
}

/// One area. Its descriptor holds what [`Area::occupy`] locks.
#[derive(Debug)]
pub struct Area {
    kind: AreaKind,
    of: HostPath,
    path: HostPath,
    directory: OwnedFd,
    is_new: bool,
}

impl AreaKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Workspace, Self::Cache, Self::Home];

    /// The word that its names begin with.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Cache => "cache",
            Self::Home => "home",
        }
    }
}

impl Areas {
    /// Those of a directory that is the user's own, reached by this path.
    pub(crate) fn below(owner: &OwnedFd, path: &HostPath) -> Result<Self, SessionError> {
        let failed = |call| SessionError::kernel(call, path.as_path());
        make_directory(owner, AREAS).map_err(failed("mkdir"))?;
        let directory = open_below(owner, AREAS).map_err(failed("open"))?;
        let path = path.join(AREAS).map_err(|_| failed("open")(Errno::NAMETOOLONG))?;
        Ok(Self { directory, path })
    }

    /// The area for a path of the host, which is made where it is missing.
    pub fn open(&self, kind: AreaKind, of: &HostPath) -> Result<Area, SessionError> {
        self.open_numbered(kind, of, 0)
    }

    /// The first of several areas for a path that nobody else uses, which this process then does alone.
    pub fn open_free(&self, kind: AreaKind, of: &HostPath) -> Result<Area, SessionError> {
        for number in 0..MOST_OF_ONE_PATH {
            let area = self.open_numbered(kind, of, number)?;
            match area.occupy(Use::Alone) {
                Ok(()) => return Ok(area),
                Err(SessionError::AreaInUse(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(SessionError::AreaInUse(of.clone()))
    }

    /// All of them, by name. What a killed process had begun to make is not among them.
    pub fn list(&self) -> Result<Vec<Area>, SessionError> {
        let mut names = names(&self.directory).map_err(self.failed("read", ""))?;
        names.sort_unstable();
        let kind = |name: &str| {
            AreaKind::ALL.into_iter().find(|kind| name.split('-').next() == Some(kind.word()))
        };
        let named = names.iter().filter_map(|name| Some((kind(name)?, name)));
        named.map(|(kind, name)| self.open_named(kind, name, false)).collect()
    }

    fn open_numbered(
        &self,
        kind: AreaKind,
        of: &HostPath,
        number: u32,
    ) -> Result<Area, SessionError> {
        let hash = Sha256::digest(of.as_bytes());
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = match number {
            0 => format!("{}-{hash}", kind.word()),
            number => format!("{}-{hash}-{number}", kind.word()),
        };
        let is_new = self.make(&name, of)?;
        let area = self.open_named(kind, &name, is_new)?;
        if area.of != *of {
            return Err(self.failed("open", &name)(Errno::EXIST));
        }
        Ok(area)
    }

    /// Makes an area whole before it has its name. Returns whether it was not there.
    fn make(&self, name: &str, of: &HostPath) -> Result<bool, SessionError> {
        let failed = |call| self.failed(call, name);
        if rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(false);
        }
        let unlike_all = SessionId::generate().map_err(failed("getrandom"))?;
        let new = format!(".new-{unlike_all}");
        let fill = || -> Result<(), Errno> {
            rustix::fs::mkdirat(&self.directory, &new, Mode::RWXU)?;
            write_new(open_below(&self.directory, &new)?, OF, of.as_bytes())?;
            rustix::fs::renameat(&self.directory, &new, &self.directory, name)
        };
        match fill() {
            Ok(()) => Ok(true),
            Err(errno) => {
                let text = std::ffi::CString::new(new).unwrap_or_default();
                sys::wipe::wipe(self.directory.as_fd(), &text).map_err(failed("remove"))?;
                match errno {
                    // Another process was faster.
                    Errno::EXIST | Errno::NOTEMPTY => Ok(false),
                    errno => Err(failed("make")(errno)),
                }
            }
        }
    }

    fn open_named(&self, kind: AreaKind, name: &str, is_new: bool) -> Result<Area, SessionError> {
        let failed = |call| self.failed(call, name);
        let directory = open_below(&self.directory, name).map_err(failed("open"))?;
        let of = read(&directory, OF, MAX_PATH_BYTES).map_err(failed("read"))?;
        let of = HostPath::new(of).map_err(|_| failed("read")(Errno::BADMSG))?;
        let path = self.path.join(name).map_err(|_| failed("open")(Errno::NAMETOOLONG))?;
        Ok(Area { kind, of, path, directory, is_new })
    }

    fn failed(&self, call: &'static str, name: &str) -> impl FnOnce(Errno) -> SessionError + use<> {
        SessionError::kernel(call, &self.path.as_path().join(name))
    }
}

impl Area {
    /// What it is for.
    pub fn kind(&self) -> AreaKind {
        self.kind
    }

    /// The path of the host that it is for.
    pub fn of(&self) -> &HostPath {
        &self.of
    }

    /// Where it is.
    pub fn path(&self) -> &HostPath {
        &self.path
    }

    /// Whether it was made by this call.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The open directory.
    pub fn into_descriptor(self) -> OwnedFd {
        self.directory
    }

    /// Begins to use it, for as long as this value and all copies of its descriptor live.
    pub fn occupy(&self, how: Use) -> Result<(), SessionError> {
        let operation = match how {
            Use::Alone => FlockOperation::NonBlockingLockExclusive,
            Use::Shared => FlockOperation::NonBlockingLockShared,
        };
        loop {
            match rustix::fs::flock(&self.directory, operation) {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK) => return Err(SessionError::AreaInUse(self.of.clone())),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed("lock")(errno)),
            }
        }
    }

    /// Ends its use, whoever else has copies of the descriptor.
    pub fn release(&self) {
        // Closing all of them would do it too.
        let _closed = rustix::fs::flock(&self.directory, FlockOperation::Unlock);
    }

    /// Sees to it that the directories are there that overlayfs needs, for a view of a directory like this.
    pub fn make_layers(&self, like: Roots) -> Result<(), SessionError> {
        make_directory(&self.directory, WORK).map_err(self.failed("mkdir"))?;
        let work = open_below(&self.directory, WORK).map_err(self.failed("open"))?;
        // The root of a layer is what the root of a view looks like: made whole before it has its name.
        if rustix::fs::statat(&self.directory, UPPER, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(());
        }
        make_directory(&self.directory, NEW_UPPER).map_err(self.failed("mkdir"))?;
        let new = open_below(&self.directory, NEW_UPPER).map_err(self.failed("open"))?;
        let (uid, gid) = (Uid::from_raw(like.owner.0), Gid::from_raw(like.owner.1));
        let is_root = rustix::process::geteuid().is_root();
        for directory in [&new, &work, &self.directory] {
            // A cage of root reaches the layer as the owner of what is below it.
            match rustix::fs::fchown(directory, Some(uid), Some(gid)) {
                Err(errno) if is_root => return Err(self.failed("chown")(errno)),
                // A group that this user is not in stays what it is.
                Ok(()) | Err(_) => {}
            }
        }
        let mode = Mode::from_raw_mode(like.mode & 0o1777);
        rustix::fs::fchmod(&new, mode).map_err(self.failed("chmod"))?;
        rustix::fs::renameat(&self.directory, NEW_UPPER, &self.directory, UPPER)
            .map_err(self.failed("rename"))
    }

    /// Sees to it that the directory is there that a cage has as its home. Returns where it is.
    pub fn make_home(&self) -> Result<HostPath, SessionError> {
        make_directory(&self.directory, HOME).map_err(self.failed("mkdir"))?;
        self.path.join(HOME).map_err(|_| self.failed("open")(Errno::NAMETOOLONG))
    }

    /// What programs write to, open: the layer or the home.
    pub fn open_written(&self) -> Result<OwnedFd, SessionError> {
        let name = match self.kind {
            AreaKind::Workspace | AreaKind::Cache => UPPER,
            AreaKind::Home => HOME,
        };
        open_below(&self.directory, name).map_err(self.failed("open"))
    }

    /// Whether a program has written anything to its layer.
    pub fn has_changes(&self) -> Result<bool, SessionError> {
        let empty = match open_below(&self.directory, UPPER) {
            Ok(upper) => is_empty(upper),
            Err(Errno::NOENT) => return Ok(false),
            // A program can have taken the right to look into it away.
            Err(Errno::ACCESS) => return Ok(true),
            Err(errno) => Err(errno),
        };
        empty.map(|empty| !empty).map_err(self.failed("read"))
    }

    /// Whether an apply can be taken back that is not long ago, or one was interrupted.
    pub fn has_recent_undo(&self) -> Result<bool, SessionError> {
        let date = |directory: &str, name: &str| match open_below(&self.directory, directory) {
            Ok(directory) => {
                match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(status) => Ok(Some(status.st_mtime)),
                    Err(Errno::NOENT) => Ok(None),
                    Err(errno) => Err(errno),
                }
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        };
        if date(JOURNAL, BEGUN).map_err(self.failed("statx"))?.is_some() {
            return Ok(true);
        }
        let applied = date(UNDO, LAST).map_err(self.failed("statx"))?;
        let applied = applied.map(|seconds| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        });
        let age = applied.map(|applied| applied.elapsed().unwrap_or_default());
        Ok(age.is_some_and(|age| age < UNDO_IS_KEPT))
    }

    fn failed(&self, call: &'static str) -> impl FnOnce(Errno) -> SessionError + use<> {
        SessionError::kernel(call, self.path.as_path())
    }
}

impl AsFd for Area {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

const AREAS: &str = "areas";
const OF: &str = "of";
const UPPER: &str = "upper";
const NEW_UPPER: &str = "upper.new";
const WORK: &str = "work";
const HOME: &str = "home";

/// What a review writes when it applies: the journal of one that is going on, and the last one's way back.
const JOURNAL: &str = "journal";
const BEGUN: &str = "begun";
const UNDO: &str = "undo";
const LAST: &str = "last";

/// How long a session without changes is kept because its last apply could be taken back.
const UNDO_IS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Runs that use a cache of the same directory at the same time.
const MOST_OF_ONE_PATH: u32 = 64;
