//! Running a cage on this process's own terminal, streams and signals, as a command does.
//! The host's terminal itself never enters the cage: its bytes are relayed.

mod console;
mod relay;
mod signals;
mod uncaged;

use std::os::fd::{AsFd, OwnedFd};

use aftermath::Swept;
use jail::{Born, End, Premade, StartError};
use limits::LimitsError;
use plan::Plan;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use session::Session;

use crate::bounds::Bounds;
use crate::gatekeeper::{Gatekeeper, Registration};
use crate::outcome::{EndReason, Outcome, RecordError, SpawnError};
use crate::record::{RecordedEnd, Recorder, Recording};
use crate::spawn::{Event, Running, connect};
use crate::watchdog::Ring;
use console::Console;
pub(crate) use console::check_streams;
use relay::Relay;
use signals::{Signals, stop_own_group};
pub use uncaged::{UncagedOutcome, UncagedRun};

/// A program to be run on the standard streams of this process, which must have a single thread.
/// Signals that this process gets go to the program.
#[derive(Debug)]
pub struct AttachedRun<'a> {
    /// Namespaces for the cage.
    pub premade: Premade,
    /// The cage.
    pub plan: &'a Plan,
    /// What the Plan's sources are, open, in their order.
    pub sources: Vec<OwnedFd>,
    /// Needed by a Plan with a network, and best started as soon as that is known.
    pub gatekeeper: Option<Gatekeeper>,
    /// What holds it to its limits.
    pub bounds: Bounds,
    /// The session that it belongs to. If that is ended, so is the program.
    pub session: Option<&'a Session>,
    /// Where it is recorded.
    pub recording: &'a Recording,
    /// What was removed before it, which is recorded with it.
    pub swept: &'a [Swept],
}

impl AttachedRun<'_> {
    /// Runs the program to its end. One that does not start is on record too.
    pub fn run(self) -> Result<Attended, SpawnError> {
        let (recording, plan) = (self.recording, self.plan);
        self.attempt()
            .map_err(|error| error.with_reason(plan))
            .inspect_err(|error| recording.failed(&plan.start.invocation, error))
    }

    fn attempt(self) -> Result<Attended, SpawnError> {
        let Self { premade, plan, sources, gatekeeper, mut bounds, session, recording, swept } =
            self;
        let prepared = Gatekeeper::prepare(plan)?;
        let signals = Signals::take(&[]).map_err(SpawnError::Supervise)?;
        let (mut console, streams) = Console::inspect()?;
        let mut born = premade.start(plan, &sources, streams, bounds.holder())?;
        // The cage has what it needs of them. They are given back while it is being built, and not
        // when somebody waits for this process to end.
        drop(sources);
        bounds.take_in(born.pid())?;
        if bounds.go_with_its_last_process() {
            born.stay_until_dismissed();
        }
        // The first process builds the cage meanwhile.
        let recorder = recording.of_start(&plan.start.invocation)?;
        recorder.swept(swept)?;
        if let Some(session) = session {
            recorder.session_begun(session)?;
        }
        recorder.intent(plan)?;
        let network = connect(&mut born, &prepared, gatekeeper.as_ref())?;
        let mut running = begin(born, network, &mut console, &recorder)
            .map_err(|error| why_not_begun(error, plan, &bounds))?;
        running.keep(gatekeeper);
        if let Some(degradation) = bounds.degradation() {
            recorder.limits_skipped(degradation).map_err(SpawnError::of_running)?;
        }
        recorder.spawned(plan, running.pid()).map_err(SpawnError::of_running)?;
        let attendance = Attendance {
            plan,
            running,
            console,
            signals,
            bounds,
            session,
            recorder,
            network_is_heard: true,
            was_asked_to_end: false,
            program_is_stopped: false,
        };
        attendance.attend()
    }
}

/// Opens the gate of a cage whose start is durable on record. How far the record is durable is stated
/// while the program starts.
fn begin(
    born: Born,
    network: Option<Registration>,
    console: &mut Console,
    recorder: &Recorder,
) -> Result<Running, SpawnError> {
    let mut stated = Ok(());
    let state = || stated = recorder.checkpoint();
    let running = if console.is_interactive() {
        let connect = |terminal| console.connect(terminal);
        Running::begin_on_terminal(born, network, connect, state)
    } else {
        Running::begin_with(born, network, state)
    };
    let running = running?;
    stated.map_err(SpawnError::of_running)?;
    Ok(running)
}

/// The kernel ends a cage that needs too much memory without a word.
fn why_not_begun(error: SpawnError, plan: &Plan, bounds: &Bounds) -> SpawnError {
    match (error, plan.walls.limits.memory_mb) {
        (SpawnError::Start(StartError::Vanished), Some(limit_mb)) if bounds.is_out_of_memory() => {
            SpawnError::TooLittleMemory { limit_mb }
        }
        (error, _) => error,
    }
}

/// A program that has ended, and its cage, in which nothing runs any more. Dropping it waits until
/// the cage is taken down.
///
/// As long as it exists, signals to this process wait: whoever has work to do before it may be ended,
/// such as looking for what the program left behind, does it meanwhile. Those that came by then are
/// dropped with it; they were for the program.
#[derive(Debug)]
pub struct Attended {
    /// How it ended.
    pub outcome: Outcome,
    /// Its cage.
    pub cage: Running,
    /// Why its end is not in the record.
    pub unrecorded: Option<RecordError>,
    bounds: Bounds,
    signals: Signals,
}

impl Attended {
    /// Waits until the cage is taken down, and holds signals back for good: for a process that has
    /// told how the program ended and is about to end itself.
    pub fn finish(self) -> Result<(), LimitsError> {
        drop(self.cage);
        std::mem::forget(self.signals);
        self.bounds.remove()
    }
}

/// What there is to attend to.
#[derive(Default)]
struct News {
    /// The cage has something to say.
    event: bool,
    /// A signal is waiting.
    signal: bool,
    /// A bound may have been reached.
    bounds: bool,
}

struct Attendance<'a> {
    plan: &'a Plan,
    running: Running,
    console: Console,
    signals: Signals,
    bounds: Bounds,
    session: Option<&'a Session>,
    recorder: Recorder,
    /// Whether the gatekeeper may still have something to say.
    network_is_heard: bool,
    /// Whether somebody has asked the program to end before.
    was_asked_to_end: bool,
    /// Whether the program has stopped itself where this process does not stop with it.
    program_is_stopped: bool,
}

impl Attendance<'_> {
    fn attend(mut self) -> Result<Attended, SpawnError> {
        loop {
            let News { event, signal, bounds } = self.wait()?;
            if signal {
                self.forward_signals().map_err(SpawnError::Supervise)?;
            }
            if event {
                // First of all: systemd removes a scope with its last process, and its counters too, and
                // the end is told after the gatekeeper's account has come.
                self.bounds.keep_usage();
                match self.running.next_event()? {
                    // Only a user who sits at the program's terminal can have meant this process
                    // too; else a program could stop whatever watches over it.
                    Event::Stopped if self.console.is_interactive() => {
                        self.stop_with_program().map_err(SpawnError::Supervise)?;
                    }
                    Event::Stopped => self.program_is_stopped = true,
                    Event::Ended(mut outcome) => {
                        // One whose supervisor was stopped is ended by pid 1, which cannot tell why.
                        if bounds && outcome.end == End::Signalled(libc::SIGKILL) {
                            let _over = self.bounds.listen().map_err(SpawnError::Supervise)?;
                        }
                        self.bounds.judge(&mut outcome);
                        self.running.dismiss();
                        self.console.drain();
                        self.record_network()?;
                        let Self { running: cage, bounds, signals, recorder, plan, .. } = self;
                        // Taking the cage down takes the kernel longer.
                        let recorded = recorder.ended(&RecordedEnd::of(plan, &outcome));
                        let unrecorded = recorded.map_err(RecordError::from).err();
                        return Ok(Attended {
                            outcome: *outcome,
                            cage,
                            unrecorded,
                            bounds,
                            signals,
                        });
                    }
                }
            }
            // Only now: a program that has ended by itself while this process was stopped has kept its
            // time.
            if bounds {
                let ring = self.bounds.listen().map_err(SpawnError::Supervise)?;
                self.obey(ring);
            }
        }
    }

    /// Waits for something to do, and relays what can be relayed.
    fn wait(&mut self) -> Result<News, SpawnError> {
        let mut descriptors = vec![
            PollFd::from_borrowed_fd(self.running.events(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
        ];
        let network = self.running.network().filter(|_| self.network_is_heard);
        let resolvers = self.running.own_gatekeeper().and_then(Gatekeeper::resolver_changes);
        let [time, limits] = self.bounds.descriptors();
        let beside = [network.map(Registration::events), resolvers, time, limits];
        for descriptor in beside.into_iter().flatten() {
            descriptors.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        }
        let wanted: Vec<_> = self.console.relays.iter().map(Relay::wants).collect();
        for (descriptor, flags) in wanted.iter().flatten() {
            descriptors.push(PollFd::from_borrowed_fd(*descriptor, *flags));
        }
        match rustix::event::poll(&mut descriptors, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(News::default()),
            Err(errno) => return Err(SpawnError::Supervise(errno)),
        }
        let mut ready = descriptors.iter().map(|one| !one.revents().is_empty());
        let (event, signal) = (ready.next() == Some(true), ready.next() == Some(true));
        let beside = beside.map(|one| one.is_some() && ready.next() == Some(true));
        let movable: Vec<Vec<bool>> = wanted
            .iter()
            .map(|wants| wants.iter().map(|_| ready.next() == Some(true)).collect())
            .collect();
        drop(descriptors);
        drop(wanted);
        for (relay, ready) in self.console.relays.iter_mut().zip(movable) {
            relay.step(&ready);
        }
        let [network, resolvers, time, limits] = beside;
        self.hear(network, resolvers)?;
        Ok(News { event, signal, bounds: time || limits })
    }

    /// Hears the gatekeeper, and tells it which resolvers the host has now.
    fn hear(&mut self, network: bool, resolvers: bool) -> Result<(), SpawnError> {
        if network && let Some(registration) = self.running.network() {
            self.network_is_heard = registration.hear();
            self.record_network()?;
        }
        if resolvers && let Some(gatekeeper) = self.running.own_gatekeeper() {
            gatekeeper.look_at_resolvers();
        }
        Ok(())
    }

    /// Records what the gatekeeper has told. A cage that cannot be recorded any more is ended. K240
    fn record_network(&self) -> Result<(), SpawnError> {
        let events = self.running.network().map(Registration::take_events);
        for event in events.into_iter().flatten() {
            self.recorder.network(event).map_err(SpawnError::of_running)?;
        }
        Ok(())
    }

    /// Ends the program as its bounds say.
    fn obey(&mut self, ring: Option<Ring>) {
        match ring {
            Some(Ring::Terminate) => {
                let _gone = self.running.signal(libc::SIGTERM);
                // Whoever has stopped would not hear of it.
                self.resume();
            }
            Some(Ring::Kill) => {
                self.running.kill();
                self.bounds.kill();
            }
            None => {}
        }
    }

    fn forward_signals(&mut self) -> Result<(), Errno> {
        while let Some(signal) = self.signals.next()? {
            match signal {
                libc::SIGWINCH => self.console.copy_window_size(),
                libc::SIGTSTP => {
                    let _gone = self.running.signal(libc::SIGSTOP);
                    self.stop_with_program()?;
                }
                libc::SIGCONT => self.resume(),
                libc::SIGTERM if self.session.is_some_and(Session::is_ending) => {
                    let ring = self.bounds.end(EndReason::SessionEnded)?;
                    self.obey(ring);
                }
                libc::SIGTERM if std::mem::replace(&mut self.was_asked_to_end, true) => {
                    self.insist()?;
                }
                // Its user's terminal is gone. Without one it may be a word of the program's own.
                libc::SIGHUP if self.console.is_interactive() => {
                    let _gone = self.running.signal(signal);
                    self.insist()?;
                }
                // The cage may have ended a moment ago, which its own report tells.
                _ => {
                    let _gone = self.running.signal(signal);
                    // One that stopped itself where no shell could continue it would not hear of
                    // anything, and whoever wants to end it would have to kill this process.
                    if self.program_is_stopped {
                        self.resume();
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the program if it does not end by itself. Whoever else would have to kill this process, and
    /// nobody would look at what the program leaves.
    fn insist(&mut self) -> Result<(), Errno> {
        let ring = self.bounds.end(EndReason::Cancelled)?;
        self.obey(ring);
        Ok(())
    }

    /// Stops this process as the program was stopped, so that the caller's shell gets its terminal
    /// back; goes on with the program when it is continued.
    fn stop_with_program(&mut self) -> Result<(), Errno> {
        self.console.release();
        stop_own_group()?;
        self.console.reclaim()?;
        self.resume();
        Ok(())
    }

    /// Lets a stopped program go on.
    fn resume(&mut self) {
        self.program_is_stopped = false;
        let _gone = self.running.resume();
    }
}
