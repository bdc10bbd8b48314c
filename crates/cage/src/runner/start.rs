//! What a start needs of a runner: pipes or a terminal for the program, one of the launchers, the gatekeeper
//! that serves all, and a place among the programs that are supervised.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use jail::launcher::Launcher;
use jail::{Child, LimitsHolder, ProgramStreams, Stream};
use limits::{Degraded, Group, LimitsError};
use plan::Plan;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::handle::set_size;
use super::pump::Pump;
use super::request::{Input, Output, Streams};
use super::supervised::{Ends, Supervised};
use super::supervisor::Supervisor;
use super::watch::{Key, Subject};
use super::{Runner, StartStep};
use crate::error::{RunError, kernel};
use crate::gatekeeper::Gatekeeper;
use crate::model_service::ModelService;
use crate::outcome::SpawnError;
use crate::program::Program;
use crate::record::{Labels, Recorder};
use crate::start::{self, Supervise};

/// One start by a runner.
pub(super) struct RunnerStart<'a> {
    runner: &'a Runner,
    key: Key,
    labels: Labels,
    streams: Option<Streams>,
    ends: Ends,
    supervised: Option<Arc<Supervised>>,
}

impl<'a> RunnerStart<'a> {
    pub(super) fn new(runner: &'a Runner, labels: Labels, streams: Streams) -> Self {
        let key = runner.supervisor.new_key();
        let (streams, ends) = (Some(streams), Ends::default());
        Self { runner, key, labels, streams, ends, supervised: None }
    }

    /// The program, once it was taken in.
    pub(super) fn supervised(self) -> Result<Arc<Supervised>, RunError> {
        self.supervised.ok_or(RunError::Closing)
    }

    fn supervisor(&self) -> &'a Arc<Supervisor> {
        &self.runner.supervisor
    }

    fn pump(&self, end: OwnedFd, keep: super::Keep, subject: Subject) -> Pump {
        Pump::new(end, keep, &self.supervisor().watch, self.key, subject)
    }

    fn output(&self, output: Output, subject: Subject) -> Result<(Stream, Option<Pump>), RunError> {
        match output {
            Output::Null => Ok((Stream::Null, None)),
            Output::Descriptor(descriptor) => Ok((Stream::Descriptor(descriptor), None)),
            Output::Keep(keep) => {
                let (end, inside) = pipe()?;
                Ok((Stream::Descriptor(inside), Some(self.pump(end, keep, subject))))
            }
        }
    }
}

impl Supervise for RunnerStart<'_> {
    fn before(&self, step: StartStep) -> Result<(), RunError> {
        match &self.runner.before_step {
            Some(hook) => hook(step).map_err(kernel("take a step that a test lets fail")),
            None => Ok(()),
        }
    }

    fn gatekeeper(&mut self) -> Result<Arc<Gatekeeper>, RunError> {
        self.supervisor().gatekeeper()
    }

    fn model(&mut self) -> Result<ModelService, RunError> {
        let words = self.runner.model.as_ref().ok_or_else(SpawnError::no_model)?;
        Ok(ModelService::start(words)?)
    }

    fn make_group(&mut self, plan: &Plan, degraded: Degraded) -> Result<Group, LimitsError> {
        self.runner.limiter.prepare(&plan.limits_of_group(), &plan.start.invocation, degraded)
    }

    /// Both ends of a program's streams; those of a terminal come with the cage.
    fn streams(&mut self, how: start::Streams) -> Result<ProgramStreams, RunError> {
        match self.streams.take() {
            Some(Streams::Separate { stdin, stdout, stderr }) => {
                let (stdin, stdin_end) = match stdin {
                    Input::Null => (Stream::Null, None),
                    Input::Descriptor(descriptor) => (Stream::Descriptor(descriptor), None),
                    Input::Pipe => {
                        let (inside, end) = pipe()?;
                        (Stream::Descriptor(inside), Some(end))
                    }
                };
                self.ends.stdin = stdin_end;
                let (stdout, stdout_end) = self.output(stdout, Subject::Stdout)?;
                self.ends.stdout = stdout_end;
                let (stderr, stderr_end) = self.output(stderr, Subject::Stderr)?;
                self.ends.stderr = stderr_end;
                Ok(ProgramStreams { stdin, stdout, stderr })
            }
            terminal if how == start::Streams::ForCage => {
                self.streams = terminal;
                let terminal = || Stream::Terminal;
                Ok(ProgramStreams { stdin: terminal(), stdout: terminal(), stderr: terminal() })
            }
            _ => Err(RunError::Unsupported(NO_TERMINAL)),
        }
    }

    fn spawn(
        &mut self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<(Child, Option<Arc<Launcher>>), RunError> {
        let launchers = &self.supervisor().launchers;
        let (child, launcher) = launchers.start_cage(plan, sources, streams, limits)?;
        Ok((child, Some(launcher)))
    }

    fn recorder(&mut self, invocation: &str) -> Result<Arc<Recorder>, RunError> {
        let log = Arc::clone(&self.supervisor().log);
        Ok(Arc::new(Recorder::new(log, invocation, self.labels.clone())))
    }

    /// In its size before the program can ask for it.
    fn take_terminal(&mut self, terminal: OwnedFd) -> Result<(), RunError> {
        let Some(Streams::Terminal { size, keep }) = self.streams.take() else { return Ok(()) };
        set_size(&terminal, size).map_err(SpawnError::Supervise)?;
        let copy = || {
            terminal.try_clone().map_err(|error| {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::MFILE);
                kernel("copy the terminal's descriptor")(errno)
            })
        };
        self.ends.stdin = Some(copy()?);
        self.ends.stdout = Some(self.pump(copy()?, keep, Subject::Stdout));
        self.ends.terminal = Some(terminal);
        Ok(())
    }

    fn take_in(&mut self, program: &Arc<Program>) -> Result<(), RunError> {
        let ends = std::mem::take(&mut self.ends);
        let supervised = Arc::new(Supervised::new(self.key, Arc::clone(program), ends));
        self.supervisor().take_in(&supervised)?;
        self.supervised = Some(supervised);
        Ok(())
    }

    fn let_go(&mut self, _program: &Program) {
        if let Some(supervised) = self.supervised.take() {
            self.supervisor().let_go(&supervised);
            supervised.release();
        }
    }

    fn is_closing(&self) -> bool {
        self.supervisor().is_closing()
    }

    fn listen(&mut self, _program: &Arc<Program>) -> Result<(), RunError> {
        let Some(supervised) = &self.supervised else { return Err(RunError::Closing) };
        self.supervisor().background.note();
        self.supervisor().listen(supervised).map_err(kernel("watch the program"))
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), RunError> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(kernel("make a pipe"))
}

const NO_TERMINAL: &str = "a program without a cage cannot be given a terminal";
