//! What the other side does: names, and files as a whole or in parts. Paths are text without a slash at either end; the
//! root is empty.

use std::fmt::Debug;

use vfs::Timestamp;

use crate::failure::{Failure, Why};
use crate::notes::Notes;

/// What is known of a file or directory far away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: MetaKind,
    /// How many bytes of a file are there.
    pub size: u64,
    /// When it changed.
    pub modified: Timestamp,
    /// Another one when it has changed.
    pub version: String,
    /// By which the other side knows it, if not by its path.
    pub id: String,
    /// The hash of its contents, if that is known.
    pub sha256: Option<[u8; 32]>,
    /// What is noted of it, if anything.
    pub notes: Option<Notes>,
}

impl Meta {
    /// The length of a file, with a hole at its end.
    pub(crate) fn length(&self) -> u64 {
        let noted = self.notes.as_ref().and_then(|notes| notes.length);
        noted.unwrap_or_default().max(self.size)
    }
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

/// What is written beside the contents of a file.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Whether it may be there.
    pub mode: Mode,
    /// The file that is meant, if its name has gone and it has others.
    pub known: Option<&'a Meta>,
    /// What is noted of it, where notes are kept.
    pub notes: Option<&'a Notes>,
}

/// The other side. Every operation ends within a bounded time.
#[allow(clippy::missing_errors_doc, reason = "every operation says why the other side refused")]
pub trait Backend: Send + Sync + Debug {
    /// Whether the place is there that all files are in, and may be asked.
    fn check(&self) -> Result<(), Failure>;

    /// What a path leads to.
    fn stat(&self, path: &str) -> Result<Meta, Failure>;

    /// What is in a directory: at most so many names, else it is too large.
    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure>;

    /// A part of a file, exactly as long as asked for, of the version that is known.
    fn read(&self, path: &str, meta: &Meta, from: u64, length: u64) -> Result<Vec<u8>, Failure>;

    /// Writes a whole file. When it returns the other side has it.
    fn write(&self, path: &str, bytes: &[u8], how: Write<'_>) -> Result<Meta, Failure>;

    /// Makes a directory, with notes where they are kept.
    fn make_directory(&self, path: &str, notes: Option<&Notes>) -> Result<Meta, Failure>;

    /// Removes a name, of a directory that is empty or of a file; which has others if something is returned.
    fn remove(&self, path: &str, meta: &Meta) -> Result<Option<Meta>, Failure>;

    /// Renames, in place of what has the new name; which has others if something is returned.
    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<Option<Meta>, Failure>;

    /// The same with what is noted of an entry of a listing, where a listing has no notes.
    fn noted(&self, path: &str, listed: Meta) -> Result<Meta, Failure> {
        let _ = path;
        Ok(listed)
    }

    /// Sets what is noted, all of it or nothing. How many names there are stays as the other side has it.
    fn set_notes(&self, path: &str, meta: &Meta, notes: &Notes) -> Result<Meta, Failure> {
        let _ = (meta, notes);
        Err(Failure { action: format!("note something of `{path}`"), why: Why::Unable })
    }

    /// Gives a file one more name.
    fn link(&self, path: &str, meta: &Meta, to: &str) -> Result<Meta, Failure> {
        let _ = (meta, to);
        Err(Failure { action: format!("link `{path}`"), why: Why::Unable })
    }
}

/// A path below a directory.
pub(crate) fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
