//! The library's front door: a [`Runner`] starts programs in cages, from any thread, watches over
//! them and hands out a [`Handle`] for each.
//!
//! A runner has small processes, forked before the first thread: one for each processor, up to a few, bears
//! cages, and one gatekeepers. One thread of its own, the keeper, watches over everything that runs: its time, its
//! output, its network, its end. Whatever is dropped is ended: a handle its program, a runner all of
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

mod clerk;
mod ended;
mod error;
mod gatekeepers;
mod handle;
mod keeper;
mod kept;
mod launchers;
mod output;
mod pump;
mod request;
mod start;
mod uncaged;
mod watch;

use std::sync::Arc;
use std::thread::JoinHandle;

use audit::{Event, Log};
use jail::launcher::Launcher;
use limits::{Degraded, Limiter};
use plan::HostPath;
use rustix::io::Errno;
use rustix::process::Pid;

pub use ended::Ended;
pub use error::RunError;
pub use handle::{Ending, Handle};
pub use output::{OutputBuffer, OutputReader, ReadOutput};
pub use request::{
    Confinement, Input, Keep, Output, Overflow, Request, Streams, TerminalSize, UncagedProgram,
    UncagedReason,
};

pub use crate::record::Labels;

use state::Directory;

use crate::outcome::{EndReason, RecordError};
use crate::way_out::WayOut;
use clerk::{Clerk, start_thread};
use error::kernel;
use gatekeepers::Gatekeepers;
use keeper::Keeper;
use kept::Stay;
use launchers::Launchers;
use start::Beside;
pub(crate) use uncaged::Direct;
use watch::Watch;

/// How a runner works.
#[derive(Clone)]
pub struct RunnerOptions {
    /// Where the record is kept; made if it is missing.
    pub state_directory: HostPath,
    /// How connections of cages leave this machine.
    pub way_out: WayOut,
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
            way_out: WayOut::default(),
            uncaged: Uncaged::Refuse,
            degraded_limits: Degraded::Refuse,
            before_step: None,
        }
    }
}

impl std::fmt::Debug for RunnerOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { state_directory, way_out, uncaged, degraded_limits, before_step: _ } = self;
        formatter
            .debug_struct("RunnerOptions")
            .field("state_directory", state_directory)
            .field("way_out", way_out)
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

/// The steps of a start, in their order. K165
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartStep {
    /// Listening on published ports; starting a gatekeeper.
    Network,
    /// Making the control group.
    Limits,
    /// Making pipes.
    Streams,
    /// Bearing the cage, behind its gate.
    Birth,
    /// Taking the cage into its control group.
    Adopt,
    /// Handing the cage's sockets to the gatekeeper.
    Connect,
    /// Beginning to count the program's time.
    Watchdog,
    /// Recording that the program is about to run, durably.
    Intent,
    /// Letting the program run.
    Gate,
    /// Recording that it runs.
    Record,
    /// Beginning to listen to what it says.
    Listen,
}

impl StartStep {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Network,
        Self::Limits,
        Self::Streams,
        Self::Birth,
        Self::Adopt,
        Self::Connect,
        Self::Watchdog,
        Self::Intent,
        Self::Gate,
        Self::Record,
        Self::Listen,
    ];
}

/// Starts programs and watches over them. Dropping it ends all of them and waits until nothing of
/// them is left.
pub struct Runner {
    keeper: Arc<Keeper>,
    thread: Option<JoinHandle<()>>,
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
        let RunnerOptions { state_directory, way_out, uncaged, degraded_limits, before_step } =
            options;
        let for_gatekeepers = Launcher::start(Some(crate::gatekeeper::attendant))?;
        let launchers = Launchers::start()?;
        let state = Directory::open(&state_directory).map_err(RecordError::from)?;
        let log = Arc::new(Log::open(&state.audit())?);
        let limiter = Limiter::discover();
        let limits_not_enforced = limiter.layer().shortfall();
        if let Some(reason) = &limits_not_enforced {
            log.append(&Event::SandboxLimitsNotEnforced { reason: reason.into() })?;
        }
        let watch = Arc::new(Watch::new().map_err(kernel("make an epoll descriptor"))?);
        let gatekeepers = Gatekeepers::new(for_gatekeepers, way_out);
        let clerk = Clerk::start(Arc::clone(&log)).map_err(kernel("start a thread"))?;
        let keeper = Arc::new(Keeper::new(watch, launchers, gatekeepers, (log, clerk)));
        let thread = {
            let keeper = Arc::clone(&keeper);
            start_thread("stockade-keeper", move || keeper.run())
        };
        let thread = thread.map_err(kernel("start a thread"))?;
        Ok(Self {
            keeper,
            thread: Some(thread),
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
        let session = Stay::in_session(session);
        let beside = Beside { labels, streams, session, degraded_limits };
        match confinement {
            Confinement::Caged { plan, sources } => self.start_caged(plan, sources, beside),
            Confinement::Uncaged(_) if self.uncaged == Uncaged::Refuse => {
                Err(RunError::UncagedNotAllowed)
            }
            Confinement::Uncaged(program) => self.start_uncaged(&program, beside),
        }
    }

    /// Asks every program to end, kills those that have not after
    /// [`GRACE`](crate::GRACE), and returns when nothing of them is left. Nothing can be
    /// started any more. K190
    pub fn drain(&self, reason: EndReason) {
        self.keeper.begin_closing();
        for kept in self.keeper.living() {
            self.keeper.ask_to_end(&kept, reason);
        }
        self.keeper.wait_for_all();
    }

    /// Asks the programs to end whose session somebody has begun to end, and tells how many there
    /// are. Whoever ends a session sends `SIGTERM` with the word
    /// [`END_OF_SESSION`](session::END_OF_SESSION) to the processes that have programs in it;
    /// one that gets it looks here.
    pub fn heed_session_ends(&self) -> usize {
        self.keeper.heed_session_ends()
    }

    /// The log in which everything is recorded.
    pub fn log(&self) -> &Arc<Log> {
        &self.keeper.log
    }

    /// Which limits no mechanism of this machine holds, and why; none where all are held. K149
    pub fn limits_not_enforced(&self) -> Option<&str> {
        self.limits_not_enforced.as_deref()
    }

    /// How many programs run.
    pub fn count(&self) -> usize {
        self.keeper.living().len()
    }

    /// The processes that bear cages. When one is gone, so are the cages that it bore, and no more can be
    /// started.
    pub fn launcher_pids(&self) -> Vec<Pid> {
        self.keeper.launchers.pids()
    }

    /// The process that bears gatekeepers. When it is gone, so is the gatekeeper, and no cage with
    /// network can be started.
    pub fn gatekeeper_launcher_pid(&self) -> Option<Pid> {
        self.keeper.gatekeepers.launcher_pid()
    }

    /// The gatekeeper that serves cages now, if there is one.
    pub fn gatekeeper_pid(&self) -> Option<Pid> {
        self.keeper.gatekeepers.pid()
    }

    fn begin(&self, step: StartStep) -> Result<(), RunError> {
        match &self.before_step {
            Some(hook) => hook(step).map_err(kernel("take a step that a test lets fail")),
            None => Ok(()),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.keeper.begin_closing();
        for kept in self.keeper.living() {
            kept.kill(EndReason::Cancelled);
        }
        self.keeper.wait_for_all();
        self.keeper.close();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            let _ended = thread.join();
        }
        self.keeper.end_processes();
        self.keeper.clerk.close();
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("uncaged", &self.uncaged).finish_non_exhaustive()
    }
}

const NO_ROOM: &str = "a program that waits until its output is read must have room for some";
