//! The process between `exec` and a command, and between a worker and a child of it: what is started becomes its own child at
//! the latest when it is orphaned, so it finds all of it. Ends everything when its input is closed, and ends as the command
//! did. Reads nothing, and decides nothing.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};

/// What a program may leave running, and whose the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A command that has ended may leave others in the background. The input is ours, to end it by.
    Running,
    /// Everything ends with the program, whose input it is.
    Nothing,
}

/// Runs a program until it ends, or standard input does.
pub fn main(words: &[OsString], left: Left) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else {
        return ExitCode::from(CANNOT_START);
    };
    if set_child_subreaper(Some(getpid())).is_err() {
        return ExitCode::from(CANNOT_START);
    }
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    // Of an input that is the program's only its end is looked for.
    let (input, looked_for) = match left {
        Left::Running => (Stdio::null(), PollFlags::IN),
        Left::Nothing => (Stdio::inherit(), PollFlags::empty()),
    };
    command.stdin(input);
    let Ok(mut child) = command.spawn() else { return ExitCode::from(CANNOT_START) };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(ended) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        end_all();
        return ExitCode::from(CANNOT_START);
    };
    let stdin = std::io::stdin();
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), looked_for),
        ];
        // Only a signal interrupts this.
        if poll(&mut polled, None).is_err() {
            continue;
        }
        let [of_child, of_input] = &polled;
        if !of_child.revents().is_empty() {
            let status = child.wait().ok();
            if left == Left::Nothing {
                end_all();
            }
            let code = status.map(|status| {
                status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
            });
            return ExitCode::from(
                code.and_then(|code| u8::try_from(code).ok()).unwrap_or(CANNOT_START),
            );
        }
        if !of_input.revents().is_empty() {
            end_all();
            return ExitCode::from(KILLED);
        }
    }
}

/// Kills all children again and again: those of a child that is gone are ours.
pub fn end_all() {
    let until = Instant::now() + LONGEST;
    while Instant::now() < until {
        for child in children() {
            let _already_gone = kill_process(child, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No child is left.
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes whose parent we are.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |number: &i32| {
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat).into_owned();
        // After the name, which may have anything in it: the state, then the parent.
        let parent = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<i32>().ok());
        parent == Some(own)
    };
    numbers.filter(is_ours).filter_map(Pid::from_raw).collect()
}

const CANNOT_START: u8 = 126;
const KILLED: u8 = 137;
const LONGEST: Duration = Duration::from_secs(3);
