//! Watches over one program in the foreground until it has ended: relays its streams, forwards signals,
//! keeps its time and hears its gatekeeper. Knows nothing of how it was started.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use limits::{Group, LimitsError};
use policy::with_causes;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use session::SessionError;

use super::console::Console;
use super::foreground::LentTerminal;
use super::signals::{Signals, stop_own_group};
use crate::gatekeeper::{Gatekeeper, Registration};
use crate::outcome::{EndReason, Ended, NetworkEnd, SpawnError};
use crate::program::{Body, Heard, Program};
use crate::watchdog::{Ring, Ticker, Watchdog};

/// A program that has ended, and its cage, in which nothing runs any more. Dropping it waits until
/// the cage is taken down.
///
/// As long as it exists, signals to this process wait: whoever has work to do before it may be ended does
/// it meanwhile. Those that came by then are dropped with it; they were for the program.
#[derive(Debug)]
pub struct Attended {
    /// How it ended.
    pub ended: Ended,
    program: Arc<Program>,
    signals: Signals,
}

/// What is left of a program that has ended, although it should not.
#[derive(Debug, thiserror::Error)]
pub enum LeftBehind {
    /// Its control group.
    #[error("a control group is left behind: {0}")]
    Group(#[from] LimitsError),
    /// Its session, which was to end with it.
    #[error("the session of this run is not removed: {}", with_causes(.0))]
    Session(SessionError),
}

impl Attended {
    /// The name of the start.
    pub fn invocation(&self) -> &str {
        &self.program.invocation
    }

    /// Waits until the cage is taken down, leaves the session, and holds signals back for good: for a
    /// process that has told how the program ended and is about to end itself.
    pub fn finish(self) -> Result<(), LeftBehind> {
        let Self { program, signals, .. } = self;
        program.release();
        std::mem::forget(signals);
        let removed = program.remove_group();
        if program.is_long_to_leave() {
            program.leave_session().map_err(LeftBehind::Session)?;
            // A session of a single run ends after its program, so this is where the log ends for now.
            let _unstated = program.recorder.checkpoint();
        }
        Ok(removed?)
    }
}

/// What there is to attend to.
#[derive(Default)]
struct News {
    /// The program's body has something to say.
    event: bool,
    /// A signal is waiting.
    signal: bool,
    /// The time or a limit may have been reached.
    bounds: bool,
}

/// A program, and what this process has of it.
pub(super) struct Attendance {
    pub(super) program: Arc<Program>,
    pub(super) body: Arc<Body>,
    pub(super) pid: Pid,
    /// Serves this program alone.
    pub(super) gatekeeper: Option<Arc<Gatekeeper>>,
    /// The streams of a cage of ours.
    pub(super) console: Option<Console>,
    /// The terminal of a program that has the user's own streams.
    pub(super) lent: Option<LentTerminal>,
    pub(super) signals: Signals,
    pub(super) watchdog: Option<Watchdog>,
    /// For a program that writes to layers.
    pub(super) ticker: Option<Ticker>,
    pub(super) state: State,
}

#[derive(Default)]
pub(super) struct State {
    /// Whether the gatekeeper has nothing more to say.
    network_is_silent: bool,
    /// Whether somebody has asked the program to end before.
    was_asked_to_end: bool,
    /// Whether the program has stopped itself where this process does not stop with it.
    program_is_stopped: bool,
}

impl Attendance {
    /// Attends to the program until it has ended and what it left was looked at.
    pub(super) fn attend(mut self) -> Result<Attended, SpawnError> {
        loop {
            let News { event, signal, bounds } = self.wait()?;
            if signal {
                self.forward_signals().map_err(SpawnError::Supervise)?;
            }
            if event {
                match self.program.hear() {
                    Heard::Nothing => {}
                    // Only a user who sits at the program's terminal can have meant this process
                    // too; else a program could stop whatever watches over it.
                    Heard::Stopped if self.is_interactive() => {
                        self.stop_with_program().map_err(SpawnError::Supervise)?;
                    }
                    Heard::Stopped => self.state.program_is_stopped = true,
                    Heard::Ended => return self.conclude(),
                }
            }
            // Only now: a program that has ended by itself while this process was stopped has kept its
            // time.
            if bounds {
                self.heed_bounds().map_err(SpawnError::Supervise)?;
            }
        }
    }

    fn conclude(mut self) -> Result<Attended, SpawnError> {
        let network = self.body.network().map(Registration::finish);
        if let Some(gatekeeper) = &self.gatekeeper {
            // It goes while this process tells what happened.
            gatekeeper.end();
        }
        if let Some(console) = &mut self.console {
            console.drain();
        }
        self.record_network()?;
        if network.is_some_and(|network| network.end == NetworkEnd::GatekeeperGone) {
            self.program.recorder.gatekeeper_lost().map_err(SpawnError::of_running)?;
        }
        // The terminal is the user's again before anything is told.
        drop((self.console, self.lent));
        let Self { program, signals, body, .. } = self;
        let files = body.files().cloned();
        drop(body);
        // Taking the cage down takes the kernel longer.
        let mut ended = program.end().ok_or(SpawnError::Supervise(Errno::SRCH))?;
        if let Err(error) = program.recorder.checkpoint() {
            ended.unrecorded.get_or_insert_with(|| with_causes(&error));
        }
        program.look_after(&mut ended);
        if let Some(files) = &files {
            // Their mounts are there as long as the cage is.
            program.release();
            program.wait_for_mounts(files, &mut ended);
        }
        if (files.is_some() || !ended.findings.found.is_empty())
            && let Err(error) = program.recorder.checkpoint()
        {
            ended.unrecorded.get_or_insert_with(|| with_causes(&error));
        }
        Ok(Attended { ended, program, signals })
    }

    /// Waits for something to do, and relays what can be relayed.
    fn wait(&mut self) -> Result<News, SpawnError> {
        let patience = self.console.as_ref().and_then(Console::patience);
        if patience.is_some() {
            self.console
                .iter_mut()
                .try_for_each(Console::reclaim)
                .map_err(SpawnError::Supervise)?;
        }
        let group = self.program.group();
        let network = self.body.network().filter(|_| !self.state.network_is_silent);
        let resolvers = self.gatekeeper.as_ref().and_then(|one| one.resolver_changes());
        let time = self.watchdog.as_ref().map(Watchdog::descriptor);
        let limits = group.as_ref().and_then(Group::watch);
        let ticks = self.ticker.as_ref().map(Ticker::as_fd);
        let beside = [network.map(Registration::events), resolvers, time, limits, ticks];
        let wanted = self.console.as_ref().map(Console::wants).unwrap_or_default();
        let mut descriptors = vec![
            PollFd::from_borrowed_fd(events(&self.body), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
        ];
        for descriptor in beside.into_iter().flatten() {
            descriptors.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        }
        for (descriptor, flags) in wanted.iter().flatten() {
            descriptors.push(PollFd::from_borrowed_fd(*descriptor, *flags));
        }
        for descriptor in self.body.files().into_iter().flat_map(|files| files.events()) {
            descriptors.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        }
        match rustix::event::poll(&mut descriptors, patience.as_ref()) {
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
        drop((descriptors, wanted));
        drop(group);
        let [network, resolvers, time, limits, ticked] = beside;
        let relays = self.console.iter_mut().flat_map(|console| &mut console.relays);
        for (relay, ready) in relays.zip(movable) {
            relay.step(&ready);
        }
        self.hear_gatekeeper(network, resolvers)?;
        self.record_lost_mounts()?;
        if ticked {
            self.ticker.iter().for_each(Ticker::heard);
        }
        Ok(News { event, signal, bounds: time || limits || ticked })
    }

    /// Hears the gatekeeper, and tells it which resolvers the host has now.
    fn hear_gatekeeper(&mut self, network: bool, resolvers: bool) -> Result<(), SpawnError> {
        if network && let Some(registration) = self.body.network() {
            self.state.network_is_silent = !registration.hear();
            self.record_network()?;
        }
        if resolvers && let Some(gatekeeper) = &self.gatekeeper {
            gatekeeper.look_at_resolvers();
        }
        Ok(())
    }

    /// Records what the gatekeeper has told. A cage that cannot be recorded any more is ended. K240
    fn record_network(&self) -> Result<(), SpawnError> {
        let events = self.body.network().map(Registration::take_events);
        for event in events.into_iter().flatten() {
            self.body.tell_program(&event);
            self.program.recorder.network(event).map_err(SpawnError::of_running)?;
        }
        Ok(())
    }

    /// Records which mounts are not served any more.
    fn record_lost_mounts(&self) -> Result<(), SpawnError> {
        for lost in self.body.files().into_iter().flat_map(|files| files.lost()) {
            self.program.recorder.mount_lost(lost).map_err(SpawnError::of_running)?;
        }
        Ok(())
    }

    /// Ends the program whose time is over or whose memory is used up.
    fn heed_bounds(&mut self) -> Result<(), Errno> {
        if self.program.life().why.is_none() && self.program.is_out_of_memory() {
            self.kill(EndReason::Oom);
            return Ok(());
        }
        if self.ticker.is_some() && self.program.has_written_too_much() {
            self.kill(EndReason::WorkspaceFull);
            return Ok(());
        }
        match self.watchdog.as_mut().map(Watchdog::listen).transpose()?.flatten() {
            Some(Ring::Terminate) => {
                self.program.ask_to_end(EndReason::WalltimeExceeded);
                self.state.program_is_stopped = false;
            }
            Some(Ring::Kill) => self.kill(EndReason::WalltimeExceeded),
            None => {}
        }
        Ok(())
    }

    fn kill(&self, why: EndReason) {
        self.program.kill(why);
        if let Some(group) = &*self.program.group() {
            // Whatever is left ends with the first process of its cage.
            let _left = group.kill();
        }
    }

    /// Somebody wants the program to end: it has the same time for it as one whose own is over. Nothing
    /// changes for one whose end is due already.
    fn end(&mut self, why: EndReason) -> Result<(), Errno> {
        if self.program.life().why.is_none() {
            self.watchdog = Some(Watchdog::in_grace()?);
            self.program.ask_to_end(why);
            self.state.program_is_stopped = false;
        }
        Ok(())
    }

    fn forward_signals(&mut self) -> Result<(), Errno> {
        while let Some(signal) = self.signals.next()? {
            match signal {
                libc::SIGCHLD => {
                    if self.lent.is_some() && self.has_stopped() {
                        self.stop_with_program()?;
                    }
                }
                libc::SIGWINCH if self.console.is_some() => {
                    self.console.iter().for_each(Console::copy_window_size);
                }
                libc::SIGTSTP => {
                    let _gone = self.program.signal(libc::SIGSTOP);
                    self.stop_with_program()?;
                }
                libc::SIGCONT => {
                    self.console.iter_mut().try_for_each(Console::reclaim)?;
                    self.resume();
                }
                libc::SIGTERM if self.program.session_is_ending() => {
                    self.end(EndReason::SessionEnded)?;
                }
                libc::SIGTERM if std::mem::replace(&mut self.state.was_asked_to_end, true) => {
                    self.end(EndReason::Cancelled)?;
                }
                // Its user's terminal is gone. Without one it may be a word of the program's own.
                libc::SIGHUP if self.is_interactive() => {
                    let _gone = self.program.signal(signal);
                    self.end(EndReason::Cancelled)?;
                }
                // The program may have ended a moment ago, which its body tells.
                _ => {
                    let _gone = self.program.signal(signal);
                    // One that stopped itself where no shell could continue it would not hear of
                    // anything, and whoever wants to end it would have to kill this process.
                    if self.state.program_is_stopped {
                        self.resume();
                    }
                }
            }
        }
        Ok(())
    }

    fn has_stopped(&self) -> bool {
        match &*self.body {
            Body::Direct(direct) => direct.has_stopped(),
            Body::Caged(_) => false,
        }
    }

    /// Whether the program has a terminal of its own, to which the user's is connected.
    fn is_interactive(&self) -> bool {
        self.console.as_ref().is_some_and(Console::is_interactive)
    }

    /// Stops this process as the program was stopped, so that the caller's shell gets its terminal
    /// back; goes on with the program when it is continued.
    fn stop_with_program(&mut self) -> Result<(), Errno> {
        self.console.iter().for_each(Console::release);
        let was_lent = self.lent.take().is_some();
        stop_own_group()?;
        self.console.iter_mut().try_for_each(Console::reclaim)?;
        if was_lent {
            self.lent = LentTerminal::to(self.pid);
        }
        self.resume();
        Ok(())
    }

    /// Lets a stopped program go on.
    fn resume(&mut self) {
        self.state.program_is_stopped = false;
        self.program.resume();
    }
}

/// Readable when a program's body has something to say.
fn events(body: &Body) -> BorrowedFd<'_> {
    match body {
        Body::Caged(cage) => cage.child.reports(),
        Body::Direct(direct) => direct.gone(),
    }
}
