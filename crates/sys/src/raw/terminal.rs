//! The terminal requests by which a program puts words into its user's mouth. The request number
//! can be given with bits beyond the 32 that the kernel looks at.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::UpperBits;
use crate::clone::last_errno;

/// What to ask of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalTrick {
    /// `TIOCSTI`: this byte was typed.
    PushInput(u8),
    /// `TIOCLINUX`: paste what is selected on the console.
    PasteSelection,
    /// `TIOCSETD`: load a line discipline; the number is of none that exists.
    LineDiscipline,
}

/// Asks it.
pub fn play_terminal_trick(
    terminal: BorrowedFd<'_>,
    trick: TerminalTrick,
    upper: UpperBits,
) -> Result<(), Errno> {
    let (request, value) = match trick {
        TerminalTrick::PushInput(byte) => (libc::TIOCSTI, i64::from(byte)),
        TerminalTrick::PasteSelection => (libc::TIOCLINUX, 3),
        TerminalTrick::LineDiscipline => (libc::TIOCSETD, 0x7fff),
    };
    let request = u64::from(request as u32) | upper.bits();
    // SAFETY: each of the three requests reads at most one int through its pointer: `value` is eight
    // bytes, holds the argument in its low ones and outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_ioctl, terminal.as_raw_fd(), request, &raw const value) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}
