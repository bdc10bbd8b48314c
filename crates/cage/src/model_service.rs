//! The supervisor's side of the process that serves the model to one cage: starts it, hands it the listener that was made
//! inside, and ends it with the cage. What it serves is its own business: this side never has a key and never sees a
//! byte of what is asked.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plan::network::{Family, MODEL_PORT, SocketKind};
use plan::{Calls, MountOp, Plan, ServedFrom};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sys::channel::{self, Waiting};

use crate::error::RunError;
use crate::outcome::SpawnError;
use crate::record::Recorder;

/// A process that serves the model to one cage, or is about to. Dropping it ends the process.
#[derive(Debug)]
pub struct ModelService {
    process: Child,
    control: OwnedFd,
}

/// What the process is told, with the listener, in one packet on its standard input. It answers by a packet that is
/// `served`, or says why not; the end of its standard input is its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrder {
    /// The start by which calls are on record.
    pub invocation: String,
    /// The directory of the record.
    pub record: PathBuf,
    /// The services beside the model that the cage may ask, by name.
    pub services: Vec<String>,
}

impl ModelService {
    /// Starts the process by its command line. Best before the cage is made: a key that it takes over is in nothing then
    /// that the cage is made from.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(words: &[OsString]) -> Result<Self, SpawnError> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| problem("its command line is empty"))?;
        let (control, theirs) = channel::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(problem)?;
        Ok(Self { process, control })
    }

    /// The same, serving a cage whose listener it gets.
    pub(crate) fn serving(
        mut self,
        plan: &Plan,
        recorder: &Recorder,
        listener: OwnedFd,
    ) -> Result<Self, RunError> {
        self.serve(plan, recorder.directory(), listener)?;
        Ok(self)
    }

    /// Has it serve a cage. When this returns, it does.
    fn serve(
        &mut self,
        plan: &Plan,
        record: Option<&Path>,
        listener: OwnedFd,
    ) -> Result<(), SpawnError> {
        let record = record.ok_or_else(|| problem("the cage is on no record"))?.to_owned();
        let invocation = plan.start.invocation.clone();
        let order = ModelOrder { invocation, record, services: services(plan) };
        let order = serde_json::to_vec(&order).map_err(problem)?;
        let control = self.control.as_fd();
        // A process that is gone has said why, or nothing.
        let sent = channel::send(control, &order, &[listener.as_fd()], Waiting::Allowed);
        drop(listener);
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| failed(Errno::INVAL))?;
            let mut polled = [PollFd::new(&self.control, PollFlags::IN)];
            match rustix::event::poll(&mut polled, Some(&left)) {
                Ok(0) => return Err(problem("it does not answer")),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(failed(errno)),
            }
            return match channel::receive(self.control.as_fd(), MOST_ANSWER, Waiting::Refused) {
                Ok(Some((answer, _))) if answer == SERVED => Ok(()),
                Ok(Some((answer, _))) => Err(problem(String::from_utf8_lossy(&answer))),
                Ok(None) => Err(sent.map_or_else(failed, |()| problem("it ended"))),
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(errno) => Err(failed(errno)),
            };
        }
    }
}

impl Drop for ModelService {
    fn drop(&mut self) {
        // Already gone is what was wanted.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

/// What the cage's mounts of `services:` name.
fn services(plan: &Plan) -> Vec<String> {
    let served = plan.walls.mounts.iter().filter_map(MountOp::served);
    let inside = served.filter_map(|served| match &served.from {
        ServedFrom::Inside(inside) if inside.calls == Calls::Services => Some(&inside.names),
        _ => None,
    });
    let mut names: Vec<String> = inside.flatten().cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// The sockets that pid 1 has made inside.
pub(crate) type Sockets = Vec<(SocketKind, OwnedFd)>;

/// Those for the gatekeeper, and the listener of the model service, if there is one. That service is found at one address
/// of loopback: the listener at the other one is closed.
pub(crate) fn apart(sockets: Sockets) -> (Sockets, Option<OwnedFd>) {
    let is_of_model = |kind| matches!(kind, SocketKind::HostPort { port: MODEL_PORT, .. });
    let (of_model, others): (Vec<_>, Vec<_>) =
        sockets.into_iter().partition(|(kind, _)| is_of_model(*kind));
    let of_loopback = |kind| matches!(kind, SocketKind::HostPort { family: Family::V4, .. });
    let mut listener = of_model.into_iter().filter(|(kind, _)| of_loopback(*kind));
    (others, listener.next().map(|(_, listener)| listener))
}

fn problem(text: impl ToString) -> SpawnError {
    SpawnError::Model { problem: text.to_string() }
}

fn failed(errno: Errno) -> SpawnError {
    problem(std::io::Error::from(errno))
}

/// What the process answers when it serves the cage.
pub const SERVED: &[u8] = b"served";
/// The command of the operator's that prints the key may ask the person first.
const PATIENCE: Duration = Duration::from_secs(150);
const MOST_ANSWER: usize = 4096;
