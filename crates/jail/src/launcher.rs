//! A process that starts cages for callers with many threads: forked while there is still one
//! thread, it takes Plans and descriptors over a socket and gives back handles. The same code as a
//! direct [`crate::start`]. It also forks the helper process, whose life is a
//! function that the caller named at the start; it knows nothing else.

mod wire;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use plan::Plan;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces};
use sys::signal::SignalSet;

use crate::bare_mounts::BareMounts;
use crate::control::Channel;
use crate::namespaces::Origin;
use crate::start::{Leftovers, start_in};
use crate::{Child, LimitsHolder, ProgramStreams, SetupFailure, StartError, Step, privileges};
use wire::{CageRequest, Request};

/// The whole life of a helper process: its end of a channel to the caller, and the
/// launcher, with which it has to end. The process ends when it returns.
pub type HelperLife = fn(OwnedFd, Pid);

/// A helper process. Whoever holds it ends it.
#[derive(Debug)]
pub struct Helper {
    /// Its id. The kernel reaps it.
    pub pid: Pid,
    /// A handle on it that cannot come to mean another process.
    pub pidfd: OwnedFd,
    /// The caller's end of the channel.
    pub control: OwnedFd,
}

/// A running launcher process. Dropping it ends the process, and with it every cage it started.
#[derive(Debug)]
pub struct Launcher {
    /// One request at a time: a request can be several packets.
    socket: Mutex<OwnedFd>,
    /// How many threads have one, or wait until they can.
    callers: AtomicUsize,
    pid: Pid,
    pidfd: OwnedFd,
}

impl Launcher {
    /// Forks the launcher. Refused in a process that already has more than one thread.
    pub fn start(helper: Option<HelperLife>) -> Result<Self, StartError> {
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
                // Above the standard streams, which lead nowhere from here on.
                if let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(&theirs, 3) {
                    drop(theirs);
                    serve(&socket, helper);
                }
                sys::exec::exit_now(0)
            }
            Forked::Parent { pid, pidfd } => {
                let socket = Mutex::new(ours.into_fd());
                Ok(Self { socket, callers: AtomicUsize::new(0), pid, pidfd })
            }
        }
    }

    /// Starts a cage, as [`crate::start`] does, from any thread.
    pub fn start_cage(
        &self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<Child, StartError> {
        // Written before it is this thread's turn, so that others are not kept waiting for it.
        let request = CageRequest::write(plan, sources, &streams, limits);
        self.callers.fetch_add(1, Ordering::Relaxed);
        let answer = {
            // A thread that panicked while it held the lock has aborted the process.
            let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
            request.send(socket.as_fd()).and_then(|()| wire::receive_answer(socket.as_fd()))
        };
        self.callers.fetch_sub(1, Ordering::Relaxed);
        let (pid, pidfd, control) = answer.map_err(unheard)??;
        Ok(Child::from_launcher(plan, pid, pidfd, control))
    }

    /// How many threads wait for a cage.
    pub fn callers(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    /// Forks the helper process, from any thread.
    pub fn start_helper(&self) -> Result<Helper, StartError> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        wire::send_helper_request(socket.as_fd()).map_err(unheard)?;
        wire::receive_helper(socket.as_fd()).map_err(unheard)?
    }

    /// Whether the process is gone, and with it every cage that it started.
    pub fn is_gone(&self) -> bool {
        let mut process = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut process, Some(&now)) != Ok(0)
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

/// Why a launcher has not answered. One whose answer finds no room in this process's table of
/// descriptors lives, and so does every other cage.
fn unheard(errno: Errno) -> StartError {
    match errno {
        Errno::MFILE | Errno::NFILE => {
            SetupFailure::kernel(Step::Control, "the cage's descriptors", errno).into()
        }
        _ => StartError::LauncherGone,
    }
}

/// The launcher's whole life: start what is asked for until the caller is gone.
fn serve(socket: &OwnedFd, helper: Option<HelperLife>) {
    if prepare(socket).is_err() {
        return;
    }
    // Where cages start. One that starts helpers starts no cages.
    let made = if helper.is_none() { BareMounts::make() } else { Ok(None) };
    let Ok(mounts) = made else { return };
    let mounts = mounts.as_ref();
    // Of the last cage: whoever waits for their end waits for it as long as processors are busy.
    let mut leftovers = Leftovers::default();
    loop {
        let Ok(Some(request)) = wire::receive_request(socket.as_fd()) else { return };
        let sent = match request {
            Ok(Request::Cage(cage)) => {
                let CageRequest { plan, sources, streams, limits } = *cage;
                let (origin, limits) = (Origin::New(mounts), limits.as_holder());
                let child = start_in(origin, &plan, &sources, streams, limits);
                let sent = wire::send_answer(socket.as_fd(), child);
                sent.map(|ending| leftovers = ending)
            }
            Ok(Request::Helper) => wire::send_helper(socket.as_fd(), fork_helper(helper)),
            Err(refusal) => wire::send_answer(socket.as_fd(), Err(refusal)).map(drop),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Forks the helper process. It has copies of the launcher's descriptors, which it
/// has to close.
fn fork_helper(helper: Option<HelperLife>) -> Result<Helper, StartError> {
    let live = helper.ok_or_else(|| {
        StartError::Unsupported("the launcher was given no helper to start".to_owned())
    })?;
    let failed = |errno| SetupFailure::kernel(Step::Namespaces, "the helper", errno);
    let (ours, theirs) = Channel::pair().map_err(failed)?;
    let launcher = rustix::process::getpid();
    match sys::clone::fork_into(Namespaces::NONE, None).map_err(failed)? {
        Forked::Child => {
            drop(ours);
            // What the launcher ignores stays ignored in its children, who may have some to wait for.
            if sys::signal::restore_default(libc::SIGCHLD).is_ok() {
                live(theirs.into_fd(), launcher);
            }
            sys::exec::exit_now(1)
        }
        Forked::Parent { pid, pidfd } => Ok(Helper { pid, pidfd, control: ours.into_fd() }),
    }
}

/// Leaves the caller's terminal and descriptors, lets ended cages be reaped by the kernel, and
/// ends with the caller.
fn prepare(socket: &OwnedFd) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Settings, "the launcher", errno);
    privileges::die_with_parent()?;
    sys::signal::set_mask(&SignalSet::empty()).map_err(failed)?;
    // What the caller ignores would stay ignored in its cages: a shell has what it starts in the
    // background ignore SIGINT, and nobody could interrupt a program of that daemon.
    sys::signal::restore_all_defaults().map_err(failed)?;
    sys::signal::ignore(libc::SIGCHLD).map_err(failed)?;
    rustix::process::setsid().map_err(failed)?;
    // What it builds has the modes of the Plan.
    rustix::process::umask(Mode::empty());
    let kept = std::os::fd::AsRawFd::as_raw_fd(socket);
    sys::descriptors::close_all_but(&[u32::try_from(kept).unwrap_or(u32::MAX)]).map_err(failed)?;
    occupy_standard_streams().map_err(failed)
}

/// Keeps their numbers from everything that is opened later: the program's streams take these places
/// in pid 1, which shares its descriptors with the program until that is started.
fn occupy_standard_streams() -> Result<(), Errno> {
    for _ in 0..3 {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        // Kept open for the life of the process.
        std::mem::forget(rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty())?);
    }
    Ok(())
}
