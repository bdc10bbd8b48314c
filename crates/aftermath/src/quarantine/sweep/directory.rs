//! What the walk of a sweep passes around: directories to look into, those that are open, and the names in
//! them. Opens directories beneath the grant's root, without links; decides nothing.

use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::Entry;
use resolve::protected_names::{Begun, Step, is_git_data};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::novelty::Novelty;

/// A directory to look into.
pub(super) struct Directory {
    /// Below the grant's root; empty for the root itself.
    pub(super) relative: Vec<u8>,
    pub(super) path: HostPath,
    pub(super) depth: usize,
    pub(super) begun: Begun,
    /// Set where every name counts, because the directory itself is a protected one.
    pub(super) inside: Option<&'static Entry>,
    /// Below `.git`, where only what the table names is of interest.
    pub(super) inside_repository: bool,
    /// In what may be a repository without being called one: links count, and so does every name, because
    /// anybody can make a directory look like that.
    pub(super) inside_bare: bool,
    /// Below a directory of packages or builds.
    pub(super) among_packages: bool,
    pub(super) interest: Interest,
    pub(super) novelty: Novelty,
    /// Whether the user has granted this protected directory by its name, or one that it lies in.
    pub(super) is_named: bool,
}

impl Directory {
    /// One in which no pattern has begun and nothing is known of what is in it.
    pub(super) fn plain(relative: Vec<u8>, path: HostPath) -> Self {
        Self {
            relative,
            path,
            depth: 0,
            begun: Begun::default(),
            inside: None,
            inside_repository: false,
            inside_bare: false,
            among_packages: false,
            interest: Interest::Names,
            novelty: Novelty::Known,
            is_named: false,
        }
    }
}

/// An opened directory.
pub(super) struct Listing<'a> {
    pub(super) directory: &'a Directory,
    pub(super) descriptor: &'a OwnedFd,
    /// Whether names were added to it, or removed, since the start.
    pub(super) changed: bool,
}

pub(super) struct Name {
    pub(super) bytes: Vec<u8>,
    pub(super) file_type: FileType,
    pub(super) inode: u64,
}

/// What is looked for in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Names of the table.
    Names,
    /// Names that complete what has begun above.
    Begun,
    /// Links, where a repository has its data: Git makes none there and writes through those that are.
    Links,
    /// The same, without looking any deeper.
    LinksHere,
}

impl Interest {
    /// What is looked for in a directory, if anything; `above` is what is looked for where it is.
    pub(super) fn in_directory(
        above: Self,
        inside_repository: bool,
        name: &[u8],
        step: &Step,
    ) -> Option<Self> {
        let has_begun = !step.below.is_empty();
        match above {
            Self::LinksHere => None,
            Self::Links => Some(Self::Links),
            _ if inside_repository && is_git_data(name) => Some(Self::LinksHere),
            Self::Begun => has_begun.then_some(Self::Begun),
            Self::Names if inside_repository && !has_begun => Some(Self::Links),
            Self::Names => Some(Self::Names),
        }
    }
}

/// Opens a directory below the grant's root.
pub(super) fn open_to_list(top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open_below(top, relative, flags)
}

/// Opens anything below the grant's root for reference, a link as such.
pub(super) fn refer_to(top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
    open_below(top, relative, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
}

fn open_below(top: &OwnedFd, relative: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let relative = if relative.is_empty() { b"." } else { relative };
    for _ in 0..MOST_ATTEMPTS {
        match rustix::fs::openat2(top, relative, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// The times of a name in a directory, or of the directory itself where the name is empty.
pub(super) fn times(directory: &OwnedFd, name: &[u8]) -> Result<Statx, Errno> {
    let flags = if name.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::SYMLINK_NOFOLLOW };
    rustix::fs::statx(directory, name, flags, StatxFlags::CTIME | StatxFlags::BTIME)
}

pub(super) fn join(relative: &[u8], name: &[u8]) -> Vec<u8> {
    if relative.is_empty() { name.to_vec() } else { [relative, b"/", name].concat() }
}

/// A path relative to the root that it lies strictly below.
pub(super) fn below<'path>(root: &HostPath, path: &'path HostPath) -> Option<&'path [u8]> {
    if !path.is_within(root) || path == root {
        return None;
    }
    let below = path.as_bytes().strip_prefix(root.as_bytes())?;
    Some(below.strip_prefix(b"/").unwrap_or(below))
}

pub(super) const MOST_ATTEMPTS: usize = 64;
