//! Directories of our own that a cage could make if they were not there. Made empty, each for its owner
//! alone; nothing else is ever made on a host for a cage that has not started.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use plan::HostPath;
use resolve::{OwnMissing, ResolveError};
use rustix::io::Errno;

use super::PrepareError;

/// Makes them all.
pub(super) fn make(missing: &[OwnMissing]) -> Result<(), PrepareError> {
    missing.iter().try_for_each(|OwnMissing { path }| {
        make_with_those_above(path).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            ResolveError::Kernel { call: "mkdir", subject: path.to_string(), source: errno }.into()
        })
    })
}

/// Those above belong to whoever has the directory that they are made in: root must not leave its own
/// in somebody's home.
pub(super) fn make_with_those_above(path: &HostPath) -> std::io::Result<()> {
    let there = |directory: &&HostPath| directory.as_path().exists();
    let above = path.ancestors_from_root();
    let owner = above.iter().rev().find(there).map(|directory| directory.as_path().metadata());
    let owner = owner.transpose()?.map(|owner| (owner.uid(), owner.gid()));
    for directory in above.iter().filter(|directory| !there(directory)) {
        let made = make_one(directory.as_path())?;
        if let (Made::Here, Some((uid, gid))) = (made, owner)
            && rustix::process::geteuid().is_root()
        {
            std::os::unix::fs::lchown(directory.as_path(), Some(uid), Some(gid))?;
        }
    }
    make_one(path.as_path()).map(drop)
}

/// Gives what root has made to whoever has the directory that it is for, with all that is in it.
pub(super) fn give_to_owner_of(directory: &HostPath, made: &Path) -> std::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = directory.as_path().metadata()?;
    if made.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(made)? {
            give_to_owner_of(directory, &entry?.path())?;
        }
    }
    std::os::unix::fs::lchown(made, Some(owner.uid()), Some(owner.gid()))
}

/// Who made a directory. One that is somebody else's keeps its owner, whatever it has become meanwhile.
enum Made {
    Here,
    Elsewhere,
}

fn make_one(directory: &Path) -> std::io::Result<Made> {
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(Made::Elsewhere),
        made => made.map(|()| Made::Here),
    }
}
