//! One descriptor that is readable when the kernel has something to say about a cage's limits.
//!
//! Version 1 announces want of memory through an event descriptor; every other counter file raises
//! a priority event when it changes, and does so again only after it was read. An epoll descriptor
//! is readable as long as one of them is ready, which makes one plain descriptor of all.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{EventfdFlags, epoll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::directory::{Directory, read_all};

/// What a cage's supervisor polls.
#[derive(Debug)]
pub(crate) struct Watch {
    epoll: OwnedFd,
    files: Vec<(&'static str, OwnedFd)>,
    announcement: Option<OwnedFd>,
    announced: AtomicU64,
}

impl Watch {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let announced = AtomicU64::new(0);
        Ok(Self { epoll, files: Vec::new(), announcement: None, announced })
    }

    /// Watches a counter file. [`Self::read`] reads it from then on.
    pub(crate) fn add_file(
        &mut self,
        directory: &Directory,
        name: &'static str,
    ) -> Result<(), Errno> {
        let file = directory.open_file(name, OFlags::RDONLY)?;
        // A file that was never read counts as changed.
        read_all(&file)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.epoll, &file, data, epoll::EventFlags::PRI)?;
        self.files.push((name, file));
        Ok(())
    }

    /// Has want of memory in a group of version 1 announced.
    pub(crate) fn add_announcement(&mut self, directory: &Directory) -> Result<(), Errno> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let announcement = rustix::event::eventfd(0, flags)?;
        let control = directory.open_file("memory.oom_control", OFlags::RDONLY)?;
        let request = format!("{} {}", announcement.as_raw_fd(), control.as_raw_fd());
        directory.try_write("cgroup.event_control", request)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.epoll, &announcement, data, epoll::EventFlags::IN)?;
        self.announcement = Some(announcement);
        Ok(())
    }

    /// The text of a watched file, which lets the descriptor rest until it changes again.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let (_, file) = self.files.iter().find(|(watched, _)| *watched == name)?;
        read_all(file).ok()
    }

    /// How often want of memory was announced so far.
    pub(crate) fn announced(&self) -> u64 {
        let mut count = [0_u8; 8];
        let new = match &self.announcement {
            Some(announcement) => match rustix::io::read(announcement, &mut count) {
                Ok(8) => u64::from_ne_bytes(count),
                _ => 0,
            },
            None => 0,
        };
        self.announced.fetch_add(new, Ordering::AcqRel).saturating_add(new)
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
