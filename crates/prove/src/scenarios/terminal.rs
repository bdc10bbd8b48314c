//! The terminal of the user who starts a cage: typing on it from inside, having it act beyond its screen, and leaving it in a
//! state that hides what is said next. T20, T69, T70, T71

use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use attacks::Arena;
use attacks::KERNEL_REFUSES;
use attacks::{Outcome, Refused};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::CageRequest;
use crate::scenario::{Scenario, ScenarioScene, until};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T20",
        "type-on-users-terminal",
        "types on the terminal from which it was started",
        |scene| {
            let words = "typed-by-attack";
            let attacker = Arena::attacker(&scene.arena().project);
            let request = scene.request([
                attacker.as_os_str(),
                "__attack".as_ref(),
                "type".as_ref(),
                words.as_ref(),
            ]);
            let (screen, typed) = on_terminal(scene, &request, Keys::FromTerminal)?;
            Ok(judge_typing(words, &screen, &typed))
        },
    ),
    Scenario::new("T20", "write-users-clipboard", "has its terminal set the clipboard", |scene| {
        screen_shows(scene, "printf 'before\\033]52;c;c3RvY2thZGU=\\007after'", "\u{1b}]52;")
    }),
    Scenario::new("T20", "read-users-clipboard", "has its terminal type the clipboard", |scene| {
        screen_shows(scene, "printf 'before\\033]52;c;?\\033\\\\after'", "\u{1b}]52;")
    }),
    Scenario::new("T20", "link-to-a-program", "shows a link that is no web address", |scene| {
        let script =
            "printf 'before\\033]8;;file:///etc/passwd\\033\\\\text\\033]8;;\\033\\\\after'";
        screen_shows(scene, script, "]8;;file")
    }),
    Scenario::new(
        "T69",
        "clipboard-over-two-streams",
        "begins a sequence on one stream and ends it on the other",
        |scene| {
            // Without keys the program has two streams, and one terminal behind them.
            let script = "printf 'before\\033\\033'; sleep 0.1; \
                          printf ']52;c;c3RvY2thZGU=\\007after' >&2";
            let request = scene.script(script, &[]);
            let (screen, _) = on_terminal(scene, &request, Keys::FromNobody)?;
            Ok(judge_screen(&screen, "\u{1b}]52;"))
        },
    ),
    Scenario::new(
        "T70",
        "endless-control",
        "asks for the title in a very long sequence",
        |scene| screen_shows(scene, "printf 'before\\033[%0300dtafter' 21", "00000021t"),
    ),
    Scenario::new("T71", "checksum-of-screen", "has its terminal report the screen", |scene| {
        screen_shows(scene, "printf 'before\\033[1;1;1;1;9;9*yafter'", "*y")
    }),
    Scenario::new("T71", "leave-alternate-screen", "ends on the alternate screen", |scene| {
        screen_is_left(scene, "\\033[?1049h", "\u{1b}[?1049h", "\u{1b}[?1049l")
    }),
    Scenario::new("T71", "leave-other-letters", "ends with other letters on the screen", |scene| {
        screen_is_left(scene, "\\033(0", "\u{1b}(0", "\u{1b}(B")
    }),
    Scenario::new("T71", "leave-shifted-letters", "ends with another set of letters", |scene| {
        screen_is_left(scene, "\\033)0\\016", "\u{e}", "\u{f}")
    }),
    Scenario::new("T71", "leave-hidden-letters", "ends with letters that are not seen", |scene| {
        screen_is_left(scene, "\\033[8m", "\u{1b}[8m", "\u{1b}[0m")
    }),
];

/// What a program has as its standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    FromTerminal,
    FromNobody,
}

/// Typing went through if the words are there to be read, and also if only the kernel's own code for
/// terminals stood against it: most kernels let users type, so a cage must not count on this one.
fn judge_typing(words: &str, screen: &str, typed: &str) -> Outcome {
    if typed.contains(words) {
        return Outcome::Succeeded(format!("the terminal holds `{}`", typed.trim()));
    }
    if screen.contains(KERNEL_REFUSES) {
        return Outcome::Succeeded(format!("reached the terminal: {KERNEL_REFUSES}"));
    }
    Outcome::Failed(format!("nothing was typed; the screen says `{screen}`"))
}

/// Whether a sequence that a script prints arrives at the user's terminal.
fn screen_shows(
    scene: &mut ScenarioScene<'_>,
    script: &str,
    sequence: &str,
) -> Result<Outcome, Refused> {
    let request = scene.script(script, &[]);
    let (screen, _) = on_terminal(scene, &request, Keys::FromTerminal)?;
    Ok(judge_screen(&screen, sequence))
}

fn judge_screen(screen: &str, sequence: &str) -> Outcome {
    let shown = screen.escape_debug().to_string();
    if !(screen.contains("before") && screen.contains("after")) {
        return Outcome::Broken(format!("the screen says `{shown}`"));
    }
    match screen.contains(sequence) {
        true => Outcome::Succeeded(format!("the terminal got `{shown}`")),
        false => Outcome::Failed(format!("the terminal got `{shown}`")),
    }
}

/// Whether a terminal is left in the state that a program has brought it to.
fn screen_is_left(
    scene: &mut ScenarioScene<'_>,
    printed: &str,
    brings: &str,
    undoes: &str,
) -> Result<Outcome, Refused> {
    let request = scene.script(&format!("printf 'before{printed}after'"), &[]);
    let (screen, _) = on_terminal(scene, &request, Keys::FromTerminal)?;
    let shown = screen.escape_debug().to_string();
    // A filter that drops it, too, would leave nothing behind.
    Ok(match screen.rsplit_once(brings) {
        Some((_, after)) if !after.contains(undoes) => {
            Outcome::Succeeded(format!("the terminal got `{shown}`"))
        }
        _ if screen.contains("after") => Outcome::Failed(format!("the terminal got `{shown}`")),
        _ => Outcome::Broken(format!("the screen says `{shown}`")),
    })
}

/// Runs a program on a fresh terminal. Returns what the screen got, and what can be read there as
/// if the user had typed it.
fn on_terminal(
    scene: &mut ScenarioScene<'_>,
    request: &CageRequest,
    keys: Keys,
) -> Result<(String, String), Refused> {
    let (controller, terminal, look) = open_terminal()?;
    let mut command = scene.command(request);
    command
        .stdin(match keys {
            Keys::FromTerminal => Stdio::from(terminal.try_clone()?),
            Keys::FromNobody => Stdio::null(),
        })
        .stdout(Stdio::from(terminal.try_clone()?))
        .stderr(Stdio::from(terminal.try_clone()?));
    let mut child = command.spawn()?;
    let mut screen = Vec::new();
    let ended = until(|| {
        drain(&controller, &mut screen);
        matches!(child.try_wait(), Ok(Some(_)) | Err(_))
    });
    if !ended {
        child.kill()?;
        child.wait()?;
        return Err(Refused("did not end".to_owned()));
    }
    let mut typed = Vec::new();
    drain(&look, &mut typed);
    drain(&controller, &mut screen);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&screen), text(&typed)))
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

#[cfg(test)]
mod tests;
