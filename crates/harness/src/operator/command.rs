//! One run of a command of the operator's: a question in, an answer out, and an end in time of all that stayed in its group.
//! Outside of every cage, with the operator's own authority; the words are those of the configuration.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal};

use super::MOST_ANSWER;

/// Runs it.
pub(crate) fn run(
    words: &[String],
    question: &[u8],
    time: Duration,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<Vec<u8>, String> {
    let (program, arguments) = words.split_first().ok_or("the service has no command")?;
    let failed = |error: std::io::Error| format!("the service cannot be started: {error}");
    let mut command = Command::new(program);
    command.args(arguments).stdin(written(question).map_err(failed)?);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).env_remove(crate::aside::VARIABLE);
    sys::signal::restore_all_defaults_in(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + time;
    let output = child.stdout.take().ok_or_else(|| "the service has no output".to_owned());
    let answer = output.and_then(|output| read(output, until, is_unwanted));
    let ended = answer.and_then(|answer| Ok((answer, wait(&mut child, until, is_unwanted)?)));
    end(&mut child);
    match ended? {
        (answer, status) if status.success() => Ok(answer),
        (_, status) => Err(format!("the service failed: {status}")),
    }
}

/// The question as a file, so that a command that reads nothing keeps nobody waiting.
fn written(question: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(c"question", MemfdFlags::CLOEXEC)?);
    file.write_all(question)?;
    file.rewind()?;
    Ok(file)
}

fn read(
    mut output: ChildStdout,
    until: Instant,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<Vec<u8>, String> {
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        check(until, is_unwanted)?;
        let mut polled = [PollFd::new(&output, PollFlags::IN)];
        let slice = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        if matches!(rustix::event::poll(&mut polled, Some(&slice)), Ok(0) | Err(_)) {
            continue;
        }
        match output.read(&mut buffer) {
            Ok(0) => return Ok(answer),
            Ok(count) => answer.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("the answer of the service is lost: {error}")),
        }
        if answer.len() > MOST_ANSWER {
            return Err(format!("the answer has more than {MOST_ANSWER} bytes"));
        }
    }
}

fn wait(
    child: &mut Child,
    until: Instant,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<std::process::ExitStatus, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(format!("the end of the service is lost: {error}")),
        }
        check(until, is_unwanted)?;
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn check(until: Instant, is_unwanted: &dyn Fn() -> bool) -> Result<(), String> {
    if is_unwanted() {
        return Err("nobody waits for the answer any more".to_owned());
    }
    match Instant::now() >= until {
        true => Err("the service took too long".to_owned()),
        false => Ok(()),
    }
}

/// Ends what is left of it.
fn end(child: &mut Child) {
    let _gone = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
    let _gone = child.kill();
    let _reaped = child.wait();
}
