//! The start of one program, step by step. Each step's failure undoes all before it: every value
//! here gives back what it stands for when it is dropped, the latest first. K165, K185

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jail::{Born, Layers, LimitsHolder, ProgramStreams, Report, StartError, Stream};
use plan::{LimitsPlan, Plan};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::error::{RunError, kernel};
use super::handle::{Handle, set_size};
use super::keeper::Keeper;
use super::kept::{Body, Caged, Ends, Kept};
use super::pump::Pump;
use super::request::{Input, Output, Streams, TerminalSize, UncagedProgram};
use super::uncaged::Direct;
use super::watch::{Key, Subject};
use super::{Runner, StartStep};
use crate::gatekeeper::{Gatekeeper, Prepared, Registration};
use crate::outcome::SpawnError;
use crate::prepare::Name;
use crate::record::Labels;

impl Runner {
    /// Starts a program in its cage.
    pub(super) fn start_caged(
        &self,
        plan: Box<Plan>,
        sources: Vec<OwnedFd>,
        labels: Labels,
        streams: Streams,
    ) -> Result<Handle, RunError> {
        let keeper = &self.keeper;
        keeper.check_free(&plan.invocation)?;
        let launcher = keeper.launcher()?;
        let key = keeper.new_key();
        self.begin(StartStep::Network)?;
        let prepared = Gatekeeper::prepare(&plan)?;
        let gatekeeper = match prepared.needs_gatekeeper() {
            true => Some(keeper.gatekeepers.one(keeper.new_key(), &keeper.watch)?),
            false => None,
        };
        self.begin(StartStep::Limits)?;
        let walltime = check_limits(&plan.limits)?;
        self.begin(StartStep::Streams)?;
        let terminal_size = streams.terminal_size();
        let (inside, mut ends) = open_streams(streams, keeper, key)?;
        self.begin(StartStep::Birth)?;
        let limits = LimitsHolder::Caller { birthplace: None };
        let mut born = launcher.start_cage(&plan, &sources, inside, limits)?;
        drop(sources);
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
        let invocation_id = plan.invocation.clone();
        let body = (born.pid(), Body::Caged(Box::new(Caged { born, network })));
        let kept = Arc::new(Kept::new(key, invocation_id, labels, Some(plan), body, ends));
        self.begin(StartStep::Watchdog)?;
        keeper.take_in(&kept, walltime)?;
        let taken_in = TakenIn { keeper, kept: &kept };
        self.begin(StartStep::Gate)?;
        let layers = open_gate(&kept)?;
        let mut life = kept.life();
        (life.started, life.layers) = (Some(Instant::now()), Some(layers));
        drop(life);
        self.begin(StartStep::Listen)?;
        keeper.listen(&kept).map_err(kernel("watch the cage"))?;
        std::mem::forget(taken_in);
        Ok(Handle::new(kept, Arc::clone(keeper)))
    }

    /// Starts a program without a cage. K157
    pub(super) fn start_uncaged(
        &self,
        program: &UncagedProgram,
        labels: Labels,
        streams: Streams,
    ) -> Result<Handle, RunError> {
        let keeper = &self.keeper;
        let name = Name::new().map_err(kernel("get random bytes"))?;
        keeper.check_free(&name.text)?;
        let key = keeper.new_key();
        if streams.terminal_size().is_some() {
            let reason = "a program without a cage cannot be given a terminal";
            return Err(RunError::Unsupported(reason));
        }
        self.begin(StartStep::Streams)?;
        let (inside, ends) = open_streams(streams, keeper, key)?;
        self.begin(StartStep::Birth)?;
        let direct = Direct::start(program, inside)?;
        let body = (direct.pid, Body::Uncaged(direct));
        let kept = Arc::new(Kept::new(key, name.text, labels, None, body, ends));
        kept.life().started = Some(Instant::now());
        self.begin(StartStep::Watchdog)?;
        keeper.take_in(&kept, program.walltime)?;
        let taken_in = TakenIn { keeper, kept: &kept };
        self.begin(StartStep::Listen)?;
        keeper.listen(&kept).map_err(kernel("watch the program"))?;
        std::mem::forget(taken_in);
        Ok(Handle::new(kept, Arc::clone(keeper)))
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
                let another = keeper.gatekeepers.one(keeper.new_key(), &keeper.watch)?;
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

/// Opens the gate and waits until the program runs.
fn open_gate(kept: &Kept) -> Result<Layers, RunError> {
    let body = kept.body().ok_or(StartError::Vanished)?;
    let Body::Caged(cage) = &*body else { return Err(StartError::Vanished.into()) };
    let born = &cage.born;
    // One that ended while it was built says why.
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

/// The time limit, which the keeper holds.
fn check_limits(limits: &LimitsPlan) -> Result<Option<Duration>, RunError> {
    let walltime = limits.walltime_sec.map(Duration::from_secs);
    if (LimitsPlan { walltime_sec: None, ..*limits }) != LimitsPlan::default() {
        let reason = "this build holds the time limit and no other".to_owned();
        return Err(RunError::Limits(reason));
    }
    Ok(walltime)
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
