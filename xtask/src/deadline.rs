//! Programs that get only so long. One that takes longer is killed with everything in its process
//! group. None has our terminal: a test that asked there would wait for a person. Never waits without end.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::command::{Failure, start_failure};

/// Runs a program that must succeed in time, with our output as its output.
pub(crate) fn succeed(command: &mut Command, longest: Duration) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    match finish(command, longest)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Failure::Status { program, status }),
        None => Err(Failure::Time { program, seconds: longest.as_secs() }),
    }
}

/// Runs a program, with our output as its output unless the command says otherwise. No status means
/// that it took too long.
pub(crate) fn finish(
    command: &mut Command,
    longest: Duration,
) -> Result<Option<ExitStatus>, Failure> {
    let command = sys::terminal::without_ours(command.stdin(Stdio::null()));
    let mut child = command.spawn().map_err(|source| start_failure(command, source))?;
    let status = wait(&mut child, longest)?;
    if status.is_none() {
        end(&mut child)?;
    }
    Ok(status)
}

/// Waits until a child ends or its time is over.
pub(crate) fn wait(child: &mut Child, longest: Duration) -> Result<Option<ExitStatus>, Failure> {
    let deadline = Instant::now() + longest;
    let mut pause = Duration::from_millis(1);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    Ok(None)
}

/// Kills a child that leads a process group, and that group.
pub(crate) fn end(child: &mut Child) -> Result<(), Failure> {
    if let Some(group) = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()) {
        let _gone_already = kill_process_group(group, Signal::KILL);
    }
    child.wait()?;
    Ok(())
}
