//! Small programs that sieges start: one that speaks to a socket, one that types on its terminal,
//! one that starts another where no namespace can be made.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::process::{WaitOptions, waitpid};
use sys::clone::{Forked, Namespaces, fork_into};
use sys::raw::{TerminalTrick, UpperBits, play_terminal_trick};

use super::fail;

/// Connects to a socket and leaves a mark there.
pub(super) fn speak(socket: &str, mark: &str) -> ExitCode {
    let spoken = UnixStream::connect(Path::new(socket))
        .and_then(|mut stream| stream.write_all(format!("{mark};").as_bytes()));
    ended(spoken)
}

/// Types words on the terminal that is its standard input, as their user would.
pub(super) fn type_on_terminal(words: &str) -> ExitCode {
    // Refused where this process leads a session already, and then the terminal is its own.
    let _leader = rustix::process::setsid();
    let stdin = std::io::stdin();
    let _controlling = rustix::process::ioctl_tiocsctty(stdin.as_fd());
    let mut last = Ok(());
    for byte in words.bytes().chain(*b"\n") {
        for upper in [UpperBits::Clear, UpperBits::Set] {
            last = play_terminal_trick(stdin.as_fd(), TerminalTrick::PushInput(byte), upper);
            if last.is_ok() {
                break;
            }
        }
    }
    ended(last.map_err(std::io::Error::from))
}

/// Starts a program as root of a user namespace in which no other can be made.
pub(super) fn start_without_namespaces(program: &str, arguments: &[&str]) -> ExitCode {
    match fork_without_namespaces(program, arguments) {
        Ok(code) => code,
        Err(error) => fail(&error.to_string()),
    }
}

fn fork_without_namespaces(program: &str, arguments: &[&str]) -> std::io::Result<ExitCode> {
    let (mut gate, opener) = std::io::pipe()?;
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match fork_into(Namespaces::USER, None)? {
        Forked::Parent { pid, pidfd: _ } => {
            let mapped = super::stage::map_ids(pid, uid, gid);
            drop((gate, opener));
            let status = waitpid(Some(pid), WaitOptions::empty())?;
            mapped?;
            let code = status.and_then(|(_, status)| status.exit_status());
            Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
        Forked::Child => {
            drop(opener);
            let _closed = gate.read(&mut [0])?;
            std::fs::write("/proc/sys/user/max_user_namespaces", "0")?;
            Err(Command::new(program).args(arguments).exec())
        }
    }
}

fn ended(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}
