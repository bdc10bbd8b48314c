//! What the program was refused, for the program itself: a file of the cage's own memory that pid 1 adds lines
//! to and nobody inside can change. Says nothing that the program could not find out by trying, and nothing
//! about the host; bounded, whatever is refused.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use plan::{DENIALS, GuestPath};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;
use serde::{Deserialize, Serialize};

/// One line: what was refused, why, and what the user of the cage would have to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// `path`, `host` or `syscall`.
    pub kind: RefusedKind,
    /// The path, the host or the name of the call.
    pub subject: String,
    /// Why, as a clause.
    pub because: String,
    /// The flag that the user could add; none where none would help.
    pub flag: Option<String>,
}

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedKind {
    /// A path that is not there or cannot be written.
    Path,
    /// A destination on the network.
    Host,
    /// A system call.
    Syscall,
}

/// The file, open for pid 1 alone.
#[derive(Debug)]
pub(crate) struct Journal {
    file: OwnedFd,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    known: HashSet<(RefusedKind, String)>,
    bytes: usize,
}

impl Journal {
    /// Opens the file in a tree that is about to become read-only, through a mount of its own that does not. None
    /// where the Plan has no such file.
    pub(crate) fn open(root: &OwnedFd) -> Option<Self> {
        let open = || -> Result<OwnedFd, Errno> {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let copy = rustix::mount::open_tree(root, c".", flags)?;
            let name = GuestPath::new(DENIALS).map_err(|_| Errno::INVAL)?;
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(copy.as_fd(), name.relative_to_root(), flags, Mode::empty())
        };
        let file = open().ok()?;
        Some(Self { file, told: Mutex::default() })
    }

    /// Adds a line, once for each subject.
    pub(crate) fn tell(&self, refused: &Refused) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (refused.kind, refused.subject.clone());
        let Ok(mut line) = serde_json::to_vec(refused) else { return };
        line.push(b'\n');
        let bytes = told.bytes.saturating_add(line.len());
        if bytes > MOST_BYTES || line.len() > LONGEST_LINE || !told.known.insert(key) {
            return;
        }
        told.bytes = bytes;
        // Whoever reads it misses a line: nothing depends on it.
        let _unwritten = rustix::io::write(&self.file, &line);
    }

    /// A call that the filter refused.
    pub(crate) fn tell_call(&self, name: &str) {
        let because = "the cage's system call filter refuses it".to_owned();
        let flag = None;
        self.tell(&Refused { kind: RefusedKind::Syscall, subject: name.to_owned(), because, flag });
    }

    /// A name that was asked about in a cage without network.
    pub(crate) fn tell_host(&self, name: &str) {
        let because = "the cage has no network".to_owned();
        let flag = Some(format!("--net {name}"));
        self.tell(&Refused { kind: RefusedKind::Host, subject: name.to_owned(), because, flag });
    }

    /// What pid 1 must not close.
    pub(crate) fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

const MOST_BYTES: usize = 256 * 1024;
/// A name of bytes that are no text can be four times as long as it is.
const LONGEST_LINE: usize = 20 * 1024;
