//! Which terminal a descriptor leads to, and programs that are to have none. Changes nothing on a terminal.

use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

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

/// Has a command's program lead a session of its own, and with it a process group: whatever it opens, `/dev/tty` is
/// not ours.
pub fn without_ours(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec nothing may take a lock or allocate: this makes one system call, and an error is
    // made from a number.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        })
    }
}

const GET_DEVICE: rustix::ioctl::Opcode = libc::TIOCGDEV as rustix::ioctl::Opcode;
