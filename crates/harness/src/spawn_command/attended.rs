//! Waits for a child: passes signals on to it, and ends all that it leaves, so nothing outlives it. Has what the cage has,
//! and does nothing for the child.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper};
use sys::signal::SignalSet;

/// Starts this process's own command again as the child, and comes back with the status that it ends with.
pub(super) fn spawn() -> io::Result<u8> {
    let passed = SignalSet::of(&PASSED_ON.map(Signal::as_raw));
    sys::signal::block(&SignalSet::of(&HELD_BACK.map(Signal::as_raw)))?;
    let signals = sys::signal::descriptor(&passed)?;
    set_child_subreaper(Some(getpid()))?;
    // `spawn` is the first word of the command that is not an option.
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new("/proc/self/exe");
    for word in words.by_ref() {
        let is_it = word == "spawn";
        command.arg(word);
        if is_it {
            command.arg("--attended");
            break;
        }
    }
    let mut child = sys::signal::restore_all_defaults_in(command.args(words)).spawn()?;
    let ended = attend(&mut child, &signals);
    tools::reaper::end_all();
    ended
}

fn attend(child: &mut Child, signals: &std::os::fd::OwnedFd) -> io::Result<u8> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::Other)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [of_child, _] = &polled;
        if !of_child.revents().is_empty() {
            let status = child.wait()?;
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
            return Ok(u8::try_from(code).unwrap_or(u8::MAX));
        }
        while let Some(signal) = sys::signal::read(signals.as_fd())? {
            let _already_gone = sys::signal::send_by_handle(handle.as_fd(), signal);
        }
    }
}

/// What a terminal sends goes to the child as well, without us.
const HELD_BACK: [Signal; 6] =
    [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP, Signal::USR1, Signal::USR2];
const PASSED_ON: [Signal; 4] = [Signal::TERM, Signal::HUP, Signal::USR1, Signal::USR2];
