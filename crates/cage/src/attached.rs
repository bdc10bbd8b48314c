//! Running a program on this process's own terminal, streams and signals, as a command does. The host's
//! terminal itself never enters a cage: its bytes are relayed.

mod attend;
mod console;
mod foreground;
mod relay;
mod signals;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use aftermath::{Swept, sweep_groups};
use audit::AuditError;
use jail::launcher::Launcher;
use jail::{Child, LimitsHolder, Premade, ProgramStreams, StartError, Stream};
use limits::{Degradation, Degraded, Group, Limiter, LimitsError};
use plan::Plan;
use prepare::Prepared;
use session::Session;
use walls::Wall;

use crate::error::RunError;
use crate::gatekeeper::Gatekeeper;
use crate::model_service::ModelService;
use crate::outcome::{Ended, SpawnError};
use crate::program::{Body, Program};
use crate::record::{Recorder, Recording};
use crate::runner::Confinement;
use crate::start::{Backend, Started, Streams, Supervise, Wanted, start};
use crate::watchdog::{Ticker, Watchdog};
use crate::workspaces::MEASURED_EVERY;
use attend::{Attendance, State};
pub use attend::{Attended, LeftBehind};
use console::{Console, check_streams};
use foreground::{LentTerminal, own_streams};
use signals::Signals;

/// A program to be run on the standard streams of this process, which must have a single thread.
/// Signals that this process gets go to the program.
pub struct AttachedRun<'a> {
    /// In a cage, or without one.
    pub confinement: Confinement,
    /// Who builds the cage.
    pub backend: Backend,
    /// Namespaces for the cage, if they were begun ahead.
    pub premade: Option<Result<Premade, StartError>>,
    /// Needed by a Plan with a network, and best started as soon as that is known.
    pub gatekeeper: Option<Gatekeeper>,
    /// Needed by a Plan that leads to the model service.
    pub model: Option<ModelService>,
    /// Whether it may start with limits that are held less well than asked for.
    pub degraded_limits: Degraded,
    /// The session that it belongs to. If that is ended, so is the program.
    pub session: Option<Session>,
    /// Where it is recorded.
    pub recording: &'a Recording,
    /// What was removed before it, which is recorded with it.
    pub swept: Vec<Swept>,
    /// Hears what is to be known before the program runs.
    pub notice: &'a dyn Fn(Notice<'_>),
}

/// Something to be known before a program runs.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// A supervisor that is gone had left this behind.
    Swept(&'a Swept),
    /// The program's limits are not held as they should be.
    LimitsNotHeld(&'a Degradation),
}

impl std::fmt::Debug for AttachedRun<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AttachedRun")
            .field("confinement", &self.confinement)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}

impl AttachedRun<'_> {
    /// Runs the program to its end. One that does not start is on record too.
    pub fn run(self) -> Result<Attended, RunError> {
        let Self { confinement, backend, session, degraded_limits, .. } = self;
        // A program without a supervisor of ours in its cage tells by a signal that it has stopped.
        let others: &[i32] = match (&confinement, backend) {
            (Confinement::Caged(_), Backend::Native) => &[],
            _ => &[libc::SIGCHLD],
        };
        for one in &self.swept {
            (self.notice)(Notice::Swept(one));
        }
        let signals = Signals::take(others).map_err(SpawnError::Supervise)?;
        let is_checked = backend == Backend::Bubblewrap;
        let mut foreground = Foreground {
            premade: self.premade,
            gatekeeper: self.gatekeeper.map(Arc::new),
            model: self.model,
            recording: Some(self.recording),
            swept: self.swept,
            is_checked,
            ..Foreground::new(self.notice)
        };
        let wanted = Wanted { confinement, backend, session, degraded_limits };
        let started = start(wanted, &mut foreground)?;
        foreground.attend(started, signals)
    }
}

/// Runs a short program of our own without input or output, to see whether cages can be built here. Goes
/// through the same start as any other, and is on no record.
pub fn run_trial(prepared: Prepared) -> Result<Ended, RunError> {
    let signals = Signals::take(&[]).map_err(SpawnError::Supervise)?;
    let nowhere = || Stream::Null;
    let given = ProgramStreams { stdin: nowhere(), stdout: nowhere(), stderr: nowhere() };
    let mut foreground = Foreground { given: Some(given), ..Foreground::new(&|_| {}) };
    let wanted = Wanted {
        confinement: Confinement::Caged(Box::new(prepared)),
        backend: Backend::Native,
        session: None,
        degraded_limits: Degraded::Refuse,
    };
    let started = start(wanted, &mut foreground)?;
    Ok(foreground.attend(started, signals)?.ended)
}

/// What supervises one program in the foreground.
struct Foreground<'a> {
    premade: Option<Result<Premade, StartError>>,
    gatekeeper: Option<Arc<Gatekeeper>>,
    model: Option<ModelService>,
    /// None for a trial of our own.
    recording: Option<&'a Recording>,
    recorder: Option<Arc<Recorder>>,
    swept: Vec<Swept>,
    notice: &'a dyn Fn(Notice<'_>),
    /// Whether streams that are given as they are would be ways out of a cage.
    is_checked: bool,
    /// In place of this process's own.
    given: Option<ProgramStreams>,
    /// For a cage of ours.
    console: Option<Console>,
    watchdog: Option<Watchdog>,
}

impl<'a> Foreground<'a> {
    fn new(notice: &'a dyn Fn(Notice<'_>)) -> Self {
        Self {
            premade: None,
            gatekeeper: None,
            model: None,
            recording: None,
            recorder: None,
            swept: Vec::new(),
            notice,
            is_checked: false,
            given: None,
            console: None,
            watchdog: None,
        }
    }

    /// Sees a program to its end. Where this process loses hold of it, what it left is looked at all the
    /// same.
    fn attend(self, started: Started, signals: Signals) -> Result<Attended, RunError> {
        let Started { program, pid, .. } = started;
        let body = program.body().ok_or(StartError::Vanished)?;
        let lent = match &*body {
            Body::Direct(_) => LentTerminal::to(pid),
            Body::Caged(_) => None,
        };
        let ticker = program.meter().is_some().then(|| Ticker::every(MEASURED_EVERY));
        let ticker = ticker.transpose().map_err(SpawnError::Supervise)?;
        let attendance = Attendance {
            ticker,
            program: Arc::clone(&program),
            body,
            pid,
            gatekeeper: self.gatekeeper,
            console: self.console,
            lent,
            signals,
            watchdog: self.watchdog,
            state: State::default(),
        };
        attendance.attend().map_err(|error| {
            program.release();
            RunError::from(error).of_begun(program.aftermath.as_deref(), Some(&program.recorder))
        })
    }
}

impl Supervise for Foreground<'_> {
    fn gatekeeper(&mut self) -> Result<Arc<Gatekeeper>, RunError> {
        let reason =
            "the cage's policy allows network destinations, and it was given no gatekeeper";
        let gatekeeper = self.gatekeeper.as_ref().map(Arc::clone);
        gatekeeper.ok_or_else(|| StartError::Unsupported(reason.to_owned()).into())
    }

    fn model(&mut self) -> Result<ModelService, RunError> {
        self.model.take().ok_or_else(|| SpawnError::no_model().into())
    }

    fn make_group(&mut self, plan: &Plan, degraded: Degraded) -> Result<Group, LimitsError> {
        let group = Limiter::discover().prepare(
            &plan.limits_of_group(),
            &plan.start.invocation,
            degraded,
        )?;
        let swept = sweep_groups();
        for one in &swept {
            (self.notice)(Notice::Swept(one));
        }
        self.swept.extend(swept);
        if let Some(degradation) = group.degradation() {
            (self.notice)(Notice::LimitsNotHeld(degradation));
        }
        Ok(group)
    }

    fn streams(&mut self, how: Streams) -> Result<ProgramStreams, RunError> {
        if let Some(given) = self.given.take() {
            return Ok(given);
        }
        match how {
            Streams::ForCage => {
                let (console, streams) = Console::inspect()?;
                self.console = Some(console);
                Ok(streams)
            }
            Streams::AsTheyAre => {
                if self.is_checked {
                    check_streams()?;
                }
                Ok(own_streams().map_err(SpawnError::Supervise)?)
            }
        }
    }

    fn spawn(
        &mut self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<(Child, Option<Arc<Launcher>>), RunError> {
        let premade = self.premade.take().unwrap_or_else(Premade::begin)?;
        Ok((premade.start(plan, sources, streams, limits)?, None))
    }

    fn recorder(&mut self, invocation: &str) -> Result<Arc<Recorder>, RunError> {
        if let Some(recorder) = &self.recorder {
            return Ok(Arc::clone(recorder));
        }
        let recorder = match self.recording {
            Some(recording) => recording.of_start(invocation)?,
            None => Recorder::of_trial(invocation),
        };
        recorder.swept(&self.swept)?;
        let recorder = Arc::new(recorder);
        self.recorder = Some(Arc::clone(&recorder));
        Ok(recorder)
    }

    fn take_terminal(&mut self, terminal: OwnedFd) -> Result<(), RunError> {
        if let Some(console) = &mut self.console {
            console.connect(terminal).map_err(SpawnError::Supervise)?;
        }
        Ok(())
    }

    fn take_in(&mut self, program: &Arc<Program>) -> Result<(), RunError> {
        let walltime = program.walltime.filter(|_| walls::stands(Wall::WallTime));
        self.watchdog = walltime.map(Watchdog::arm).transpose().map_err(SpawnError::Supervise)?;
        Ok(())
    }

    /// How far the record is durable is stated while the program starts.
    fn gate_is_open(&mut self, program: &Program) -> Result<(), AuditError> {
        program.recorder.checkpoint()
    }

    fn listen(&mut self, _program: &Arc<Program>) -> Result<(), RunError> {
        Ok(())
    }
}
