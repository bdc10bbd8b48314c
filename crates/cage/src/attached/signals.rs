//! Signals that are read instead of received, so that none is lost between two looks. Gives them back
//! as they were.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use sys::signal::SignalSet;

/// Signals that wait to be read.
#[derive(Debug)]
pub(super) struct Signals {
    descriptor: OwnedFd,
    before: SignalSet,
}

impl Signals {
    /// Holds back everything that is forwarded, and `others`.
    pub(super) fn take(others: &[i32]) -> Result<Self, Errno> {
        let set = SignalSet::of(&[&FORWARDED, others].concat());
        let before = sys::signal::block(&set)?;
        Ok(Self { descriptor: sys::signal::descriptor(&set)?, before })
    }

    /// The next signal; none if there is none waiting.
    pub(super) fn next(&self) -> Result<Option<i32>, Errno> {
        sys::signal::read(self.descriptor.as_fd())
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.next() {}
        let _restored = sys::signal::set_mask(&self.before);
    }
}

/// Stops this process with its whole group, as the terminal would do, so that a wrapper around it
/// stops too; the kernel ignores it where no shell could continue the group. Returns when it is
/// continued.
pub(super) fn stop_own_group() -> Result<(), Errno> {
    let group = rustix::process::getpgrp();
    let others: Vec<i32> =
        FORWARDED.into_iter().filter(|signal| *signal != libc::SIGTSTP).collect();
    let waiting = sys::signal::set_mask(&SignalSet::of(&others))?;
    let stopped = sys::signal::send_to_group(group, libc::SIGTSTP);
    sys::signal::set_mask(&waiting)?;
    stopped
}

/// What a program may want to know of: everything that a user or a service manager sends.
const FORWARDED: [i32; 10] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
];
