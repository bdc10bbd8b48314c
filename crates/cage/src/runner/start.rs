//! The start of one program, step by step. Each step's failure undoes all before it: every value
//! here gives back what it stands for when it is dropped, the latest first. K165, K185

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jail::{Born, Layers, LimitsHolder, ProgramStreams, Report, StartError, Stream};
use limits::{Degraded, Group};
use plan::{LimitsPlan, Plan};
use policy::with_causes;
use prepare::Name;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::error::{RunError, kernel};
use super::handle::{Handle, set_size};
use super::keeper::Keeper;
use super::kept::{Body, Caged, Ends, Kept, Stay};
use super::pump::Pump;
use super::request::{Input, Output, Streams, TerminalSize, UncagedProgram};
use super::uncaged::Direct;
use super::watch::{Key, Subject};
use super::{Runner, StartStep};
use crate::gatekeeper::{Gatekeeper, Prepared, Registration};
use crate::outcome::SpawnError;
use crate::record::{Labels, Recorder};

/// What a program has beside its cage.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) labels: Labels,
    pub(super) streams: Streams,
    pub(super) session: Stay,
    /// Means nothing without a cage, which holds none of the limits that it is about.
    pub(super) degraded_limits: Degraded,
}

/// What a cage is built from, beside its Plan.
struct Material {
    sources: Vec<OwnedFd>,
    streams: Streams,
    stay: Stay,
    degraded_limits: Degraded,
}

impl Runner {
    /// Starts a program in its cage.
    pub(super) fn start_caged(
        &self,
        plan: Arc<Plan>,
        sources: Vec<OwnedFd>,
        beside: Beside,
    ) -> Result<Handle, RunError> {
        let Beside { labels, streams, session: stay, degraded_limits } = beside;
        self.keeper.check_free(&plan.start.invocation)?;
        let recorder = Recorder::new(Arc::clone(&self.keeper.log), &plan.start.invocation, labels);
        let recorder = Arc::new(recorder);
        let material = Material { sources, streams, stay, degraded_limits };
        let started = self.build_cage(Arc::clone(&plan), material, &recorder);
        started.map_err(|error| record_failure(&recorder, error.with_reason(&plan)))
    }

    fn build_cage(
        &self,
        plan: Arc<Plan>,
        material: Material,
        recorder: &Arc<Recorder>,
    ) -> Result<Handle, RunError> {
        let Material { sources, streams, stay, degraded_limits } = material;
        let keeper = &self.keeper;
        let key = keeper.new_key();
        self.begin(StartStep::Network)?;
        let prepared = Gatekeeper::prepare(&plan)?;
        let gatekeeper = match prepared.needs_gatekeeper() {
            true => Some(keeper.gatekeeper()?),
            false => None,
        };
        self.begin(StartStep::Limits)?;
        let walltime = plan.walls.limits.walltime_sec.map(Duration::from_secs);
        let mut group = self.make_group(&plan, degraded_limits)?;
        // Told after the start, when the cage may have ended and its group be gone.
        let degradation = group.as_ref().and_then(Group::degradation).cloned();
        self.begin(StartStep::Streams)?;
        let terminal_size = streams.terminal_size();
        let (inside, mut ends) = open_streams(streams, keeper, key)?;
        self.begin(StartStep::Birth)?;
        let birthplace = group.as_ref().and_then(Group::birthplace);
        let limits = LimitsHolder::Caller { birthplace };
        let (mut born, launcher) = keeper.launchers.start_cage(&plan, &sources, inside, limits)?;
        drop(sources);
        self.begin(StartStep::Adopt)?;
        if let Some(group) = &mut group {
            group.adopt(born.pid())?;
            if group.goes_with_its_last_process() {
                born.stay_until_dismissed();
            }
        }
        self.begin(StartStep::Connect)?;
        let network = match gatekeeper {
            Some(gatekeeper) => Some(self.connect(&mut born, &prepared, &gatekeeper)?),
            None => None,
        };
        drop(prepared);
        if let Some((size, keep)) = terminal_size {
            let terminal = await_terminal(&born, size)?;
            let copy = || {
                terminal.try_clone().map_err(|error| {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::MFILE);
                    kernel("copy the terminal's descriptor")(errno)
                })
            };
            ends.stdin = Some(copy()?);
            ends.stdout = Some(Pump::new(copy()?, keep, &keeper.watch, key, Subject::Stdout));
            ends.terminal = Some(terminal);
        }
        let invocation_id = plan.start.invocation.clone();
        let group = Mutex::new(group);
        let body = (born.pid(), Body::Caged(Box::new(Caged { born, launcher, network, group })));
        let recorder = Arc::clone(recorder);
        let kept = Kept::new(key, invocation_id, recorder, Some(plan), body, ends);
        let kept = Arc::new(kept.in_session(stay));
        self.begin(StartStep::Watchdog)?;
        keeper.take_in(&kept, walltime)?;
        let taken_in = TakenIn { keeper, kept: &kept };
        // Pid 1 builds the cage meanwhile.
        self.begin(StartStep::Intent)?;
        kept.record_intent()?;
        self.begin(StartStep::Gate)?;
        let layers =
            open_gate(&kept).map_err(|error| kept.why_not_begun(error, keeper.is_closing()))?;
        let mut life = kept.life();
        (life.started, life.layers) = (Some(Instant::now()), Some(layers));
        drop(life);
        self.begin(StartStep::Record)?;
        kept.record_spawn()?;
        keeper.clerk.note();
        self.begin(StartStep::Listen)?;
        keeper.listen(&kept).map_err(kernel("watch the cage"))?;
        std::mem::forget(taken_in);
        Ok(Handle::new(kept, Arc::clone(keeper)).with_degradation(degradation))
    }

    /// Starts a program without a cage. K157
    pub(super) fn start_uncaged(
        &self,
        program: &UncagedProgram,
        beside: Beside,
    ) -> Result<Handle, RunError> {
        let Beside { labels, streams, session, degraded_limits: _ } = beside;
        if streams.terminal_size().is_some() {
            let reason = "a program without a cage cannot be given a terminal";
            return Err(RunError::Unsupported(reason));
        }
        let name = Name::new().map_err(kernel("get random bytes"))?;
        self.keeper.check_free(&name.text)?;
        let recorder = Recorder::new(Arc::clone(&self.keeper.log), &name.text, labels);
        let recorder = Arc::new(recorder);
        let started = self.run_uncaged(program, streams, session, name.text, &recorder);
        started.map_err(|error| record_failure(&recorder, error))
    }

    fn run_uncaged(
        &self,
        program: &UncagedProgram,
        streams: Streams,
        stay: Stay,
        invocation_id: String,
        recorder: &Arc<Recorder>,
    ) -> Result<Handle, RunError> {
        let keeper = &self.keeper;
        let key = keeper.new_key();
        self.begin(StartStep::Streams)?;
        let (inside, ends) = open_streams(streams, keeper, key)?;
        self.begin(StartStep::Intent)?;
        let argv0 = program.argv.first().map(OsString::as_os_str).unwrap_or_default();
        recorder.intent_uncaged(argv0)?;
        self.begin(StartStep::Birth)?;
        let direct = Direct::start(program, inside)?;
        let pid = direct.pid;
        let body = (pid, Body::Uncaged(direct));
        let shared = Arc::clone(recorder);
        let kept = Kept::new(key, invocation_id, shared, None, body, ends).living(program.walltime);
        let kept = Arc::new(kept.in_session(stay));
        kept.life().started = Some(Instant::now());
        self.begin(StartStep::Watchdog)?;
        keeper.take_in(&kept, program.walltime)?;
        let taken_in = TakenIn { keeper, kept: &kept };
        self.begin(StartStep::Record)?;
        recorder.spawned_uncaged(program.reason, pid).map_err(SpawnError::of_running)?;
        self.begin(StartStep::Listen)?;
        keeper.listen(&kept).map_err(kernel("watch the program"))?;
        std::mem::forget(taken_in);
        Ok(Handle::new(kept, Arc::clone(keeper)))
    }

    /// What holds a cage to its limits but that of time, if it has any.
    fn make_group(&self, plan: &Plan, degraded: Degraded) -> Result<Option<Group>, RunError> {
        if (LimitsPlan { walltime_sec: None, ..plan.walls.limits }) == LimitsPlan::default() {
            return Ok(None);
        }
        let group = self.limiter.prepare(&plan.walls.limits, &plan.start.invocation, degraded)?;
        Ok(Some(group))
    }

    /// Hands the cage's sockets to the gatekeeper, and to another one if that has just ended.
    fn connect(
        &self,
        born: &mut Born,
        prepared: &Prepared<'_>,
        gatekeeper: &Gatekeeper,
    ) -> Result<Registration, RunError> {
        let sockets = born.take_network()?;
        match gatekeeper.register(prepared, &sockets) {
            Err(_) if gatekeeper.is_gone() => {
                let keeper = &self.keeper;
                let another = keeper.gatekeeper()?;
                Ok(another.register(prepared, &sockets)?)
            }
            registered => Ok(registered?),
        }
    }
}

/// A program that the keeper has taken in, until it has started.
struct TakenIn<'a> {
    keeper: &'a Keeper,
    kept: &'a Kept,
}

impl Drop for TakenIn<'_> {
    fn drop(&mut self) {
        self.keeper.let_go(self.kept);
        self.kept.release();
    }
}

/// Notes that a start came to nothing. Where that cannot be recorded, the error says enough.
fn record_failure(recorder: &Recorder, error: RunError) -> RunError {
    if error.kind().is_recorded() {
        let _unrecorded = recorder.failed(error.kind(), &with_causes(&error));
    }
    error
}

impl Kept {
    /// K170
    fn record_intent(&self) -> Result<(), RunError> {
        let plan = self.plan.as_ref().ok_or(StartError::Vanished)?;
        Ok(self.recorder.intent(plan)?)
    }

    /// K193, K205
    fn record_spawn(&self) -> Result<(), RunError> {
        if let Some(Body::Caged(cage)) = self.body().as_deref()
            && let Some(degradation) = cage.group().as_ref().and_then(Group::degradation)
        {
            self.recorder.limits_skipped(degradation).map_err(SpawnError::of_running)?;
        }
        if let Some(plan) = &self.plan {
            self.recorder.spawned(plan, self.pid).map_err(SpawnError::of_running)?;
        }
        Ok(())
    }

    /// The kernel ends a cage that needs too much memory without a word, and so does a drain one that has
    /// not begun.
    fn why_not_begun(&self, error: RunError, is_closing: bool) -> RunError {
        let limit = self.plan.as_ref().and_then(|plan| plan.walls.limits.memory_mb);
        let ran_out = || {
            let body = self.body();
            matches!(body.as_deref(), Some(Body::Caged(cage)) if cage.is_out_of_memory())
        };
        match (error, limit) {
            (RunError::Spawn(SpawnError::Start(StartError::Vanished)), Some(limit_mb))
                if ran_out() =>
            {
                SpawnError::TooLittleMemory { limit_mb }.into()
            }
            (RunError::Spawn(SpawnError::Start(StartError::Vanished)), _) if is_closing => {
                RunError::Closing
            }
            (error, _) => error,
        }
    }
}

/// Opens the gate of a cage whose start is durable on record, and waits until the program runs.
fn open_gate(kept: &Kept) -> Result<Layers, RunError> {
    let body = kept.body().ok_or(StartError::Vanished)?;
    let Body::Caged(cage) = &*body else { return Err(StartError::Vanished.into()) };
    let born = &cage.born;
    born.verify_when_built()?;
    // One that ended in the meantime says why.
    let _gone = born.open_gate();
    loop {
        match born.next_report() {
            Ok(Some((Report::Started(layers), _))) => return Ok(layers),
            Ok(Some((Report::Failed(failure), _))) => return Err(SpawnError::from(failure).into()),
            Ok(Some(_)) => return Err(SpawnError::Supervise(Errno::PROTO).into()),
            Ok(None) | Err(Errno::CONNRESET) => return Err(StartError::Vanished.into()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SpawnError::Supervise(errno).into()),
        }
    }
}

/// The supervisor's end of the program's terminal, in its size before the program can ask for it.
fn await_terminal(born: &Born, size: TerminalSize) -> Result<OwnedFd, RunError> {
    loop {
        return match born.next_report() {
            Ok(Some((Report::Terminal, mut descriptors))) => {
                let terminal = descriptors.pop().ok_or(SpawnError::Supervise(Errno::PROTO))?;
                set_size(&terminal, size).map_err(SpawnError::Supervise)?;
                Ok(terminal)
            }
            Ok(Some((Report::Failed(failure), _))) => Err(SpawnError::from(failure).into()),
            Ok(Some(_)) => Err(SpawnError::Supervise(Errno::PROTO).into()),
            Ok(None) => Err(StartError::Vanished.into()),
            Err(Errno::INTR) => continue,
            Err(errno) => Err(SpawnError::Supervise(errno).into()),
        };
    }
}

/// Both ends of a program's streams; those of a terminal come with the cage.
fn open_streams(
    streams: Streams,
    keeper: &Keeper,
    key: Key,
) -> Result<(ProgramStreams, Ends), RunError> {
    let Streams::Separate { stdin, stdout, stderr } = streams else {
        let terminal = || Stream::Terminal;
        let inside = ProgramStreams { stdin: terminal(), stdout: terminal(), stderr: terminal() };
        return Ok((inside, Ends::default()));
    };
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(kernel("make a pipe"));
    let (stdin, stdin_end) = match stdin {
        Input::Null => (Stream::Null, None),
        Input::Descriptor(descriptor) => (Stream::Descriptor(descriptor), None),
        Input::Pipe => {
            let (inside, end) = pipe()?;
            (Stream::Descriptor(inside), Some(end))
        }
    };
    let output = |output: Output, subject| match output {
        Output::Null => Ok((Stream::Null, None)),
        Output::Descriptor(descriptor) => Ok((Stream::Descriptor(descriptor), None)),
        Output::Keep(keep) => {
            let (end, inside) = pipe()?;
            let pump = Pump::new(end, keep, &keeper.watch, key, subject);
            Ok::<_, RunError>((Stream::Descriptor(inside), Some(pump)))
        }
    };
    let (stdout, stdout_end) = output(stdout, Subject::Stdout)?;
    let (stderr, stderr_end) = output(stderr, Subject::Stderr)?;
    let ends = Ends { stdin: stdin_end, stdout: stdout_end, stderr: stderr_end, terminal: None };
    Ok((ProgramStreams { stdin, stdout, stderr }, ends))
}
