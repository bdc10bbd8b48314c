//! Who takes the cage's mounts down when pid 1 is gone: a worker of the kernel, and not pid 1 while
//! somebody waits for it. Unmounting waits until no processor can still be looking at the mounts,
//! which takes long on a busy machine, and there are as many mounts as grants.
//!
//! Never needed for the end itself: where this cannot be had, pid 1's exit does the work.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use sys::channel::{self, Waiting};

/// What takes hold of the cage's mount namespace when pid 1 is about to end.
///
/// Only then: the kernel counts the descriptors in messages of one user, and refuses everybody's when
/// there are many.
#[derive(Debug)]
pub(crate) struct Departure {
    namespace: OwnedFd,
    holder: OwnedFd,
    other_end: OwnedFd,
}

impl Departure {
    /// Opens what it needs, while this process can still see it.
    pub(crate) fn prepare() -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = rustix::fs::openat(CWD, c"/proc/self/ns/mnt", flags, Mode::empty())?;
        let (holder, other_end) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok(Self { namespace, holder, other_end })
    }

    /// The descriptors that pid 1 keeps to its end.
    pub(crate) fn descriptors(&self) -> [i32; 3] {
        [&self.namespace, &self.holder, &self.other_end].map(AsRawFd::as_raw_fd)
    }

    /// Leaves the mounts to the kernel's worker: a message to a socket, with that socket and the
    /// namespace in it, which nobody reads. When this process has ended, only the message holds the
    /// socket and only the socket the message. Closing the other end has the kernel look for such, and
    /// what it finds is let go of by its worker.
    pub(crate) fn leave(&self) -> Result<(), Errno> {
        let held = [self.holder.as_fd(), self.namespace.as_fd()];
        channel::send(self.other_end.as_fd(), b"mounts", &held, Waiting::Allowed)
    }
}
