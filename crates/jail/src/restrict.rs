//! Narrowing one directory inside the caller's own mount namespace: it shows exactly the named
//! entries, and the rest is absent from look-up and listing. The shadow is a memory file system
//! that exists nowhere else; doing it again narrows further and never widens.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags};
use sys::mount::{Depth, MountAttributes};

/// Whether new files can be made in the narrowed directory, and existing ones changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Nothing below can be changed in any way.
    Refused,
    /// New files can be made beside the entries (in memory), and entries changed as far as their
    /// own mount allows.
    Allowed,
}

/// What an entry that does not exist means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An error.
    Refuse,
    /// It is skipped and reported.
    Skip,
}

/// Why a directory could not be narrowed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RestrictError {
    /// An entry is not one plain name.
    #[error("`{}` is not the name of an entry", .0.display())]
    Name(std::ffi::OsString),
    /// A required entry does not exist.
    #[error("`{}` does not exist", .0.display())]
    Missing(std::path::PathBuf),
    /// The kernel refused a step.
    #[error("cannot {call} `{}`: {}", path.display(), std::io::Error::from(*errno))]
    Kernel {
        /// The kernel call.
        call: &'static str,
        /// What it worked on.
        path: std::path::PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
}

/// Shows in `target` only the entries of `allowed`; returns those that were missing and skipped.
///
/// The caller must be in a mount namespace of its own, with the right to mount in it: a change
/// here is seen by every process in the namespace.
pub fn restrict_dir(
    target: &Path,
    allowed: &[&OsStr],
    writing: Writing,
    missing: Missing,
) -> Result<Vec<std::ffi::OsString>, RestrictError> {
    let directory = open_directory(target)?;
    let shadow = shadow_of(target, writing)?;
    let mut skipped = Vec::new();
    let mut entries: Vec<(&OsStr, FileType)> = Vec::new();
    for name in allowed {
        if matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/') {
            return Err(RestrictError::Name((*name).to_owned()));
        }
        if entries.iter().any(|(other, _)| other == name) {
            continue;
        }
        match kind_of(&directory, name) {
            Ok(kind) => {
                make_place(&shadow, name, kind, &directory)
                    .map_err(|errno| kernel("make a place for", &target.join(name), errno))?;
                entries.push((name, kind));
            }
            Err(Errno::NOENT) if missing == Missing::Skip => skipped.push((*name).to_owned()),
            Err(Errno::NOENT) => return Err(RestrictError::Missing(target.join(name))),
            Err(errno) => return Err(kernel("look at", &target.join(name), errno)),
        }
    }
    let copies = copy_entries(target, &directory, &entries, writing)?;
    replace(target, &directory, &shadow, copies, writing)?;
    Ok(skipped)
}

/// Detached copies of the entries, taken before the shadow hides them. Links need none: they were
/// made anew in the shadow.
fn copy_entries<'a>(
    target: &Path,
    directory: &OwnedFd,
    entries: &[(&'a OsStr, FileType)],
    writing: Writing,
) -> Result<Vec<(&'a OsStr, OwnedFd)>, RestrictError> {
    let mut copies = Vec::with_capacity(entries.len());
    for (name, kind) in entries {
        if *kind == FileType::Symlink {
            continue;
        }
        let failed = |errno| kernel("copy the mount of", &target.join(name), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let copy = rustix::mount::open_tree(directory, *name, flags).map_err(failed)?;
        let set = if writing == Writing::Refused { sys::mount::RDONLY } else { 0 };
        let change = MountAttributes { set, make_private: true, idmap: None };
        sys::mount::set_attributes(copy.as_fd(), change, Depth::Recursive).map_err(failed)?;
        copies.push((*name, copy));
    }
    Ok(copies)
}

/// Puts the shadow over the directory and the entries into the shadow.
fn replace(
    target: &Path,
    directory: &OwnedFd,
    shadow: &OwnedFd,
    copies: Vec<(&OsStr, OwnedFd)>,
    writing: Writing,
) -> Result<(), RestrictError> {
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(shadow, c"", directory, c"", both)
        .map_err(|errno| kernel("mount on", target, errno))?;
    for (name, copy) in copies {
        let failed = |errno| kernel("mount on", &target.join(name), errno);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let place =
            rustix::fs::openat2(shadow, name, flags, Mode::empty(), resolve).map_err(failed)?;
        rustix::mount::move_mount(&copy, c"", &place, c"", both).map_err(failed)?;
    }
    if writing == Writing::Refused {
        let change = MountAttributes { set: sys::mount::RDONLY, make_private: true, idmap: None };
        sys::mount::set_attributes(shadow.as_fd(), change, Depth::Single)
            .map_err(|errno| kernel("make read-only", target, errno))?;
    }
    Ok(())
}

fn open_directory(target: &Path) -> Result<OwnedFd, RestrictError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, target, flags, Mode::empty())
        .map_err(|errno| kernel("open", target, errno))
}

/// An empty memory file system with the mode of the directory that it will cover.
fn shadow_of(target: &Path, writing: Writing) -> Result<OwnedFd, RestrictError> {
    let make = || -> Result<OwnedFd, Errno> {
        let mode = if writing == Writing::Allowed { c"1777" } else { c"0755" };
        let context = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, c"mode", mode)?;
        rustix::mount::fsconfig_set_string(&context, c"size", c"64m")?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    make().map_err(|errno| kernel("make a shadow of", target, errno))
}

/// What kind of file an entry is, as the kernel knows it already. A file system that this very process
/// serves is not asked: it could not answer while it waits here.
fn kind_of(directory: &OwnedFd, name: &OsStr) -> Result<FileType, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let known = rustix::fs::statx(directory, name, flags, StatxFlags::TYPE)?;
    Ok(FileType::from_raw_mode(known.stx_mode.into()))
}

fn make_place(
    shadow: &OwnedFd,
    name: &OsStr,
    kind: FileType,
    directory: &OwnedFd,
) -> Result<(), Errno> {
    match kind {
        FileType::Directory => rustix::fs::mkdirat(shadow, name, Mode::from_raw_mode(0o755)),
        FileType::Symlink => {
            let link = rustix::fs::readlinkat(directory, name, Vec::new())?;
            rustix::fs::symlinkat(link.as_c_str(), shadow, name)
        }
        _ => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(shadow, name, flags, Mode::from_raw_mode(0o644)).map(drop)
        }
    }
}

fn kernel(call: &'static str, path: &Path, errno: Errno) -> RestrictError {
    RestrictError::Kernel { call, path: path.to_owned(), errno }
}
