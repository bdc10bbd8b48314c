//! Small programs that scenarios start: one that speaks to a socket, one that types on its terminal,
//! one that looks at its own confinement, and those that start another program where something is
//! missing that a cage needs.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::io::Errno;
use rustix::process::{WaitOptions, waitpid};
use sys::clone::{Forked, Namespaces, fork_into};
use sys::raw::{Probe, TerminalTrick, UpperBits, play_terminal_trick};
use sys::seccomp::Instruction;

use super::fail;
use crate::attack::Refused;

/// Connects to a socket and leaves a mark there.
pub(super) fn speak(socket: &str, mark: &str) -> ExitCode {
    let spoken = UnixStream::connect(Path::new(socket))
        .and_then(|mut stream| stream.write_all(format!("{mark};").as_bytes()));
    ended(spoken)
}

/// Speaks to an abstract socket if the kernel's own list names it. To no other: beside this one there
/// may be arenas of other provers.
pub(super) fn speak_to_listed(mark: &str, wanted: &str) -> ExitCode {
    let list = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = list.lines().filter_map(|line| line.split_once('@'));
    let mut spoken = false;
    for (_, name) in names.filter(|(_, name)| name.trim_end() == wanted) {
        let name = name.trim_end();
        let connected = std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes())
            .and_then(|address| UnixStream::connect_addr(&address));
        let sent = connected.and_then(|mut stream| stream.write_all(format!("{mark};").as_bytes()));
        spoken |= sent.is_ok();
    }
    if spoken { ExitCode::SUCCESS } else { fail("no socket in the list") }
}

/// Asks a daemon for its cages, and prints the first line of its answer: as the caller (`plain`), as
/// another user, or from another user namespace.
pub(super) fn ask_daemon(who: &str, socket: &str) -> ExitCode {
    let asked = match who {
        "as-another-user" => {
            // The path to this program may be closed to others.
            let mut other = Command::new("/proc/self/exe");
            other.args(["__attack", "ask-daemon", "plain", socket]).uid(OTHER).gid(OTHER);
            other.status().map(drop)
        }
        "as-from-a-cage" => match fork_into(Namespaces::USER, None) {
            Ok(Forked::Parent { pid, pidfd: _ }) => {
                waitpid(Some(pid), WaitOptions::empty()).map(drop).map_err(std::io::Error::from)
            }
            Ok(Forked::Child) => return ask_daemon("plain", socket),
            Err(errno) => Err(errno.into()),
        },
        _ => match super::ask(Path::new(socket), "GET", "/v1/cages", "") {
            Ok(line) => return super::tell_line(&line),
            Err(Refused(how)) => Err(std::io::Error::other(how)),
        },
    };
    ended(asked)
}

/// Listens on its own loopback, leaves the port in a file, and passes on what the first visitor says.
pub(super) fn listen(file: &str) -> ExitCode {
    let listen = || -> std::io::Result<()> {
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        let unfinished = format!("{file}.unfinished");
        std::fs::write(&unfinished, listener.local_addr()?.port().to_string())?;
        std::fs::rename(unfinished, file)?;
        let (mut visitor, _) = listener.accept()?;
        let mut said = [0; 128];
        let length = visitor.read(&mut said)?;
        std::io::stdout().write_all(said.get(..length).unwrap_or_default())
    };
    ended(listen())
}

/// Leaves a mark at an address.
pub(super) fn reach(address: &str, mark: &str) -> ExitCode {
    let Ok(address) = address.parse() else {
        return fail("not an address");
    };
    match crate::network::reach(address, mark) {
        Ok(_) => ExitCode::SUCCESS,
        Err(Refused(how)) => fail(&how),
    }
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
            match last {
                Ok(()) => break,
                // The other way in may be closed; that this one was not must be told.
                Err(Errno::IO) => return fail(KERNEL_REFUSES),
                Err(_) => {}
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
            let mapped = super::stage::map_ids(pid, (0, uid), (0, gid));
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

/// Starts a program for which one system call does not exist, as on a kernel that is too old or
/// under someone else's filter.
pub(super) fn start_without_call(number: &str, program: &str, arguments: &[&str]) -> ExitCode {
    let Ok(number) = number.parse::<u32>() else {
        return fail("not the number of a system call");
    };
    let instruction = |code, jt, jf, k| Instruction { code, jt, jf, k };
    let filter = [
        instruction(LOAD_WORD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, 0, 1, number),
        instruction(RETURN, 0, 0, ANSWER_ERROR | libc::ENOSYS.unsigned_abs()),
        instruction(RETURN, 0, 0, ALLOW),
    ];
    let installed = rustix::thread::set_no_new_privs(true)
        .and_then(|()| sys::seccomp::install(&filter))
        .map_err(std::io::Error::from);
    match installed {
        Ok(()) => fail(&Command::new(program).args(arguments).exec().to_string()),
        Err(error) => fail(&error.to_string()),
    }
}

/// Says `open` and why if any layer of a cage is missing around this process, else `closed`. The
/// secret is one that a cage must not show.
pub(super) fn tell_layers(secret: &str) -> ExitCode {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.map(str::trim).unwrap_or_default().to_owned()
    };
    let mut missing = Vec::new();
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        if !value(field).bytes().all(|byte| byte == b'0') {
            missing.push(format!("{field} is {}", value(field)));
        }
    }
    for (field, wanted) in [("Seccomp", "2"), ("NoNewPrivs", "1")] {
        if value(field) != wanted {
            missing.push(format!("{field} is {}", value(field)));
        }
    }
    // The filter that stands for an old kernel is one; a cage's own makes it two.
    if value("Seccomp_filters") == "1" {
        missing.push("no filter but the one around everything".to_owned());
    }
    if Path::new(secret).exists() {
        missing.push("the secret is in sight".to_owned());
    }
    if std::fs::write("/stockade-written", "").is_ok() {
        let _removed = std::fs::remove_file("/stockade-written");
        missing.push("the root can be written to".to_owned());
    }
    let others = std::fs::read_dir("/proc/self/fd").into_iter().flatten().count();
    // Three streams and the directory that is being read.
    if others > 4 {
        missing.push(format!("{others} descriptors are open"));
    }
    match missing.is_empty() {
        true => super::tell_line("closed"),
        false => super::tell_line(&format!("open: {}", missing.join(", "))),
    }
}

/// Makes refused calls for a while and leaves a file as soon as one reaches the kernel.
pub(super) fn flood(mark: &str) -> ExitCode {
    let start = std::time::Instant::now();
    let _ready = std::fs::write(format!("{mark}.ready"), "");
    while start.elapsed() < FLOOD_TIME {
        let refused = matches!(Probe::Ptrace.call(), Err(Errno::PERM | Errno::NOSYS));
        if !refused {
            return ended(std::fs::write(mark, ""));
        }
    }
    ExitCode::SUCCESS
}

fn ended(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

/// What a program says whose typing came to the terminal's own code, which takes none from users: so it
/// is where `dev.tty.legacy_tiocsti` is 0.
pub const KERNEL_REFUSES: &str = "the terminal itself takes no typing from users";

/// Nobody in particular.
const OTHER: u32 = 65533;
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const ANSWER_ERROR: u32 = 0x0005_0000;
const ALLOW: u32 = 0x7fff_0000;
const FLOOD_TIME: std::time::Duration = std::time::Duration::from_secs(2);
