//! What the other side does: names, and files as a whole or in parts. Paths are text without a slash at either end; the
//! root is empty.

use std::fmt::Debug;

use vfs::Timestamp;

use crate::failure::Failure;

/// What is known of a file or directory far away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: MetaKind,
    /// The length of a file.
    pub size: u64,
    /// When it changed.
    pub modified: Timestamp,
    /// Another one when it has changed.
    pub version: String,
    /// By which the other side knows it, if not by its path.
    pub id: String,
    /// The hash of its contents, if that is known.
    pub sha256: Option<[u8; 32]>,
}

/// What something far away is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaKind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It must not be there.
    Create,
    /// In place of what is there.
    Replace,
}

/// The other side. Every operation ends within a bounded time.
#[allow(clippy::missing_errors_doc, reason = "every operation says why the other side refused")]
pub trait Backend: Send + Sync + Debug {
    /// Whether a directory can be renamed in one step.
    fn renames_directories(&self) -> bool;

    /// Whether the place is there that all files are in, and may be asked.
    fn check(&self) -> Result<(), Failure>;

    /// What a path leads to.
    fn stat(&self, path: &str) -> Result<Meta, Failure>;

    /// What is in a directory: at most so many names, else it is too large.
    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure>;

    /// A part of a file, exactly as long as asked for, of the version that is known.
    fn read(&self, path: &str, meta: &Meta, from: u64, length: u64) -> Result<Vec<u8>, Failure>;

    /// Writes a whole file. When it returns the other side has it.
    fn write(&self, path: &str, bytes: &[u8], mode: Mode) -> Result<Meta, Failure>;

    /// Makes a directory.
    fn make_directory(&self, path: &str) -> Result<Meta, Failure>;

    /// Removes a file, or a directory that is empty.
    fn remove(&self, path: &str, meta: &Meta) -> Result<(), Failure>;

    /// Renames, in place of what has the new name.
    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<(), Failure>;
}

/// A path below a directory.
pub(crate) fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
