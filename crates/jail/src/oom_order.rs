//! Whom the kernel ends first where a cage's memory runs out: a process of the program. By size alone it
//! can be the cage's first process, which is larger than a shell that fills a file system in memory; then
//! nobody is left to tell the end, and a control group that goes with its last process takes its counters
//! along. Decides an order and nothing else: where it cannot be had, a start goes on without it.

use std::os::fd::OwnedFd;

use plan::Plan;
use rustix::fs::{CWD, Mode, OFlags};

/// The place of this process in that order.
pub(crate) struct OomOrder {
    file: OwnedFd,
    own: i32,
}

impl OomOrder {
    /// Opens what changes it, while this process may still do so. None without a limit on memory: the
    /// machine as a whole is not ours to order.
    pub(crate) fn open(plan: &Plan) -> Option<Self> {
        plan.walls.limits.memory_mb?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, c"/proc/self/oom_score_adj", flags, Mode::empty());
        let file = file.ok()?;
        let mut text = [0; 16];
        let length = rustix::io::pread(&file, &mut text, 0).ok()?;
        let own = std::str::from_utf8(text.get(..length)?).ok()?.trim().parse().ok()?;
        Some(Self { file, own })
    }

    /// What this process starts from now on goes before it.
    pub(crate) fn put_children_first(&self) {
        self.set(self.own.saturating_add(BEFORE_US).min(FIRST_OF_ALL));
    }

    /// This process is where it was.
    pub(crate) fn step_back(&self) {
        self.set(self.own);
    }

    fn set(&self, place: i32) {
        let _as_before = rustix::io::pwrite(&self.file, place.to_string().as_bytes(), 0);
    }
}

/// In thousandths of the limit: more than the first process has of the smallest one.
const BEFORE_US: i32 = 300;
const FIRST_OF_ALL: i32 = 1000;
