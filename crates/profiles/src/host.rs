//! What a profile is made from: one caller's environment, and looks at the host that never change it.
//! A file is read only if it is a regular one of a bounded size; a name that is not text is not found.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use plan::HostPath;
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};

/// The host as one caller sees it.
#[derive(Clone, Debug)]
pub struct Host {
    /// The caller's environment.
    pub environment: Arc<[(OsString, OsString)]>,
    /// What the caller calls its home.
    pub home: Option<HostPath>,
    /// The root of the project.
    pub project: HostPath,
    /// Directories of our own, which nobody can be given.
    pub own_state: Vec<HostPath>,
    /// What stands for `/` where files of the system are read; another directory in tests.
    pub system: HostPath,
}

impl Host {
    /// A variable of the caller's, if it is set to some text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let mut set = self.environment.iter();
        let (_, value) = set.find(|(set, _)| set.as_bytes() == name.as_bytes())?;
        value.to_str().filter(|value| !value.is_empty())
    }

    /// A variable of the caller's that is an absolute, normal path.
    pub fn path_in(&self, name: &str) -> Option<HostPath> {
        path(self.variable(name)?)
    }

    /// A path below the caller's home.
    pub fn in_home(&self, relative: &str) -> Option<HostPath> {
        self.home.as_ref()?.join(relative).ok()
    }

    /// A path of the system, such as `etc/pip.conf`.
    pub fn in_system(&self, relative: &str) -> Option<HostPath> {
        self.system.join(relative).ok()
    }

    /// Whether a directory is there that can be looked into.
    pub fn is_directory(&self, path: &HostPath) -> bool {
        self.kind(path) == Some(FileType::Directory)
    }

    /// Whether a file is there.
    pub fn is_file(&self, path: &HostPath) -> bool {
        self.kind(path) == Some(FileType::RegularFile)
    }

    /// Whether anything is there.
    pub fn exists(&self, path: &HostPath) -> bool {
        self.kind(path).is_some()
    }

    /// Whether it is a directory that can have a layer above it: one of the caller's own, which for root is
    /// whoever has the home.
    pub fn is_own_directory(&self, path: &HostPath) -> bool {
        let Ok(status) = rustix::fs::stat(path.as_path()) else { return false };
        let caller = rustix::process::geteuid();
        let of_home = || {
            let home = self.home.as_ref()?;
            rustix::fs::stat(home.as_path()).ok().map(|home| home.st_uid)
        };
        let in_home = || self.home.as_ref().is_some_and(|home| path.is_within(home));
        let is_own = match caller.is_root() {
            // Root's cages are one user in the project and the home, and nobody's elsewhere.
            true => in_home() && of_home() == Some(status.st_uid),
            false => {
                let group = rustix::process::getegid();
                status.st_uid == caller.as_raw() && status.st_gid == group.as_raw()
            }
        };
        is_own && FileType::from_raw_mode(status.st_mode) == FileType::Directory
    }

    /// Whether it is a link.
    pub fn is_link(&self, path: &HostPath) -> bool {
        std::fs::symlink_metadata(path.as_path()).is_ok_and(|found| found.is_symlink())
    }

    fn kind(&self, path: &HostPath) -> Option<FileType> {
        let status = rustix::fs::stat(path.as_path()).ok()?;
        Some(FileType::from_raw_mode(status.st_mode))
    }

    /// Where a path really is.
    pub fn real(&self, path: &HostPath) -> Option<HostPath> {
        HostPath::new(std::fs::canonicalize(path.as_path()).ok()?.into_os_string()).ok()
    }

    /// The text of a file.
    pub fn text(&self, path: &HostPath) -> Option<String> {
        // A FIFO must not hang the reader: hence NONBLOCK.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path.as_path(), flags, Mode::empty()).ok()?;
        let status = rustix::fs::fstat(&file).ok()?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        std::fs::File::from(file).take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
        let is_bounded = u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_BYTES);
        if is_bounded { String::from_utf8(bytes).ok() } else { None }
    }

    /// The names in a directory, sorted; none of one that cannot be read.
    pub fn names(&self, directory: &HostPath) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(directory.as_path()) else { return Vec::new() };
        let names = entries.flatten().take(MOST_NAMES);
        let mut names: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The caller's `PATH`, in its order.
    pub fn search_path(&self) -> Vec<&str> {
        let written = self.variable("PATH").unwrap_or_default();
        written.split(':').filter(|entry| !entry.is_empty()).collect()
    }

    /// Where a program is found by the caller's `PATH`, outside of the project: what a project brings
    /// says nothing about what this host has.
    pub fn program(&self, name: &str) -> Option<HostPath> {
        let directories = self.search_path().into_iter().filter_map(path);
        let outside = directories.filter(|directory| !directory.is_within(&self.project));
        outside.filter_map(|directory| directory.join(name).ok()).find(|found| {
            let is_executable =
                rustix::fs::accessat(CWD, found.as_path(), Access::EXEC_OK, AtFlags::empty());
            self.is_file(found) && is_executable.is_ok()
        })
    }

    /// Whether one of these programs is found.
    pub fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.program(name).is_some())
    }

    /// Whether a path is the caller's home, something above it, a tree of the system or a well-known
    /// secret: too much to be shown because something else was found in it.
    pub fn is_broad(&self, path: &HostPath) -> bool {
        policy::ungrantable::needs_a_grant_by_name(path, self.home.as_slice())
    }

    /// Whether nobody can be given this path.
    pub fn is_ungrantable(&self, path: &HostPath) -> bool {
        policy::ungrantable::check(path, &self.own_state).is_err()
    }
}

/// An absolute path as text, without what names nothing (`//`, `/.`, a final slash).
pub(crate) fn path(text: &str) -> Option<HostPath> {
    let below_root = text.strip_prefix('/')?;
    let parts = below_root.split('/').filter(|part| !part.is_empty() && *part != ".");
    let normal: Vec<&str> = parts.collect();
    HostPath::new(format!("/{}", normal.join("/")).as_str()).ok()
}

/// The most that is read of a file: that of a policy text.
const MOST_BYTES: u64 = 256 * 1024;

/// The most names of a directory that are looked at.
const MOST_NAMES: usize = 4096;
