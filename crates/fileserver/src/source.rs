//! What a file system is made of, as a user writes it: `memory:`, `dir:PATH`, `overlay:LOWER:UPPER`. Text to engine;
//! serves and mounts nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Resource;
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory, Overlay, ReadOnly};

use crate::fuse::Sharing;

#[cfg(test)]
mod tests;

/// A file system that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Empty, in memory, gone with its server.
    Memory,
    /// A directory of the host.
    Directory(PathBuf),
    /// Layers that are read, the uppermost first, and one above them that is written to.
    Overlay {
        /// What is read.
        lowers: Vec<PathBuf>,
        /// What is written to, in a directory `tree` beside one of notes, `marks`; none is memory.
        upper: Option<PathBuf>,
    },
}

/// Why there is no such file system.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It is none that there is.
    #[error("`{}` is no file system", shown(.0))]
    Unknown(OsString),
    /// A part of it is missing.
    #[error("`{}` names no {missing}", shown(.text))]
    Missing {
        /// What was written.
        text: OsString,
        /// What it lacks.
        missing: &'static str,
    },
    /// A directory that it is made of is not there, or no directory.
    #[error("cannot open `{}`", .0.display())]
    Directory(PathBuf, #[source] std::io::Error),
    /// An engine does not begin.
    #[error("cannot serve `{}`", .0.display())]
    Engine(PathBuf, #[source] vfs::Error),
}

impl Source {
    /// Reads one. A colon in a path is written `\:`, a backslash `\\`.
    pub fn parse(text: &OsStr) -> Result<Self, SourceError> {
        let unknown = || SourceError::Unknown(text.to_owned());
        let parts = split(text.as_bytes());
        let Some((kind, rest)) = parts.split_first() else { return Err(unknown()) };
        let missing = |missing| SourceError::Missing { text: text.to_owned(), missing };
        match (kind.as_os_str().as_bytes(), rest) {
            (b"memory", [rest]) if rest.as_os_str().is_empty() => Ok(Self::Memory),
            (b"dir", [path]) if path.as_os_str().is_empty() => Err(missing("directory")),
            (b"dir", [path]) => Ok(Self::Directory(path.clone())),
            (b"overlay", [lowers @ .., upper]) if !lowers.is_empty() => {
                if lowers.iter().any(|lower| lower.as_os_str().is_empty()) {
                    return Err(missing("lower layer"));
                }
                let upper = (!upper.as_os_str().is_empty()).then(|| upper.clone());
                Ok(Self::Overlay { lowers: lowers.to_vec(), upper })
            }
            (b"overlay", [lower]) if !lower.as_os_str().is_empty() => {
                Ok(Self::Overlay { lowers: vec![lower.clone()], upper: None })
            }
            (b"overlay", _) => Err(missing("lower layer")),
            _ => Err(unknown()),
        }
    }

    /// Who else changes it, if nothing else is known: a directory of the host is everybody's, the layers of an overlay
    /// are left alone while it is used, as the kernel's own wants it.
    pub const fn sharing(&self) -> Sharing {
        match self {
            Self::Memory | Self::Overlay { .. } => Sharing::Alone,
            Self::Directory(_) => Sharing::Shared,
        }
    }

    /// How many files of it the kernel may remember: those of the host take a descriptor each, some several, of as many
    /// as this process may have now.
    pub fn most_remembered(&self) -> Option<usize> {
        let share = match self {
            Self::Memory => return None,
            Self::Directory(_) => 2,
            Self::Overlay { .. } => 3,
        };
        let most = rustix::process::getrlimit(Resource::Nofile).current?;
        Some(usize::try_from(most / share).unwrap_or(usize::MAX))
    }

    /// Opens it.
    pub fn open(&self, limits: &Limits) -> Result<Arc<dyn Engine>, SourceError> {
        match self {
            Self::Memory => Ok(Arc::new(memory(limits))),
            Self::Directory(path) => Ok(Arc::new(judged(directory(path, writable(), limits)?))),
            Self::Overlay { lowers, upper } => {
                let mut below: Vec<Arc<dyn Engine>> = Vec::new();
                for path in lowers {
                    let lower = directory(path, HostMode::ReadOnly, limits)?;
                    below.push(Arc::new(ReadOnly::new(Arc::new(judged_once(lower)))));
                }
                let (upper, named): (Arc<dyn Engine>, _) = match upper {
                    None => (Arc::new(memory(limits)), Path::new("memory:")),
                    Some(path) => (Arc::new(upper_layer(path, limits)?), path.as_path()),
                };
                let overlay = Overlay::new(below, upper, limits)
                    .map_err(|error| SourceError::Engine(named.to_owned(), error))?;
                Ok(Arc::new(overlay))
            }
        }
    }
}

fn memory(limits: &Limits) -> Memory {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    Memory::new(&Caller::of(uid.as_raw(), gid.as_raw()), 0o755, *limits)
}

fn directory(path: &Path, mode: HostMode, limits: &Limits) -> Result<Host, SourceError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let opened = opened.map_err(|errno| SourceError::Directory(path.to_owned(), errno.into()))?;
    let host = Host::new(opened, mode, limits);
    host.map_err(|error| SourceError::Engine(path.to_owned(), error))
}

/// A user has what the kernel gives that user; what root serves, others ask for.
fn judged(host: Host) -> Host {
    if rustix::process::geteuid().is_root() { host.heeding_access_lists() } else { host }
}

/// The same of a layer, which is left alone while it is used: the kernel keeps what it was told of it, too.
fn judged_once(host: Host) -> Host {
    if rustix::process::geteuid().is_root() { host.heeding_access_lists_once() } else { host }
}

/// A directory that is written to, with what an overlay notes beside it: `tree` and `marks` in the one that is named.
fn upper_layer(path: &Path, limits: &Limits) -> Result<Host, SourceError> {
    let failed = |errno: Errno| SourceError::Directory(path.to_owned(), errno.into());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    let [tree, marks] = ["tree", "marks"].map(|name| {
        match rustix::fs::mkdirat(&above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        rustix::fs::openat(&above, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(failed)
    });
    let (tree, marks) = (tree?, marks?);
    Host::new(tree, writable(), limits)
        .and_then(|host| judged_once(host).with_marks(marks))
        .map_err(|error| SourceError::Engine(path.to_owned(), error))
}

/// What root makes for somebody is that one's; a user can make only what is the user's own.
fn writable() -> HostMode {
    let is_root = rustix::process::geteuid().is_root();
    if is_root { HostMode::WritableAsCaller } else { HostMode::Writable }
}

/// Parts between colons.
fn split(text: &[u8]) -> Vec<PathBuf> {
    let mut parts = vec![Vec::new()];
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => parts.push(Vec::new()),
            b'\\' => push(&mut parts, *bytes.next().unwrap_or(&b'\\')),
            byte => push(&mut parts, *byte),
        }
    }
    parts.into_iter().map(|part| PathBuf::from(OsString::from_vec(part))).collect()
}

fn push(parts: &mut [Vec<u8>], byte: u8) {
    if let Some(part) = parts.last_mut() {
        part.push(byte);
    }
}

fn shown(text: &OsStr) -> String {
    text.to_string_lossy().escape_debug().to_string()
}
