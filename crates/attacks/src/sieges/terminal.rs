//! The terminal of the user who starts a cage: typing on it from inside. T20

use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::Arena;
use crate::attack::{Outcome, Refused};
use crate::siege::{Siege, SiegeScene, until};

pub(crate) const SIEGES: &[Siege] = &[Siege::new(
    "T20",
    "type-on-users-terminal",
    "types on the terminal from which it was started",
    |scene| on_terminal(scene, "type", "typed-by-attack"),
)];

/// Starts the program on a fresh terminal and looks for what can be read as if the user had typed
/// it.
fn on_terminal(scene: &mut SiegeScene<'_>, mode: &str, words: &str) -> Result<Outcome, Refused> {
    let (controller, terminal, look) = open_terminal()?;
    let attacker = Arena::attacker(&scene.arena().project);
    let request =
        scene.request([attacker.as_os_str(), "__attack".as_ref(), mode.as_ref(), words.as_ref()]);
    let mut command = scene.command(&request);
    command
        .stdin(Stdio::from(terminal.try_clone()?))
        .stdout(Stdio::from(terminal.try_clone()?))
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut screen = Vec::new();
    let ended = until(|| {
        drain(&controller, &mut screen);
        matches!(child.try_wait(), Ok(Some(_)) | Err(_))
    });
    if !ended {
        child.kill()?;
        child.wait()?;
        return Ok(Outcome::Broken("did not end".to_owned()));
    }
    let mut typed = Vec::new();
    drain(&look, &mut typed);
    let typed = String::from_utf8_lossy(&typed).into_owned();
    drain(&controller, &mut screen);
    if typed.contains(words) {
        return Ok(Outcome::Succeeded(format!("the terminal holds `{}`", typed.trim())));
    }
    let screen = String::from_utf8_lossy(&screen).trim().chars().take(120).collect::<String>();
    Ok(Outcome::Failed(format!("nothing was typed; the screen says `{screen}`")))
}

/// The controlling side, the program's side, and a second descriptor of the program's side that does
/// not block.
fn open_terminal() -> Result<(OwnedFd, OwnedFd, OwnedFd), Refused> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let terminal = ioctl_tiocgptpeer(&controller, flags)?;
    let look = ioctl_tiocgptpeer(&controller, flags)?;
    for end in [controller.as_fd(), look.as_fd()] {
        let flags = rustix::fs::fcntl_getfl(end)?;
        rustix::fs::fcntl_setfl(end, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((controller, terminal, look))
}

fn drain(end: &OwnedFd, into: &mut Vec<u8>) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = rustix::io::read(end, &mut buffer) {
        into.extend_from_slice(buffer.get(..length).unwrap_or_default());
    }
}
