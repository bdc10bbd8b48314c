//! The library's front door: a [`Runner`] starts programs in cages, from any thread, watches over
//! them and hands out a [`Handle`] for each.
//!
//! A runner has small processes, forked before the first thread: one for each processor, up to a few, starts
//! cages, and one gatekeepers. One thread of its own, the supervisor, watches over everything that runs: its
//! time, its output, its network, its end. Whatever is dropped is ended: a handle its program, a runner all of
//! them. Were this process killed, its cages would die with it.
//!
//! ```standalone_crate
//! use cage::prepare::{Caller, Choice, Selected, TooBroad, prepare, select};
//! use cage::runner::{Request, Runner, RunnerOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (state, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let state_directory = plan::HostPath::new(state.path().canonicalize()?.into_os_string())?;
//! # let choice = Choice { project: Some(project.path().to_owned()), ..Choice::default() };
//! // Before the first thread.
//! let runner = Runner::start(RunnerOptions::new(state_directory))?;
//!
//! let caller = Caller::of_this_process()?;
//! let flags = policy::text::Flags::default();
//! if let Selected::Caged(selection) = select(&caller, &choice, &flags, TooBroad::Refuse)? {
//!     let prepared = prepare(&selection, &["true".into()])?;
//!     let handle = runner.spawn(Request::from(prepared))?;
//!     assert!(handle.wait().is_success());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `docs/library.md` tells more.

mod background;
mod gatekeepers;
mod handle;
mod launchers;
mod output;
mod pump;
mod request;
mod start;
mod supervised;
mod supervisor;
mod watch;

use std::ffi::OsString;
use std::sync::Arc;
use std::thread::JoinHandle;

use audit::{Event, Log};
use jail::launcher::Launcher;
use limits::{Degraded, Limiter};
use plan::HostPath;
use policy::with_causes;
use prepare::Name;
use rustix::io::Errno;
use rustix::process::Pid;

pub use handle::{Ending, Handle};
pub use output::{OutputBuffer, OutputReader, ReadOutput};
pub use request::{
    Confinement, Input, Keep, Output, Overflow, Request, Streams, TerminalSize, UncagedProgram,
    UncagedReason,
};

pub use crate::error::RunError;
pub use crate::outcome::Ended;
pub use crate::record::Labels;
pub use crate::start::StartStep;
use state::Directory;

use crate::egress::Egress;
use crate::error::kernel;
use crate::outcome::{EndReason, RecordError};
use crate::record::Recorder;
use crate::start::{Backend, Started, Wanted, start};
use background::{Background, start_thread};
use gatekeepers::Gatekeepers;
use launchers::Launchers;
use start::RunnerStart;
use supervisor::Supervisor;
use watch::Watch;

/// How a runner works.
#[derive(Clone)]
pub struct RunnerOptions {
    /// Where the record is kept; made if it is missing.
    pub state_directory: HostPath,
    /// How connections of cages leave this machine.
    pub egress: Egress,
    /// The command line of the process that serves the model to a cage, for [`ModelService::start`]; without it no
    /// cage gets one.
    pub model: Option<Vec<OsString>>,
    /// Whether programs may run without a cage.
    pub uncaged: Uncaged,
    /// Whether every cage may start with limits that are held less well than asked for. A request can
    /// allow it for its own.
    pub degraded_limits: Degraded,
    /// Called before each step of a start. An error fails the step, and so the start: for tests of
    /// what a failed start leaves behind.
    pub before_step: Option<StepHook>,
}

impl RunnerOptions {
    /// Records in a state directory, such as that of
    /// [`Locations`](state::Locations), reaches the network as the host does, and allows
    /// nothing that weakens a cage.
    pub fn new(state_directory: HostPath) -> Self {
        Self {
            state_directory,
            egress: Egress::default(),
            model: None,
            uncaged: Uncaged::Refuse,
            degraded_limits: Degraded::Refuse,
            before_step: None,
        }
    }
}

impl std::fmt::Debug for RunnerOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { state_directory, egress, model, uncaged, degraded_limits, before_step: _ } =
            self;
        formatter
            .debug_struct("RunnerOptions")
            .field("state_directory", state_directory)
            .field("egress", egress)
            .field("model", model)
            .field("uncaged", uncaged)
            .field("degraded_limits", degraded_limits)
            .finish_non_exhaustive()
    }
}

/// Whether programs may run without a cage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uncaged {
    /// They may not.
    #[default]
    Refuse,
    /// They may, where a request says so.
    Allow,
}

/// Called before a step of a start.
pub type StepHook = Arc<dyn Fn(StartStep) -> Result<(), Errno> + Send + Sync>;

/// Starts programs and watches over them. Dropping it ends all of them and waits until nothing of
/// them is left.
pub struct Runner {
    supervisor: Arc<Supervisor>,
    thread: Option<JoinHandle<()>>,
    model: Option<Vec<OsString>>,
    uncaged: Uncaged,
    degraded_limits: Degraded,
    limiter: Limiter,
    limits_not_enforced: Option<String>,
    before_step: Option<StepHook>,
}

impl Runner {
    /// Starts a runner. Must be called while this process has a single thread: what it forks is a
    /// copy of this process.
    pub fn start(options: RunnerOptions) -> Result<Self, RunError> {
        let RunnerOptions { state_directory, egress, model, uncaged, degraded_limits, before_step } =
            options;
        let for_gatekeepers = Launcher::start(Some(crate::gatekeeper::live_as_helper))?;
        let launchers = Launchers::start()?;
        let state = Directory::open(&state_directory).map_err(RecordError::from)?;
        let log = Arc::new(Log::open(&state.audit())?);
        let limiter = Limiter::discover();
        let limits_not_enforced = limiter.layer().shortfall();
        if let Some(reason) = &limits_not_enforced {
            log.append(&Event::SandboxLimitsNotEnforced { reason: reason.into() })?;
        }
        let watch = Arc::new(Watch::new().map_err(kernel("make an epoll descriptor"))?);
        let gatekeepers = Gatekeepers::new(for_gatekeepers, egress);
        let background = Background::start(Arc::clone(&log)).map_err(kernel("start a thread"))?;
        let supervisor =
            Arc::new(Supervisor::new(watch, launchers, gatekeepers, (log, background)));
        let thread = {
            let supervisor = Arc::clone(&supervisor);
            start_thread("stockade-supervisor", move || supervisor.run())
        };
        let thread = thread.map_err(kernel("start a thread"))?;
        Ok(Self {
            supervisor,
            thread: Some(thread),
            model,
            uncaged,
            degraded_limits,
            limiter,
            limits_not_enforced,
            before_step,
        })
    }

    /// Starts a program and returns when it runs. Any number of threads may do so at once. When it
    /// fails, everything that was begun has been undone.
    pub fn spawn(&self, request: Request) -> Result<Handle, RunError> {
        let Request { confinement, mut labels, streams, session, degraded_limits } = request;
        if streams.wait_for_ever() {
            return Err(RunError::Unsupported(NO_ROOM));
        }
        if let Some(session) = &session {
            labels.session_id.get_or_insert_with(|| session.id().to_string());
        }
        let degraded_limits = match self.degraded_limits {
            Degraded::Allow => Degraded::Allow,
            Degraded::Refuse => degraded_limits,
        };
        if matches!(confinement, Confinement::Uncaged(_)) && self.uncaged == Uncaged::Refuse {
            return Err(RunError::UncagedNotAllowed);
        }
        self.supervisor.check_free(confinement.invocation())?;
        let backend = Backend::Native;
        let wanted = Wanted { confinement, backend, session, degraded_limits };
        let mut starting = RunnerStart::new(self, labels, streams);
        let Started { pid, degradation, .. } = start(wanted, &mut starting)?;
        let supervisor = Arc::clone(&self.supervisor);
        Ok(Handle::new(starting.supervised()?, supervisor, pid, degradation))
    }

    /// Records that a request came to no start, because no policy holds or the one that does makes no cage
    /// here: for what [`select`](prepare::select) and [`prepare`](prepare::prepare()) refuse. Returns the
    /// same error. K180
    pub fn refused(&self, labels: Labels, error: RunError) -> RunError {
        if error.kind().is_recorded()
            && let Ok(name) = Name::new()
        {
            let log = Arc::clone(&self.supervisor.log);
            let recorder = Recorder::new(log, &name.text, labels);
            // Where that cannot be recorded, the error says enough.
            let _unrecorded = recorder.not_compiled(None, error.kind(), &with_causes(&error));
        }
        error
    }

    /// Asks every program to end, kills those that have not after
    /// [`GRACE`](crate::GRACE), and returns when nothing of them is left. Nothing can be
    /// started any more. K190
    pub fn drain(&self, reason: EndReason) {
        self.supervisor.begin_closing();
        for program in self.supervisor.living() {
            self.supervisor.ask_to_end(&program, reason);
        }
        self.supervisor.wait_for_all();
    }

    /// Asks the programs to end whose session somebody has begun to end, and returns how many there
    /// are. Whoever ends a session sends `SIGTERM` with the word
    /// [`END_OF_SESSION`](session::END_OF_SESSION) to the processes that have programs in it;
    /// one that gets it looks here.
    pub fn heed_session_ends(&self) -> usize {
        self.supervisor.heed_session_ends()
    }

    /// The log in which everything is recorded.
    pub fn log(&self) -> &Arc<Log> {
        &self.supervisor.log
    }

    /// Which limits no mechanism of this machine holds, and why; none where all are held. K149
    pub fn limits_not_enforced(&self) -> Option<&str> {
        self.limits_not_enforced.as_deref()
    }

    /// How many programs run.
    pub fn count(&self) -> usize {
        self.supervisor.living().len()
    }

    /// The processes that start cages. When one is gone, so are the cages that it started, and no more can be
    /// started.
    pub fn launcher_pids(&self) -> Vec<Pid> {
        self.supervisor.launchers.pids()
    }

    /// The process that starts gatekeepers. When it is gone, so is the gatekeeper, and no cage with
    /// network can be started.
    pub fn gatekeeper_launcher_pid(&self) -> Option<Pid> {
        self.supervisor.gatekeepers.launcher_pid()
    }

    /// The gatekeeper that serves cages now, if there is one.
    pub fn gatekeeper_pid(&self) -> Option<Pid> {
        self.supervisor.gatekeepers.pid()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.supervisor.begin_closing();
        for program in self.supervisor.living() {
            program.program.kill(EndReason::Cancelled);
        }
        self.supervisor.wait_for_all();
        self.supervisor.close();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _ended = thread.join();
        }
        self.supervisor.end_processes();
        self.supervisor.background.close();
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("uncaged", &self.uncaged).finish_non_exhaustive()
    }
}

const NO_ROOM: &str = "a program that waits until its output is read must have room for some";
