//! Signals by name or number, as a client or a person writes them.

use serde::Deserialize;

use crate::problem::{Code, Problem};

#[cfg(test)]
mod tests;

/// `"TERM"`, `"SIGTERM"`, `"15"` or `15`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(crate) enum SignalWord {
    /// A number.
    Number(i32),
    /// A name.
    Name(String),
}

/// The signal's number.
pub(crate) fn number(word: &SignalWord) -> Result<i32, Problem> {
    let found = match word {
        SignalWord::Number(number) => Some(*number).filter(|number| (1..=HIGHEST).contains(number)),
        SignalWord::Name(name) => named(name),
    };
    found.ok_or_else(|| {
        Problem::new(Code::BadRequest, "there is no such signal")
            .help("give a name such as `TERM`, or a number from 1 to 64")
    })
}

/// The number of `TERM`, `SIGTERM` or `15`.
pub fn named(name: &str) -> Option<i32> {
    let plain = name.to_ascii_uppercase();
    let plain = plain.strip_prefix("SIG").unwrap_or(&plain);
    let named = NAMES.iter().find(|(known, _)| *known == plain);
    let number = named.map(|(_, number)| *number).or_else(|| plain.parse().ok());
    number.filter(|number| (1..=HIGHEST).contains(number))
}

/// The signals that have names everywhere (signal(7)); others go by number.
const NAMES: [(&str, i32); 18] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ABRT", libc::SIGABRT),
    ("KILL", libc::SIGKILL),
    ("SEGV", libc::SIGSEGV),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("WINCH", libc::SIGWINCH),
];

const HIGHEST: i32 = 64;
