//! Paths and open files of a world, as both hosts use them: each path from a directory that the guest holds, and never out of
//! it. Whether it would leave is found on the way, as `EXDEV`, which a walk has no other use for.
//!
//! Knows nothing of numbers, rights or handles: those are each host's own.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{
    At, Attributes, Existing, Follow, Kind, New, OpenFile, OpenFlags, Removal, Replace, Times,
};

use crate::world::World;

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The path leads out of its directory.
    Outside,
    /// What the file system says.
    Errno(Errno),
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

impl From<vfs::Error> for Failure {
    fn from(error: vfs::Error) -> Self {
        Self::Errno(error.errno)
    }
}

fn outside(error: vfs::Error) -> Failure {
    match error.errno {
        Errno::XDEV => Failure::Outside,
        errno => Failure::Errno(errno),
    }
}

pub(super) fn make(world: &World, at: &OpenFile, path: &[u8], new: New<'_>) -> Result<()> {
    let made = world.files.make(&world.caller, At::Beneath(at), path, new, MODE_OF_DIRECTORIES);
    made.map_err(outside)
}

pub(super) fn stat(
    world: &World,
    at: &OpenFile,
    path: &[u8],
    follow: Follow,
) -> Result<Attributes> {
    world.files.stat(&world.caller, At::Beneath(at), path, follow).map_err(outside)
}

pub(super) fn set_times(
    world: &World,
    at: &OpenFile,
    path: &[u8],
    follow: Follow,
    times: Times,
) -> Result<()> {
    let set = world.files.set_times(&world.caller, At::Beneath(at), path, follow, times);
    set.map_err(outside)
}

pub(super) fn read_link(world: &World, at: &OpenFile, path: &[u8]) -> Result<Vec<u8>> {
    world.files.read_link(&world.caller, At::Beneath(at), path).map_err(outside)
}

pub(super) fn remove(world: &World, at: &OpenFile, path: &[u8], what: Removal) -> Result<()> {
    world.files.remove(&world.caller, At::Beneath(at), path, what).map_err(outside)
}

/// Gives what one path leads to a second name.
pub(super) fn link(
    world: &World,
    (from, path, follow): (&OpenFile, &[u8], Follow),
    (to, new_path): (&OpenFile, &[u8]),
) -> Result<()> {
    let no_follow = follow == Follow::No;
    let how = OpenFlags { path: true, no_follow, ..OpenFlags::NOTHING };
    let linked = world.files.open(&world.caller, At::Beneath(from), path, how, 0);
    let linked = linked.map_err(outside)?;
    let existing = Existing::Open(&linked);
    let made = world.files.link(&world.caller, existing, At::Beneath(to), new_path);
    made.map_err(|error| apart(world, error, &[(to, new_path)]))
}

pub(super) fn rename(
    world: &World,
    (from, path): (&OpenFile, &[u8]),
    (to, new_path): (&OpenFile, &[u8]),
) -> Result<()> {
    let ends = ((At::Beneath(from), path), (At::Beneath(to), new_path));
    let renamed = world.files.rename(&world.caller, ends.0, ends.1, Replace::Yes);
    renamed.map_err(|error| apart(world, error, &[(from, path), (to, new_path)]))
}

/// `EXDEV` of an operation that has it for two file systems too: which of both it was.
fn apart(world: &World, error: vfs::Error, paths: &[(&OpenFile, &[u8])]) -> Failure {
    let leaves = |(at, path): &(&OpenFile, &[u8])| stat(world, at, path, Follow::No) == OUTSIDE;
    let is_outside = error.errno == Errno::XDEV && paths.iter().any(leaves);
    if is_outside { Failure::Outside } else { error.into() }
}

/// Opens a file or directory, and says which it is.
pub(super) fn open(
    world: &World,
    at: &OpenFile,
    path: &[u8],
    flags: OpenFlags,
) -> Result<(Arc<OpenFile>, Kind)> {
    let opened = world.files.open(&world.caller, At::Beneath(at), path, flags, MODE_OF_FILES);
    let opened = opened.map_err(outside)?;
    let kind = opened.attributes(&world.caller)?.kind;
    Ok((Arc::new(opened), kind))
}

/// Opens an open file once more, in another way.
pub(super) fn open_again(world: &World, file: &OpenFile, how: OpenFlags) -> Result<OpenFile> {
    Ok(world.files.open(&world.caller, At::Itself(file), b"", how, 0)?)
}

/// Closes what nobody else holds any more.
pub(super) fn close(world: &World, opened: Arc<OpenFile>) -> Result<()> {
    match Arc::try_unwrap(opened) {
        Ok(opened) => Ok(opened.close(&world.caller)?),
        Err(_) => Ok(()),
    }
}

const OUTSIDE: Result<Attributes> = Err(Failure::Outside);
const MODE_OF_DIRECTORIES: u32 = 0o777;
const MODE_OF_FILES: u32 = 0o666;
