//! A process that bears cages for callers with many threads: forked while there is still one
//! thread, it takes Plans and descriptors over a socket and gives back handles. The same code as a
//! direct [`crate::start`]; it knows nothing else.

mod wire;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use plan::Plan;
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces};
use sys::signal::SignalSet;

use crate::control::Channel;
use crate::{
    Born, LimitsHolder, ProgramStreams, SetupFailure, StartError, Step, privileges, start,
};

/// A running launcher process. Dropping it ends the process, and with it every cage it bore.
#[derive(Debug)]
pub struct Launcher {
    /// One request at a time: a request can be several packets.
    socket: Mutex<OwnedFd>,
    pid: Pid,
}

impl Launcher {
    /// Forks the launcher. Refused in a process that already has more than one thread.
    pub fn start() -> Result<Self, StartError> {
        let failed = |errno| match errno {
            Errno::BUSY => StartError::Unsupported(
                "a launcher must be started before the first thread: it is a copy of this process"
                    .to_owned(),
            ),
            errno => StartError::Setup(SetupFailure::kernel(Step::Namespaces, "launcher", errno)),
        };
        let (ours, theirs) = Channel::pair().map_err(failed)?;
        match sys::clone::fork_into(Namespaces::NONE, None).map_err(failed)? {
            Forked::Child => {
                drop(ours);
                serve(&theirs.into_fd());
                sys::exec::exit_now(0)
            }
            Forked::Parent { pid, .. } => Ok(Self { socket: Mutex::new(ours.into_fd()), pid }),
        }
    }

    /// Bears a cage, as [`crate::start`] does, from any thread.
    pub fn start_cage(
        &self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<Born, StartError> {
        // A thread that panicked while it held the lock has aborted the process.
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = |_| StartError::Unsupported("the launcher process is gone".to_owned());
        wire::send_request(socket.as_fd(), plan, sources, &streams, limits).map_err(gone)?;
        wire::receive_answer(socket.as_fd(), plan).map_err(gone)?
    }

    /// The launcher's process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _gone = sys::signal::send(self.pid, libc::SIGKILL);
        let options = rustix::process::WaitOptions::empty();
        let _reaped = rustix::process::waitpid(Some(self.pid), options);
    }
}

/// The launcher's whole life: bear what is asked for until the caller is gone.
fn serve(socket: &OwnedFd) {
    if prepare(socket).is_err() {
        return;
    }
    while let Ok(Some(request)) = wire::receive_request(socket.as_fd()) {
        let answer = match request {
            Ok(request) => {
                let limits = request.limits.as_holder();
                start(&request.plan, &request.sources, request.streams, limits)
            }
            Err(refusal) => Err(refusal),
        };
        if wire::send_answer(socket.as_fd(), answer).is_err() {
            return;
        }
    }
}

/// Leaves the caller's terminal and descriptors, lets ended cages be reaped by the kernel, and
/// ends with the caller.
fn prepare(socket: &OwnedFd) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Settings, "the launcher", errno);
    privileges::die_with_parent()?;
    sys::signal::set_mask(&SignalSet::empty()).map_err(failed)?;
    sys::signal::ignore(libc::SIGCHLD).map_err(failed)?;
    rustix::process::setsid().map_err(failed)?;
    let kept = std::os::fd::AsRawFd::as_raw_fd(socket);
    sys::descriptors::close_all_but(&[u32::try_from(kept).unwrap_or(u32::MAX)]).map_err(failed)
}
