//! What an engine is told about a place far away. Plain data.

use std::time::Duration;

/// Whose files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// Everything is the mount's user's, whatever is noted: owners are neither read nor written.
    OfMount,
    /// As noted of each; what nothing is noted of is the mount's user's.
    AsNoted,
}

/// How far-away files look, and what may be spent on them. All is bounded.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether files have owners of their own.
    pub owners: Owners,
    /// Whose all other files are: the other side knows no owners of ours.
    pub uid: u32,
    /// Their group.
    pub gid: u32,
    /// The mode of every file of which none is noted.
    pub file_mode: u32,
    /// The mode of every such directory.
    pub directory_mode: u32,
    /// Whether anything may be changed. A7
    pub writable: bool,
    /// The bytes of what was read and is kept.
    pub cache_bytes: usize,
    /// How much is fetched at once by who reads on.
    pub read_ahead_bytes: u64,
    /// The bytes of all files together that are written and not there yet.
    pub most_late_bytes: u64,
    /// How long what is known of a file or a directory is believed.
    pub believed: Duration,
    /// Names in one directory; of more nothing is listed.
    pub most_names: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            owners: Owners::OfMount,
            uid: 0,
            gid: 0,
            file_mode: 0o644,
            directory_mode: 0o755,
            writable: false,
            cache_bytes: 64 << 20,
            read_ahead_bytes: 4 << 20,
            most_late_bytes: 256 << 20,
            believed: Duration::from_secs(2),
            most_names: 100_000,
        }
    }
}
