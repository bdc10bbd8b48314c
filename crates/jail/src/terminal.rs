//! The program's terminal: a pair from the cage's own pseudo terminals, so that `tty` tells the
//! truth inside and no descriptor of the host's terminal ever enters the cage.

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;

use crate::{SetupFailure, Step};

/// Both ends of a terminal.
pub(crate) struct Terminal {
    /// For the supervisor.
    pub(crate) supervisor: OwnedFd,
    /// For the program.
    pub(crate) program: OwnedFd,
}

/// Makes a terminal and makes it the controlling one of this process's session.
pub(crate) fn open() -> Result<Terminal, SetupFailure> {
    let open = || -> Result<Terminal, Errno> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let supervisor = rustix::fs::openat(CWD, c"/dev/pts/ptmx", flags, Mode::empty())?;
        rustix::pty::unlockpt(&supervisor)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let program = rustix::pty::ioctl_tiocgptpeer(&supervisor, flags)?;
        rustix::process::ioctl_tiocsctty(&program)?;
        Ok(Terminal { supervisor, program })
    };
    open().map_err(|errno| SetupFailure::kernel(Step::Terminal, "the program", errno))
}
