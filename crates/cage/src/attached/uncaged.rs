//! Running a program without a cage on this process's own terminal, streams and signals: the
//! operator's opt-out. Nothing holds the program but its time; that it runs is on record before it
//! does.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use jail::{End, ProgramStreams, Stream};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use session::Session;

use super::signals::{Signals, stop_own_group};
use crate::bounds::Bounds;
use crate::outcome::{EndReason, RecordError, SpawnError};
use crate::record::{RecordedEnd, Recording};
use crate::runner::{Direct, UncagedProgram};
use crate::watchdog::Ring;

/// A program to be run without a cage, in a process group of its own.
#[derive(Debug)]
pub struct UncagedRun<'a> {
    /// The program.
    pub program: &'a UncagedProgram,
    /// The name of this start.
    pub invocation: &'a str,
    /// The session that it belongs to. If that is ended, so is the program.
    pub session: Option<&'a Session>,
    /// Where it is recorded.
    pub recording: &'a Recording,
}

/// A program without a cage that has ended.
#[derive(Debug)]
pub struct UncagedOutcome {
    /// How it ended.
    pub end: End,
    /// Why.
    pub reason: EndReason,
    /// From its start to its end.
    pub duration: Duration,
    /// Why its end is not in the record.
    pub unrecorded: Option<RecordError>,
}

impl UncagedRun<'_> {
    /// Runs the program to its end. One that does not start is on record too.
    pub fn run(self) -> Result<UncagedOutcome, SpawnError> {
        let (recording, invocation) = (self.recording, self.invocation);
        self.attempt().inspect_err(|error| recording.failed(invocation, error))
    }

    fn attempt(self) -> Result<UncagedOutcome, SpawnError> {
        let Self { program, invocation, session, recording } = self;
        let signals = Signals::take(&[libc::SIGCHLD]).map_err(SpawnError::Supervise)?;
        let recorder = recording.of_start(invocation)?;
        if let Some(session) = session {
            recorder.session_begun(session)?;
        }
        let argv0 = program.argv.first().map(|word| word.as_os_str()).unwrap_or_default();
        recorder.intent_uncaged(argv0)?;
        let streams = own_streams().map_err(SpawnError::Supervise)?;
        let started = Direct::start(program, streams)?;
        let began = Instant::now();
        let mut bounds = Bounds::of_time(program.walltime);
        bounds.arm().map_err(SpawnError::Supervise)?;
        let terminal = Terminal::give_to(started.pid);
        let mut watched = Watched { started, signals, bounds, session, terminal };
        let recorded = recorder.spawned_uncaged(program.reason, watched.started.pid);
        recorded.and_then(|()| recorder.checkpoint()).map_err(SpawnError::of_running)?;
        watched.attend().map_err(SpawnError::Supervise)?;
        let end = watched.started.reap();
        let duration = began.elapsed();
        let reason = watched.bounds.verdict().unwrap_or_else(|| EndReason::of(end, &[]));
        let limits = watched.bounds.limits();
        let recorded = RecordedEnd::uncounted(end, reason, duration, limits);
        let unrecorded = recorder.ended(&recorded).err().map(RecordError::from);
        Ok(UncagedOutcome { end, reason, duration, unrecorded })
    }
}

/// The streams of this process, as they are. One that is closed leads nowhere.
fn own_streams() -> Result<ProgramStreams, Errno> {
    let copy = |stream| match rustix::io::fcntl_dupfd_cloexec(stream, FIRST_BEYOND_STANDARD) {
        Ok(copy) => Ok(Stream::Descriptor(copy)),
        Err(Errno::BADF) => Ok(Stream::Null),
        Err(errno) => Err(errno),
    };
    Ok(ProgramStreams {
        stdin: copy(rustix::stdio::stdin())?,
        stdout: copy(rustix::stdio::stdout())?,
        stderr: copy(rustix::stdio::stderr())?,
    })
}

struct Watched<'a> {
    started: Direct,
    signals: Signals,
    bounds: Bounds,
    session: Option<&'a Session>,
    terminal: Option<Terminal>,
}

impl Watched<'_> {
    /// Forwards signals and keeps the time until the program is gone.
    fn attend(&mut self) -> Result<(), Errno> {
        loop {
            let [time, _] = self.bounds.descriptors();
            let mut waiting = vec![
                PollFd::from_borrowed_fd(self.started.gone(), PollFlags::IN),
                PollFd::new(&self.signals, PollFlags::IN),
            ];
            waiting.extend(time.map(|time| PollFd::from_borrowed_fd(time, PollFlags::IN)));
            match rustix::event::poll(&mut waiting, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            let mut ready = waiting.iter().map(|one| !one.revents().is_empty());
            let (gone, signal) = (ready.next() == Some(true), ready.next() == Some(true));
            if gone {
                return Ok(());
            }
            drop(waiting);
            if signal {
                self.forward()?;
            }
            let ring = self.bounds.listen()?;
            self.obey(ring);
        }
    }

    fn forward(&mut self) -> Result<(), Errno> {
        while let Some(signal) = self.signals.next()? {
            match signal {
                libc::SIGCHLD => {
                    if self.started.has_stopped() && self.terminal.is_some() {
                        self.stop_with_program()?;
                    }
                }
                libc::SIGTSTP => {
                    let _gone = self.started.signal(libc::SIGSTOP);
                    self.stop_with_program()?;
                }
                libc::SIGTERM if self.session.is_some_and(Session::is_ending) => {
                    let ring = self.bounds.end(EndReason::SessionEnded)?;
                    self.obey(ring);
                }
                // It may have ended a moment ago, which its handle tells.
                signal => {
                    let _gone = self.started.signal(signal);
                }
            }
        }
        Ok(())
    }

    fn obey(&self, ring: Option<Ring>) {
        let _gone = match ring {
            Some(Ring::Terminate) => self
                .started
                .signal(libc::SIGTERM)
                // Whoever has stopped would not hear of it.
                .and_then(|()| self.started.signal(libc::SIGCONT)),
            Some(Ring::Kill) => self.started.signal(libc::SIGKILL),
            None => Ok(()),
        };
    }

    fn stop_with_program(&mut self) -> Result<(), Errno> {
        drop(self.terminal.take());
        stop_own_group()?;
        self.terminal = Terminal::give_to(self.started.pid);
        let _gone = self.started.signal(libc::SIGCONT);
        Ok(())
    }
}

/// The user's terminal, which another group has. Dropping it takes it back.
struct Terminal(OwnedFd);

impl Terminal {
    /// Gives the terminal on standard input to the program's group, if it is this group's to give.
    fn give_to(program: Pid) -> Option<Self> {
        let terminal = rustix::stdio::stdin();
        let own = rustix::process::getpgrp();
        if rustix::termios::tcgetpgrp(terminal) != Ok(own) {
            return None;
        }
        let copy = rustix::io::fcntl_dupfd_cloexec(terminal, FIRST_BEYOND_STANDARD).ok()?;
        rustix::termios::tcsetpgrp(&copy, program).ok()?;
        // One that was faster has been stopped by the kernel when it read from it.
        let _gone = sys::signal::send_to_group(program, libc::SIGCONT);
        Some(Self(copy))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Whoever takes a terminal that is another's is stopped for it, unless it does not hear of
        // that.
        let held = sys::signal::block(&sys::signal::SignalSet::of(&[libc::SIGTTOU]));
        let _taken = rustix::termios::tcsetpgrp(self.0.as_fd(), rustix::process::getpgrp());
        if let Ok(before) = held {
            let _restored = sys::signal::set_mask(&before);
        }
    }
}

const FIRST_BEYOND_STANDARD: i32 = 3;
