//! A mount that is served by the process that asked for it, until it is unmounted, a signal comes or a program ends.
//! For a process with one thread: it takes signals, and may enter namespaces of its own.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use sys::clone::Namespaces;
use sys::signal::SignalSet;
use vfs::Engine;

use crate::fuse::{Fuse, Settings};
use crate::mount::{Access, MountError, Mounted, Others, mount};
use crate::ninep::{NinepServer, ServeError};

/// What is mounted where, and how it is served.
#[derive(Debug)]
pub struct Foreground {
    /// What the mount table calls it.
    pub name: String,
    /// Where.
    pub directory: PathBuf,
    /// Whether it can be written to.
    pub access: Access,
    /// How it is served.
    pub settings: Settings,
    /// A program that the mount lasts as long as, and its arguments; without one a signal ends the mount.
    pub program: Vec<OsString>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was unmounted, or a signal came.
    Unmounted,
    /// With the program, whose status this is, or 128 and the number of the signal that ended it.
    Program(u8),
}

/// Why nothing was served, or not to the end.
#[derive(Debug, thiserror::Error)]
pub enum ForegroundError {
    /// It was not mounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// Nobody could connect.
    #[error(transparent)]
    Ninep(#[from] ServeError),
    /// This user may not have namespaces.
    #[error("cannot make a user namespace to mount in")]
    Namespace(#[source] std::io::Error),
    /// The program was not started.
    #[error("cannot start `{}`", program.display())]
    Program {
        /// Its name.
        program: PathBuf,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// A call of the kernel failed.
    #[error("cannot {call}")]
    Kernel {
        /// What was to be done.
        call: &'static str,
        /// What it says.
        source: std::io::Error,
    },
    /// A thread of the server ended by itself.
    #[error("a thread of the server panicked")]
    Panicked,
}

/// Mounts and serves. `begun` is called once it can be used.
pub fn serve_in_foreground(
    engine: Arc<dyn Engine>,
    wanted: &Foreground,
    begun: impl FnOnce(&Path),
) -> Result<Ended, ForegroundError> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root && !wanted.program.is_empty() {
        enter_own_namespaces().map_err(ForegroundError::Namespace)?;
    }
    let set = SignalSet::of(&ENDING);
    // Before the first thread, so that all threads leave them alone.
    sys::signal::block(&set).map_err(|errno| failed("take signals", errno))?;
    let signals = sys::signal::descriptor(&set).map_err(|errno| failed("take signals", errno))?;
    let others = if is_root { Others::Served } else { Others::Refused };
    let (mounted, device) = mount(&wanted.directory, &wanted.name, wanted.access, others)?;
    let fuse = Fuse::begin(engine, device, wanted.settings)
        .map_err(|source| ForegroundError::Kernel { call: "begin with the kernel", source })?;
    let (ended, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| failed("make a pipe", errno))?;
    let serve = move || {
        let served = fuse.serve();
        // Closed, it wakes the other thread.
        drop(end);
        served
    };
    let server = std::thread::Builder::new()
        .spawn(serve)
        .map_err(|source| ForegroundError::Kernel { call: "start a thread", source })?;
    begun(mounted.directory());
    let outcome = follow(&wanted.program, &signals, &ended);
    // What is still open in it is served to its end; without users it ends at once.
    drop::<Mounted>(mounted);
    match server.join() {
        Ok(Ok(())) => outcome,
        Ok(Err(source)) => Err(ForegroundError::Kernel { call: "answer the kernel", source }),
        Err(_) => Err(ForegroundError::Panicked),
    }
}

/// Has the signals that end a server wait for it: for whoever has threads before it serves.
pub fn hold_signals() -> Result<(), ForegroundError> {
    sys::signal::block(&SignalSet::of(&ENDING))
        .map(drop)
        .map_err(|errno| failed("take signals", errno))
}

/// Serves over 9P until a signal comes.
pub fn serve_9p_in_foreground(server: &NinepServer) -> Result<(), ForegroundError> {
    let set = SignalSet::of(&[SIGHUP, SIGINT, SIGTERM]);
    sys::signal::block(&set).map_err(|errno| failed("take signals", errno))?;
    let signals = sys::signal::descriptor(&set).map_err(|errno| failed("take signals", errno))?;
    Ok(server.serve_until(&signals)?)
}

fn follow(
    program: &[OsString],
    signals: &OwnedFd,
    ended: &OwnedFd,
) -> Result<Ended, ForegroundError> {
    let Some((program, rest)) = program.split_first() else { return wait(signals, ended, None) };
    let mut command = Command::new(program);
    sys::signal::restore_all_defaults_in(command.args(rest));
    let child = command
        .spawn()
        .map_err(|source| ForegroundError::Program { program: program.into(), source })?;
    wait(signals, ended, Some(child))
}

/// Lets this process have as many descriptors as it may: each file of the host that a guest holds is one.
pub fn hold_as_many_as_may_be() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // Root may go beyond what it was given, as far as the kernel lets any process go by default.
    let kernel = Rlimit { current: Some(MOST_DESCRIPTORS), maximum: Some(MOST_DESCRIPTORS) };
    let given = Rlimit { current: limit.maximum, ..limit };
    let has_more = limit.maximum.is_none_or(|most| most > MOST_DESCRIPTORS);
    if has_more || rustix::process::setrlimit(Resource::Nofile, kernel).is_err() {
        // Without either fewer are remembered: nothing that must hold depends on it.
        let _refused = rustix::process::setrlimit(Resource::Nofile, given);
    }
}

/// Where this user may mount: nobody else sees what is mounted there.
fn enter_own_namespaces() -> std::io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    sys::clone::enter_new(Namespaces::USER.and(Namespaces::MOUNT))?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// Waits for the program, a signal that ends this, or the end of the mount.
fn wait(
    signals: &OwnedFd,
    ended: &OwnedFd,
    child: Option<Child>,
) -> Result<Ended, ForegroundError> {
    let mut child = child;
    loop {
        if let Some(child) = &mut child
            && let Some(status) = child
                .try_wait()
                .map_err(|source| ForegroundError::Kernel { call: "wait for it", source })?
        {
            return Ok(Ended::Program(status_of(status)));
        }
        let mut polled = [PollFd::new(signals, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(failed("wait", errno)),
        }
        let has_ended = polled.get(1).is_some_and(|one| !one.revents().is_empty());
        while let Some(signal) =
            sys::signal::read(signals.as_fd()).map_err(|errno| failed("wait", errno))?
        {
            match (signal, &child) {
                (SIGCHLD, _) => {}
                (_, None) => return Ok(Ended::Unmounted),
                // A terminal has sent it to the program too; who sends it to us alone means the program.
                (signal, Some(child)) => forward(signal, child),
            }
        }
        if has_ended && child.is_none() {
            return Ok(Ended::Unmounted);
        }
        if has_ended {
            // The program goes on without the mount: nothing of ours wakes this until it ends.
            std::thread::sleep(GLANCE);
        }
    }
}

fn forward(signal: i32, child: &Child) {
    let process = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let signal = rustix::process::Signal::from_named_raw(signal);
    if let (Some(process), Some(signal)) = (process, signal) {
        // It may have ended just now.
        let _gone = rustix::process::kill_process(process, signal);
    }
}

fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn failed(call: &'static str, errno: Errno) -> ForegroundError {
    ForegroundError::Kernel { call, source: errno.into() }
}

const MOST_DESCRIPTORS: u64 = 1 << 20;
const GLANCE: Duration = Duration::from_millis(100);
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;
const SIGCHLD: i32 = 17;
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGTERM, SIGCHLD];
