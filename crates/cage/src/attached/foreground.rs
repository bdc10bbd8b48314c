//! The user's own streams and terminal in the hands of a program that gets them as they are. Takes the
//! terminal back, whatever happens.

use std::os::fd::{AsFd, OwnedFd};

use jail::{ProgramStreams, Stream};
use rustix::io::Errno;
use rustix::process::Pid;

/// The streams of this process, as they are. One that is closed leads nowhere.
pub(super) fn own_streams() -> Result<ProgramStreams, Errno> {
    let copy = |stream| match rustix::io::fcntl_dupfd_cloexec(stream, FIRST_BEYOND_STANDARD) {
        Ok(copy) => Ok(Stream::Descriptor(copy)),
        Err(Errno::BADF) => Ok(Stream::Null),
        Err(errno) => Err(errno),
    };
    Ok(ProgramStreams {
        stdin: copy(rustix::stdio::stdin())?,
        stdout: copy(rustix::stdio::stdout())?,
        stderr: copy(rustix::stdio::stderr())?,
    })
}

/// The user's terminal, which another group has. Dropping it takes it back.
#[derive(Debug)]
pub(super) struct LentTerminal(OwnedFd);

impl LentTerminal {
    /// Gives the terminal on standard input to the program's group, if it is this group's to give.
    pub(super) fn to(program: Pid) -> Option<Self> {
        let terminal = rustix::stdio::stdin();
        let own = rustix::process::getpgrp();
        if rustix::termios::tcgetpgrp(terminal) != Ok(own) {
            return None;
        }
        let copy = rustix::io::fcntl_dupfd_cloexec(terminal, FIRST_BEYOND_STANDARD).ok()?;
        rustix::termios::tcsetpgrp(&copy, program).ok()?;
        // One that was faster has been stopped by the kernel when it read from it.
        let _gone = sys::signal::send_to_group(program, libc::SIGCONT);
        Some(Self(copy))
    }
}

impl Drop for LentTerminal {
    fn drop(&mut self) {
        // Whoever takes a terminal that is another's is stopped for it, unless it does not hear of
        // that.
        let held = sys::signal::block(&sys::signal::SignalSet::of(&[libc::SIGTTOU]));
        let _taken = rustix::termios::tcsetpgrp(self.0.as_fd(), rustix::process::getpgrp());
        if let Ok(before) = held {
            let _restored = sys::signal::set_mask(&before);
        }
    }
}

const FIRST_BEYOND_STANDARD: i32 = 3;
