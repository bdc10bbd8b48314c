//! One file of a tree, as it goes from one place to another. Plain data.

use std::io::Read;

use vfs::Timestamp;

use crate::error::SnapshotError;

/// A file with everything that belongs to it, but its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its names below the root, with slashes between; empty for the root itself.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: ItemKind,
    /// Permissions, with setuid, setgid and sticky.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// When its contents changed.
    pub modified: Timestamp,
    /// Extended attributes.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Of a directory of an upper layer: what an overlay has noted about the names in it.
    pub marks: Vec<Vec<u8>>,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A directory. What is in it comes later.
    Directory,
    /// A regular file of this length.
    File(u64),
    /// A symbolic link to this.
    Link(Vec<u8>),
    /// One more name of a file that came before, by its path. Nothing else of it counts.
    HardLink(Vec<u8>),
    /// A named pipe.
    Fifo,
    /// The name of a socket.
    Socket,
    /// What a layer of overlayfs has for a name that is removed.
    Whiteout,
}

/// What is in a file.
pub trait Contents: Read {
    /// Passes over the hole that comes next. Returns how long it was: nobody has to read its zeros.
    ///
    /// # Errors
    /// What could not be looked at.
    fn pass_hole(&mut self) -> std::io::Result<u64> {
        Ok(0)
    }
}

impl Contents for std::io::Empty {}

/// Where a tree goes.
pub trait Sink {
    /// Takes one file. Of a regular file the contents are read to their end.
    ///
    /// # Errors
    /// What stands in the way.
    fn put(&mut self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError>;

    /// Everything has come.
    ///
    /// # Errors
    /// What stands in the way.
    fn finish(&mut self) -> Result<(), SnapshotError>;
}

/// The directory of a path, and its last name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}
