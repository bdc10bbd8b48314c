//! How version 1 says that a group wants for memory: through an event descriptor, as soon as the
//! kernel begins to choose a process to kill. It announces nothing else.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::EventfdFlags;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::directory::Directory;

/// A descriptor that is readable after want of memory was announced, until it is asked how often.
#[derive(Debug)]
pub(crate) struct Announcement {
    events: OwnedFd,
    heard: AtomicU64,
}

impl Announcement {
    /// Has want of memory in a group announced from now on.
    pub(crate) fn request(directory: &Directory) -> Result<Self, Errno> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let events = rustix::event::eventfd(0, flags)?;
        let control = directory.open_file("memory.oom_control", OFlags::RDONLY)?;
        let request = format!("{} {}", events.as_raw_fd(), control.as_raw_fd());
        directory.try_write("cgroup.event_control", request)?;
        Ok(Self { events, heard: AtomicU64::new(0) })
    }

    /// How often it was announced so far.
    pub(crate) fn heard(&self) -> u64 {
        let mut count = [0_u8; 8];
        let new = match rustix::io::read(&self.events, &mut count) {
            Ok(8) => u64::from_ne_bytes(count),
            _ => 0,
        };
        self.heard.fetch_add(new, Ordering::AcqRel).saturating_add(new)
    }
}

impl AsFd for Announcement {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}
