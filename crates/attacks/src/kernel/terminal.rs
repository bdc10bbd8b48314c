//! Typing on the user's terminal, and the other requests that speak in the user's name. Plays on a
//! terminal of its own: the filter decides before the kernel looks at which one it is. T20

use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use sys::raw::{TerminalTrick, UpperBits, play_terminal_trick};

use crate::attack::{Attack, Outcome, Refused};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T20", "type-on-terminal", "types on its terminal (`TIOCSTI`)", |_| {
        play(TerminalTrick::PushInput(b'x'), UpperBits::Clear)
    }),
    Attack::new(
        "T20",
        "type-on-terminal-upper-bits",
        "types on its terminal with bits set that the kernel ignores",
        |_| play(TerminalTrick::PushInput(b'x'), UpperBits::Set),
    ),
    Attack::new("T20", "paste-on-console", "pastes on the console (`TIOCLINUX`)", |_| {
        play(TerminalTrick::PasteSelection, UpperBits::Clear)
    }),
    Attack::new(
        "T20",
        "paste-on-console-upper-bits",
        "pastes on the console with bits set that the kernel ignores",
        |_| play(TerminalTrick::PasteSelection, UpperBits::Set),
    ),
    Attack::new("T20", "load-line-discipline", "loads a line discipline (`TIOCSETD`)", |_| {
        play(TerminalTrick::LineDiscipline, UpperBits::Clear)
    }),
];

fn own_terminal() -> Result<(OwnedFd, OwnedFd), Refused> {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let terminal = ioctl_tiocgptpeer(&controller, OpenptFlags::RDWR | OpenptFlags::CLOEXEC)?;
    Ok((controller, terminal))
}

/// A refusal by EPERM is the filter's: as the leader of a session with this terminal the caller
/// may type on it, and the kernel's other answers to these requests are different ones.
fn play(trick: TerminalTrick, upper: UpperBits) -> Result<Outcome, Refused> {
    // The terminal goes before its session does, which then gets SIGHUP.
    sys::signal::set_mask(&sys::signal::SignalSet::full())?;
    // A leader already, where the attack runs in a session of its own.
    let _leader = rustix::process::setsid();
    let (_controller, terminal) = own_terminal()?;
    rustix::process::ioctl_tiocsctty(&terminal)?;
    match play_terminal_trick(terminal.as_fd(), trick, upper) {
        Ok(()) => Ok(Outcome::Succeeded("the terminal obeyed".to_owned())),
        Err(errno @ (rustix::io::Errno::PERM | rustix::io::Errno::NOSYS)) => Err(errno.into()),
        Err(errno) => {
            let Refused(word) = errno.into();
            Ok(Outcome::Succeeded(format!("reached the terminal: {word}")))
        }
    }
}
