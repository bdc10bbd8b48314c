//! How much a file system may hold, and the counters that say so. Every check takes the same time, whatever is there
//! already.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::error::{Error, Result};

/// What a file system may hold. All are bounded by default. A21
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of all files together.
    pub max_bytes: u64,
    /// The bytes of one file, holes included.
    pub max_file_bytes: u64,
    /// Files, directories and further names together.
    pub max_inodes: u64,
    /// Names in one directory.
    pub max_directory_entries: u64,
    /// Files and directories that are open at once.
    pub max_open_files: u64,
    /// The bytes of one read or write; what is more is done in part, as the kernel may.
    pub max_io_bytes: u64,
    /// The names in one path, links followed.
    pub max_depth: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            max_file_bytes: i64::MAX.unsigned_abs(),
            max_inodes: 1 << 20,
            max_directory_entries: 1 << 20,
            max_open_files: 1 << 16,
            max_io_bytes: 16 << 20,
            max_depth: 2048,
        }
    }
}

/// One of [`Limits`], as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// `max_bytes`
    Bytes,
    /// `max_file_bytes`
    FileBytes,
    /// `max_inodes`
    Inodes,
    /// `max_directory_entries`
    DirectoryEntries,
    /// `max_open_files`
    OpenFiles,
    /// `max_io_bytes`
    IoBytes,
    /// `max_depth`
    Depth,
}

impl Setting {
    /// The name of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "max_bytes",
            Self::FileBytes => "max_file_bytes",
            Self::Inodes => "max_inodes",
            Self::DirectoryEntries => "max_directory_entries",
            Self::OpenFiles => "max_open_files",
            Self::IoBytes => "max_io_bytes",
            Self::Depth => "max_depth",
        }
    }
}

/// A count that may not go beyond a limit.
#[derive(Debug)]
pub struct Counter {
    used: AtomicU64,
    most: u64,
    refusal: Error,
}

impl Counter {
    /// Nothing is used yet; beyond `most` it is this error.
    pub const fn new(most: u64, errno: Errno, setting: Setting) -> Self {
        Self { used: AtomicU64::new(0), most, refusal: Error::of_setting(errno, setting) }
    }

    /// So much is used already, be that more than may be.
    #[must_use]
    pub const fn starting(self, used: u64) -> Self {
        Self { used: AtomicU64::new(used), ..self }
    }

    /// Takes some, or none.
    pub fn take(&self, count: u64) -> Result<()> {
        let before = self.used.fetch_add(count, Ordering::Relaxed);
        if before.checked_add(count).is_some_and(|after| after <= self.most) {
            return Ok(());
        }
        self.give(count);
        Err(self.refusal)
    }

    /// Gives some back.
    pub fn give(&self, count: u64) {
        self.used.fetch_sub(count, Ordering::Relaxed);
    }

    /// How much is taken.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).min(self.most)
    }

    /// How much can be taken at most.
    pub const fn most(&self) -> u64 {
        self.most
    }
}
