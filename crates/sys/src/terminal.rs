//! Which terminal a descriptor leads to. Changes nothing on it.

use std::os::fd::AsFd;

use rustix::io::Errno;

/// The number of the terminal itself, also where it was opened as `/dev/tty` or `/dev/console`, which have numbers
/// of their own.
pub fn device(terminal: impl AsFd) -> Result<u32, Errno> {
    // SAFETY: the operation must write no more than the given type: TIOCGDEV writes one unsigned int.
    let device = unsafe { rustix::ioctl::Getter::<GET_DEVICE, u32>::new() };
    // SAFETY: the operation must be harmless on whatever is open there: the number is that of terminals alone, and a
    // getter changes nothing that this process has but its own output.
    unsafe { rustix::ioctl::ioctl(terminal, device) }
}

const GET_DEVICE: rustix::ioctl::Opcode = libc::TIOCGDEV as rustix::ioctl::Opcode;
