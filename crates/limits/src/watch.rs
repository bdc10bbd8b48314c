//! One descriptor that is readable when a counter of a group of version 2 has changed.
//!
//! A counter file raises a priority event when it changes, and again only after it was read. An epoll
//! descriptor is readable as long as one of its files is ready, which makes one plain descriptor of
//! all.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::directory::{Directory, read_all};

/// What a cage's supervisor polls.
#[derive(Debug)]
pub(crate) struct Watch {
    epoll: OwnedFd,
    files: Vec<(&'static str, OwnedFd)>,
}

impl Watch {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, files: Vec::new() })
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

    /// The text of a watched file, which lets the descriptor rest until it changes again.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let (_, file) = self.files.iter().find(|(watched, _)| *watched == name)?;
        read_all(file).ok()
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
