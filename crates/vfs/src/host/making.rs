//! How the engine of a directory of the host begins: with one descriptor, and nothing else of the host.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::calls::{self, Reach};
use super::held::{Known, Lists};
use super::marks::{MarkStore, Marked, Marking};
use super::{Host, HostMode, Node};
use crate::attributes::Kind;
use crate::error::Result;
use crate::limits::{Counter, Limits, Setting};
use crate::locks::LockTable;
use crate::table::Table;

impl Host {
    /// What is below an open directory. Of the limits, `max_inodes` is how many files may be held at once (each takes a
    /// descriptor), and `max_open_files` how many may be open.
    pub fn new(directory: OwnedFd, mode: HostMode, limits: &Limits) -> Result<Self> {
        Self::reaching(directory, mode, limits, Reach::Beneath)
    }

    /// The root of this process as the cage around it shows it, with all that is mounted there; the kernel keeps this
    /// process in it. Its `/proc` is left out, where an engine's own memory is a file.
    pub fn of_root(directory: OwnedFd, limits: &Limits) -> Result<Self> {
        Self::reaching(directory, HostMode::Writable, limits, Reach::Mounts)
    }

    fn reaching(directory: OwnedFd, mode: HostMode, limits: &Limits, reach: Reach) -> Result<Self> {
        let held = reach.open(directory.as_fd(), b".", OFlags::PATH | OFlags::DIRECTORY)?;
        let found = rustix::fs::fstat(&held)?;
        let identity = reach.identity(&held, &found)?;
        // Without it nothing could be opened, or another file than the one that is held.
        let same = rustix::fs::stat(calls::by_descriptor(&held))?;
        if (same.st_dev, same.st_ino) != (found.st_dev, found.st_ino) {
            return Err(Errno::OPNOTSUPP.into());
        }
        let nodes = Table::new();
        let number = nodes.next();
        let root = Arc::new(Node {
            number,
            identity,
            descriptor: held,
            kind: Kind::Directory,
            parent: AtomicU64::new(number),
            held: AtomicU64::new(1),
            marks: Marked::default(),
            has_list: OnceLock::new(),
        });
        nodes.put(number, Arc::clone(&root));
        let host = Self {
            nodes,
            known: Known::new(),
            open: Table::new(),
            root,
            reach,
            mode,
            inodes: Counter::new(limits.max_inodes, Errno::NFILE, Setting::Inodes),
            handles: Counter::new(limits.max_open_files, Errno::NFILE, Setting::OpenFiles),
            locks: LockTable::default(),
            marks: None,
            lists: Lists::Unheeded,
        };
        host.known.of(host.root.identity).insert(host.root.identity, number);
        Ok(host)
    }

    /// The same for root, who serves others: a file with an access control list (`acl(5)`), which may deny somebody what
    /// its mode allows, is its owner's and root's alone.
    #[must_use]
    pub fn heeding_access_lists(self) -> Self {
        Self { lists: Lists::Heeded, ..self }
    }

    /// The same where nobody else changes the files: whether one has a list is asked when it is found.
    #[must_use]
    pub fn heeding_access_lists_once(self) -> Self {
        Self { lists: Lists::HeededOnce, ..self }
    }

    /// The same as an upper layer: what an overlay notes is kept in another directory, out of reach of every guest.
    /// `EOPNOTSUPP` where the host does not tell directories apart by when they were made.
    pub fn with_marks(self, directory: OwnedFd) -> Result<Self> {
        let marks = MarkStore::new(directory, &self.root)?;
        Ok(Self { marks: Some(Marking::Beside(marks)), ..self })
    }

    /// The same, with what an overlay notes in the form of the kernel's (`userxattr`), so that either can go on where the
    /// other has ended: whiteouts are character devices of number 0, notes are attributes `user.overlay.*`. An overlay
    /// shows neither to a guest.
    pub fn with_marks_of_kernel(self) -> Self {
        Self { marks: Some(Marking::OfKernel), ..self }
    }
}
