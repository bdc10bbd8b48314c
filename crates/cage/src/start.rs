//! The start of a program, step by step, whoever supervises it and whatever is around it. Each step's
//! failure undoes all before it: every value here gives back what it stands for when it is dropped, the
//! latest first. K165, K185
//!
//! What differs between a command that waits for its program and a runner that has many is behind
//! [`Supervise`].

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use aftermath::Aftermath;
use audit::AuditError;
use jail::launcher::Launcher;
use jail::{Child, LimitsHolder, ProgramStreams, Report, StartError};
use limits::{Degradation, Degraded, Group, LimitsError};
use plan::{LimitsPlan, Plan};
use policy::with_causes;
use prepare::Grounds;
use rustix::io::Errno;
use rustix::process::Pid;
use session::Session;

use crate::bwrap;
use crate::direct::Direct;
use crate::error::RunError;
use crate::gatekeeper::{Gatekeeper, Prepared as PreparedNetwork, Registration};
use crate::model_service::{ModelService, Sockets, apart};
use crate::mounts::FileServers;
use crate::outcome::SpawnError;
use crate::program::{Belongings, Body, Caged, Program, Stay};
use crate::record::Recorder;
use crate::runner::{Confinement, UncagedProgram};

/// The steps of a start, in their order. K165
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartStep {
    /// Listening on published ports; starting a gatekeeper.
    Network,
    /// Starting the processes that serve its mounts.
    Mounts,
    /// Making the control group.
    Limits,
    /// Making pipes.
    Streams,
    /// Starting the first process of the cage, behind its gate.
    Spawn,
    /// Taking the cage into its control group.
    Adopt,
    /// Handing the cage's sockets to the gatekeeper, and its mounts to those who serve them.
    Connect,
    /// Beginning to count the program's time.
    Watchdog,
    /// Recording that the program is about to run, durably.
    Intent,
    /// Letting the program run. One without a cage is started here.
    Gate,
    /// Recording that it runs.
    Record,
    /// Beginning to listen to what it says.
    Listen,
}

impl StartStep {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Network,
        Self::Mounts,
        Self::Limits,
        Self::Streams,
        Self::Spawn,
        Self::Adopt,
        Self::Connect,
        Self::Watchdog,
        Self::Intent,
        Self::Gate,
        Self::Record,
        Self::Listen,
    ];
}

/// Who builds a cage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// This library.
    #[default]
    Native,
    /// Bubblewrap, which lacks some walls; a Plan that needs one of them is refused.
    Bubblewrap,
}

/// How a program gets its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Through what a cage allows.
    ForCage,
    /// As they are: for a program without a cage, or with one that another program builds.
    AsTheyAre,
}

/// Who waits for a program: what a start needs of it, in the order of the steps.
pub(crate) trait Supervise {
    /// Called before each step.
    fn before(&self, _step: StartStep) -> Result<(), RunError> {
        Ok(())
    }

    /// A gatekeeper for a cage with a network.
    fn gatekeeper(&mut self) -> Result<Arc<Gatekeeper>, RunError>;

    /// What serves the model to a cage that may use one.
    fn model(&mut self) -> Result<ModelService, RunError>;

    /// What holds a cage to its limits.
    fn make_group(&mut self, plan: &Plan, degraded: Degraded) -> Result<Group, LimitsError>;

    /// Where the program's streams lead.
    fn streams(&mut self, how: Streams) -> Result<ProgramStreams, RunError>;

    /// Starts the first process of a cage.
    fn spawn(
        &mut self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<(Child, Option<Arc<Launcher>>), RunError>;

    /// What writes about this start. Asked for while the cage is being built.
    fn recorder(&mut self, invocation: &str) -> Result<Arc<Recorder>, RunError>;

    /// Takes the supervisor's end of the program's terminal.
    fn take_terminal(&mut self, terminal: OwnedFd) -> Result<(), RunError>;

    /// Takes a program in whose gate is still shut. From now on its time runs.
    fn take_in(&mut self, program: &Arc<Program>) -> Result<(), RunError>;

    /// Forgets a program that did not start after all.
    fn let_go(&mut self, _program: &Program) {}

    /// Whether nothing more is to start.
    fn is_closing(&self) -> bool {
        false
    }

    /// The program was let go and starts at this moment.
    fn gate_is_open(&mut self, _program: &Program) -> Result<(), AuditError> {
        Ok(())
    }

    /// Begins to listen to a program that runs.
    fn listen(&mut self, program: &Arc<Program>) -> Result<(), RunError>;
}

/// What is to be started.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) confinement: Confinement,
    pub(crate) backend: Backend,
    pub(crate) session: Option<Session>,
    pub(crate) degraded_limits: Degraded,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) program: Arc<Program>,
    /// The first process, as the host counts.
    pub(crate) pid: Pid,
    /// Told here, because the program may have ended and its group be gone.
    pub(crate) degradation: Option<Degradation>,
}

/// Starts a program. One that does not start is on record too, and what it may have left was looked at.
pub(crate) fn start(wanted: Wanted, by: &mut impl Supervise) -> Result<Started, RunError> {
    let Wanted { confinement, backend, session, degraded_limits } = wanted;
    let stay = Stay { session, writing: None };
    match confinement {
        Confinement::Caged(prepared) => {
            let aftermath = Arc::new(Aftermath::of(&prepared));
            let (plan, sources, grounds) = (prepared.plan, prepared.sources, prepared.grounds);
            let around = Around { stay, aftermath: Some(Arc::clone(&aftermath)), grounds };
            let behind_gate = match backend {
                Backend::Native => {
                    let cage = Cage { plan: Arc::clone(&plan), sources, degraded_limits };
                    cage.build(around, by)
                }
                Backend::Bubblewrap => prepare_bubblewrap(&plan, around, by),
            };
            let started = behind_gate.and_then(|behind_gate| behind_gate.begin(by));
            started.map_err(|error| {
                failed(error.with_reason(&plan), &plan.start.invocation, Some(&aftermath), by)
            })
        }
        Confinement::Uncaged(program) => {
            let name = program.invocation.clone();
            let around = Around { stay, aftermath: None, grounds: None };
            let started =
                prepare_uncaged(program, around, by).and_then(|behind_gate| behind_gate.begin(by));
            started.map_err(|error| failed(error, &name, None, by))
        }
    }
}

/// Notes that a start came to nothing. Where that cannot be recorded, the error says enough.
fn failed(
    error: RunError,
    name: &str,
    aftermath: Option<&Aftermath>,
    by: &mut impl Supervise,
) -> RunError {
    if error.may_have_begun() {
        return error.of_begun(aftermath, by.recorder(name).ok().as_deref());
    }
    if error.kind().is_recorded()
        && let Ok(recorder) = by.recorder(name)
    {
        let _unrecorded = recorder.failed(error.kind(), &with_causes(&error));
    }
    error
}

/// What a program has whatever confines it.
struct Around {
    stay: Stay,
    aftermath: Option<Arc<Aftermath>>,
    /// Why its cage is as it is, where something of its calls is noted.
    grounds: Option<Arc<Grounds>>,
}

/// A cage that is to be built.
struct Cage {
    plan: Arc<Plan>,
    sources: Vec<OwnedFd>,
    degraded_limits: Degraded,
}

/// A program that only waits for its gate.
struct BehindGate {
    program: Program,
    launch: Launch,
}

/// What lets a program run.
enum Launch {
    /// Opening the gate of its cage, which has this first process.
    OpenGate(Pid),
    /// Starting bubblewrap, which builds the cage.
    Bubblewrap(Arc<Plan>, ProgramStreams),
    /// Starting the program.
    Uncaged(UncagedProgram, ProgramStreams),
}

impl Cage {
    /// From a Plan to a cage behind its gate.
    fn build(self, around: Around, by: &mut impl Supervise) -> Result<BehindGate, RunError> {
        let Self { plan, sources, degraded_limits } = self;
        by.before(StartStep::Network)?;
        let network = Gatekeeper::prepare(&plan)?;
        let gatekeeper = network.needs_gatekeeper().then(|| by.gatekeeper()).transpose()?;
        by.before(StartStep::Mounts)?;
        let files = FileServers::start(&plan, &sources)?;
        by.before(StartStep::Limits)?;
        let mut group = match has_only_time(&plan.walls.limits) {
            true => None,
            false => Some(by.make_group(&plan, degraded_limits)?),
        };
        by.before(StartStep::Streams)?;
        let streams = by.streams(Streams::ForCage)?;
        let has_terminal = streams.have_terminal();
        by.before(StartStep::Spawn)?;
        let cgroup = group.as_ref().and_then(Group::cgroup);
        let limits = LimitsHolder::Caller { cgroup };
        let (mut child, launcher) = by.spawn(&plan, &sources, streams, limits)?;
        // The cage has what it needs of them. They are given back while it is being built, and not
        // when somebody waits for this process to end.
        drop(sources);
        by.before(StartStep::Adopt)?;
        if let Some(group) = &mut group {
            group.adopt(child.pid())?;
            if group.goes_with_its_last_process() {
                child.stay_until_dismissed();
            }
        }
        // The first process builds the cage meanwhile.
        let recorder = by.recorder(&plan.start.invocation)?;
        by.before(StartStep::Connect)?;
        let (network, model) = match gatekeeper {
            Some(gatekeeper) => {
                let (sockets, listener) = apart(child.take_network()?);
                let model = listener.map(|one| by.model()?.serving(&plan, &recorder, one));
                (Some(connect(sockets, &network, &gatekeeper, by)?), model.transpose()?)
            }
            None => (None, None),
        };
        files.serve(&mut child)?;
        let files = Arc::new(files);
        if has_terminal {
            by.take_terminal(await_terminal(&child)?)?;
        }
        let launch = Launch::OpenGate(child.pid());
        let caged = Caged { child, launcher, network, _model: model, files };
        let body = Body::Caged(Box::new(caged));
        let belongings = Belongings { group, ..Belongings::of_cage(plan, recorder) };
        Ok(around.behind_gate(belongings, Some(body), launch))
    }
}

/// Bubblewrap builds the cage when the gate would be opened.
fn prepare_bubblewrap(
    plan: &Plan,
    around: Around,
    by: &mut impl Supervise,
) -> Result<BehindGate, RunError> {
    bwrap::check_start(plan)?;
    let plan = Arc::new(bwrap::told_apart(plan));
    by.before(StartStep::Streams)?;
    let streams = by.streams(Streams::AsTheyAre)?;
    let recorder = by.recorder(&plan.start.invocation)?;
    let launch = Launch::Bubblewrap(Arc::clone(&plan), streams);
    let belongings = Belongings::of_cage(plan, recorder);
    Ok(around.behind_gate(belongings, None, launch))
}

/// K157
fn prepare_uncaged(
    program: UncagedProgram,
    around: Around,
    by: &mut impl Supervise,
) -> Result<BehindGate, RunError> {
    by.before(StartStep::Streams)?;
    let streams = by.streams(Streams::AsTheyAre)?;
    let recorder = by.recorder(&program.invocation)?;
    let walltime = program.walltime;
    let walltime_sec = walltime.map(|time| time.as_secs());
    let limits = LimitsPlan { walltime_sec, ..LimitsPlan::default() };
    let (invocation, plan, group) = (program.invocation.clone(), None, None);
    let belongings = Belongings { invocation, recorder, plan, limits, walltime, group };
    Ok(around.behind_gate(belongings, None, Launch::Uncaged(program, streams)))
}

impl Around {
    fn behind_gate(self, belongings: Belongings, body: Option<Body>, launch: Launch) -> BehindGate {
        let Self { stay, aftermath, grounds } = self;
        let program = Program::new(belongings, body, stay, (aftermath, grounds));
        BehindGate { program, launch }
    }
}

impl BehindGate {
    /// From a program behind its gate to one that runs and is listened to.
    fn begin(self, by: &mut impl Supervise) -> Result<Started, RunError> {
        let Self { program, launch } = self;
        let program = Arc::new(program);
        let degradation = program.group().as_ref().and_then(Group::degradation).cloned();
        match begin(&program, launch, degradation.as_ref(), by) {
            Ok(pid) => Ok(Started { program, pid, degradation }),
            Err(error) => {
                by.let_go(&program);
                program.release();
                // What stays of the session is swept at the next start.
                let _left = program.leave_session();
                Err(error)
            }
        }
    }
}

fn begin(
    program: &Arc<Program>,
    launch: Launch,
    degradation: Option<&Degradation>,
    by: &mut impl Supervise,
) -> Result<Pid, RunError> {
    let recorder = &program.recorder;
    program.hold_applies_off()?;
    by.before(StartStep::Watchdog)?;
    by.take_in(program)?;
    by.before(StartStep::Intent)?;
    program.record_session()?;
    match (&program.plan, &launch) {
        (Some(plan), _) => recorder.intent(plan)?,
        (None, Launch::Uncaged(uncaged, _)) => recorder.intent_uncaged(uncaged.name())?,
        (None, _) => return Err(StartError::Vanished.into()),
    }
    by.before(StartStep::Gate)?;
    let (pid, uncaged) = match launch {
        Launch::OpenGate(pid) => {
            open_gate(program, by).map_err(|error| why_not_begun(error, program, by))?;
            (pid, None)
        }
        Launch::Bubblewrap(plan, streams) => {
            (begin_directly(program, || bwrap::spawn(&plan, streams), by)?, None)
        }
        Launch::Uncaged(uncaged, streams) => {
            let pid = begin_directly(program, || Direct::start(&uncaged, streams), by)?;
            (pid, Some(uncaged.reason))
        }
    };
    by.before(StartStep::Record)?;
    if let Some(degradation) = degradation {
        recorder.limits_skipped(degradation).map_err(SpawnError::of_running)?;
    }
    let recorded = match (&program.plan, uncaged) {
        (_, Some(reason)) => recorder.spawned_uncaged(reason, pid),
        (Some(plan), None) => recorder.spawned(plan, pid),
        (None, None) => Ok(()),
    };
    recorded.map_err(SpawnError::of_running)?;
    by.before(StartStep::Listen)?;
    by.listen(program)?;
    Ok(pid)
}

/// Opens the gate of a cage whose start is durable on record, and waits until the program runs.
fn open_gate(program: &Program, by: &mut impl Supervise) -> Result<(), RunError> {
    let body = program.body().ok_or(StartError::Vanished)?;
    let Body::Caged(cage) = &*body else { return Err(StartError::Vanished.into()) };
    let child = &cage.child;
    child.verify_when_built()?;
    // One that ended in the meantime says why.
    let _gone = child.open_gate();
    let stated = by.gate_is_open(program);
    let layers = loop {
        match child.next_report() {
            Ok(Some((Report::Started(layers), _))) => break layers,
            Ok(Some((Report::Failed(failure), _))) => return Err(SpawnError::from(failure).into()),
            Ok(Some(_)) => return Err(SpawnError::Supervise(Errno::PROTO).into()),
            Ok(None) | Err(Errno::CONNRESET) => return Err(StartError::Vanished.into()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SpawnError::Supervise(errno).into()),
        }
    };
    let mut life = program.life();
    (life.started, life.layers) = (Some(Instant::now()), Some(layers));
    Ok(stated.map_err(SpawnError::of_running)?)
}

fn begin_directly(
    program: &Program,
    start: impl FnOnce() -> Result<Direct, SpawnError>,
    by: &mut impl Supervise,
) -> Result<Pid, RunError> {
    let pid = program.begin_with(start)?.ok_or(RunError::Closing)?;
    by.gate_is_open(program).map_err(SpawnError::of_running)?;
    Ok(pid)
}

/// The kernel ends a cage that needs too much memory without a word, and so does a supervisor that closes one
/// that has not begun.
fn why_not_begun(error: RunError, program: &Program, by: &impl Supervise) -> RunError {
    match (error, program.limits.memory_mb) {
        (RunError::Spawn(SpawnError::Start(StartError::Vanished)), Some(limit_mb))
            if program.is_out_of_memory() =>
        {
            SpawnError::TooLittleMemory { limit_mb }.into()
        }
        (RunError::Spawn(SpawnError::Start(StartError::Vanished)), _) if by.is_closing() => {
            RunError::Closing
        }
        (error, _) => error,
    }
}

/// Hands the cage's sockets to the gatekeeper, and to another one if that has just ended. It has confirmed
/// that it serves them when this returns.
fn connect(
    sockets: Sockets,
    network: &PreparedNetwork<'_>,
    gatekeeper: &Gatekeeper,
    by: &mut impl Supervise,
) -> Result<Registration, RunError> {
    match gatekeeper.register(network, &sockets) {
        Err(_) if gatekeeper.is_gone() => Ok(by.gatekeeper()?.register(network, &sockets)?),
        registered => Ok(registered?),
    }
}

/// The supervisor's end of the program's terminal.
fn await_terminal(child: &Child) -> Result<OwnedFd, RunError> {
    loop {
        return match child.next_report() {
            Ok(Some((Report::Terminal, mut descriptors))) => {
                Ok(descriptors.pop().ok_or(SpawnError::Supervise(Errno::PROTO))?)
            }
            Ok(Some((Report::Failed(failure), _))) => Err(SpawnError::from(failure).into()),
            Ok(Some(_)) => Err(SpawnError::Supervise(Errno::PROTO).into()),
            Ok(None) => Err(StartError::Vanished.into()),
            Err(Errno::INTR) => continue,
            Err(errno) => Err(SpawnError::Supervise(errno).into()),
        };
    }
}

/// Whether no limit is asked for that needs a control group.
fn has_only_time(limits: &LimitsPlan) -> bool {
    let LimitsPlan { walltime_sec, workspace_mb, .. } = *limits;
    *limits == LimitsPlan { walltime_sec, workspace_mb, ..LimitsPlan::default() }
}
