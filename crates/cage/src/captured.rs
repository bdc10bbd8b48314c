//! Running a cage to its end with its output in memory, up to a cap. For short programs of our
//! own: self-checks and attacks.

use std::os::fd::{AsFd, OwnedFd};

use jail::{ProgramStreams, Stream};
use plan::Plan;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::outcome::{Outcome, SpawnError};
use crate::spawn::spawn;

/// What a program wrote, and how it ended.
#[derive(Debug)]
pub struct Captured {
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output, cut at 4 MiB.
    pub stdout: Vec<u8>,
    /// Standard error, cut at 4 MiB.
    pub stderr: Vec<u8>,
}

/// Runs the Plan's program without input and returns when it has ended.
pub fn run_captured(plan: &Plan, sources: &[OwnedFd]) -> Result<Captured, SpawnError> {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (stdout, stdout_inside) = pipe().map_err(SpawnError::Supervise)?;
    let (stderr, stderr_inside) = pipe().map_err(SpawnError::Supervise)?;
    let streams = ProgramStreams {
        stdin: Stream::Null,
        stdout: Stream::Descriptor(stdout_inside),
        stderr: Stream::Descriptor(stderr_inside),
    };
    let running = spawn(plan, sources, streams)?;
    let mut outputs = [(Some(stdout), Vec::new()), (Some(stderr), Vec::new())];
    // The pipes end when the last process of the cage does.
    while outputs.iter().any(|(pipe, _)| pipe.is_some()) {
        read_ready(&mut outputs).map_err(SpawnError::Supervise)?;
    }
    let outcome = running.wait()?;
    let [(_, stdout), (_, stderr)] = outputs;
    Ok(Captured { outcome, stdout, stderr })
}

fn read_ready(outputs: &mut [(Option<OwnedFd>, Vec<u8>); 2]) -> Result<(), Errno> {
    let open: Vec<usize> = (0..outputs.len())
        .filter(|position| outputs.get(*position).is_some_and(|(pipe, _)| pipe.is_some()))
        .collect();
    let mut waiting: Vec<PollFd<'_>> = outputs
        .iter()
        .filter_map(|(pipe, _)| pipe.as_ref())
        .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
        .collect();
    match rustix::event::poll(&mut waiting, None) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    let ready: Vec<bool> = waiting.iter().map(|one| !one.revents().is_empty()).collect();
    for (position, _) in open.into_iter().zip(ready).filter(|(_, ready)| *ready) {
        let Some((pipe, kept)) = outputs.get_mut(position) else { continue };
        let mut buffer = [0_u8; 16 * 1024];
        let length = match pipe.as_ref().map(|pipe| rustix::io::read(pipe, &mut buffer)) {
            Some(Ok(length)) => length,
            Some(Err(Errno::INTR)) | None => continue,
            Some(Err(errno)) => return Err(errno),
        };
        if length == 0 {
            *pipe = None;
        }
        let room = MOST_OUTPUT.saturating_sub(kept.len());
        kept.extend(buffer.iter().take(length.min(room)));
    }
    Ok(())
}

/// Most bytes that are kept of each stream; the rest is read and thrown away.
const MOST_OUTPUT: usize = 4 << 20;
