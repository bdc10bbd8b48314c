//! Pid 1 of the cage: forwards signals, reaps, answers refused system calls, reports the end and
//! takes the whole cage with it. Runs no program's code and trusts nothing inside.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use walls::Wall;

use crate::control::{Channel, Departing, Order};
use crate::departure::Departure;
use crate::journal::Journal;
use crate::leftovers;
use crate::network::{Inward, Lookups};
use crate::observer::{Observer, Summary};
use crate::program::{Calls, Launched};
use crate::seccomp::Answerer;
use crate::{Denial, End, Observed, Report};

/// What pid 1 watches over.
pub(crate) struct Init<'a> {
    plan: &'a plan::Plan,
    control: Channel,
    children: OwnedFd,
    journal: Option<Arc<Journal>>,
    program: Pid,
    answerer: Option<Answerer>,
    observer: Option<Observer>,
    inward: Option<Inward>,
    lookups: Option<Lookups>,
    /// When the cage ends whatever its supervisor does.
    deadline: Option<Instant>,
    departing: Departing,
    departure: Option<Departure>,
}

impl<'a> Init<'a> {
    /// `children` is a descriptor on which `SIGCHLD` arrives.
    pub(crate) fn new(
        plan: &'a plan::Plan,
        control: Channel,
        (children, journal): (OwnedFd, Option<Arc<Journal>>),
        launched: Launched,
        (inward, lookups): (Option<Inward>, Option<Lookups>),
        (departing, departure): (Departing, Option<Departure>),
    ) -> Self {
        let (answerer, observer) = match launched.calls {
            Calls::Nowhere => (None, None),
            Calls::Here(listener) => {
                let answerer = Answerer::new(&plan.walls.seccomp, listener, journal.clone());
                (Some(answerer), None)
            }
            Calls::Observed(observer) => (None, Some(observer)),
        };
        // The supervisor ends a program whose time is over, and gives it a chance to end by itself.
        // But it can be stopped: from outside, or with a program that stops on the user's terminal
        // while its children go on.
        let walltime = plan.walls.limits.walltime_sec.map(Duration::from_secs);
        let walltime = walltime.filter(|_| walls::stands(Wall::WallTimeInside));
        let deadline = walltime
            .and_then(|time| Instant::now().checked_add(time.saturating_add(SUPERVISORS_TURN)));
        let program = launched.program;
        Self {
            plan,
            control,
            children,
            journal,
            program,
            answerer,
            observer,
            inward,
            lookups,
            deadline,
            departing,
            departure,
        }
    }

    /// Keeps only the descriptors that it needs. Pid 1 must not hold a directory of the host,
    /// should it ever be turned against the supervisor.
    pub(crate) fn confine(&self) -> Result<(), Errno> {
        let listener = self.answerer.as_ref().and_then(Answerer::listener).map(|fd| fd.as_raw_fd());
        let control = self.control.as_fd().as_raw_fd();
        let inward = self.inward.as_ref().map(|inward| inward.as_fd().as_raw_fd());
        let lookups = self.lookups.as_ref().map(|lookups| lookups.as_fd().as_raw_fd());
        let observer = self.observer.as_ref().map(Observer::descriptor);
        let journal = self.journal.as_ref().map(|journal| journal.descriptor());
        let departure = self.departure.iter().flat_map(Departure::descriptors);
        let children = self.children.as_raw_fd();
        let known = [Some(control), Some(children), listener, inward, lookups, observer, journal];
        let mut keep: Vec<u32> = known
            .into_iter()
            .flatten()
            .chain(departure)
            .filter_map(|descriptor| u32::try_from(descriptor).ok())
            .collect();
        keep.sort_unstable();
        sys::descriptors::close_all_but(&keep)
    }

    /// Watches until the program has ended or the supervisor is gone. Returning ends the cage: the
    /// kernel kills whatever is left when pid 1 exits, which also closes all that it holds.
    pub(crate) fn watch(&mut self) {
        loop {
            let Ok(ready) = self.wait() else { return };
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return;
            }
            if ready.order && !self.follow_order() {
                return;
            }
            if ready.call
                && let Some(answerer) = &mut self.answerer
            {
                answerer.answer_one();
            }
            if ready.no_more_calls
                && let Some(answerer) = &mut self.answerer
            {
                answerer.stop_listening();
            }
            if ready.child
                && let Some(end) = self.reap()
            {
                self.answer_rest();
                self.serve_lookups();
                if self.end_the_rest().is_err() {
                    return;
                }
                let denials = self.tell_observed();
                let lookups = self.lookups.as_ref().map(Lookups::told).unwrap_or_default();
                // A supervisor that is gone has no use for the report.
                let _told = self.control.send(&Report::Ended { end, denials, lookups }, &[]);
                if self.departing == Departing::WhenTold {
                    self.await_dismissal();
                }
                // Where it fails, the exit of this process takes the mounts down.
                let _left = self.departure.as_ref().map(Departure::leave);
                return;
            }
            if let Some(answerer) = &mut self.answerer {
                answerer.finish_doomed();
            }
            self.serve_lookups();
            // Whoever asked for connections is gone once this fails.
            self.inward = self.inward.take().and_then(|inward| inward.serve().ok());
        }
    }

    fn serve_lookups(&mut self) {
        if let Some(lookups) = &mut self.lookups {
            lookups.serve(self.journal.as_deref());
        }
    }

    /// Tells what was noted of the program's calls, and returns the refused ones.
    fn tell_observed(&self) -> Vec<Denial> {
        let left = leftovers::look(self.plan);
        let Summary { denials, mut observed, mut unlisted } = match &self.observer {
            Some(observer) => observer.summary(),
            None => {
                let denials = self.answerer.as_ref().map(Answerer::denials).unwrap_or_default();
                Summary { denials, ..Summary::default() }
            }
        };
        observed.extend(left);
        observed.reverse();
        while !observed.is_empty() || unlisted > 0 {
            let (mut batch, mut length) = (Vec::new(), 0);
            while let Some(one) = observed.pop_if(|one| length + packed(one) <= MOST_OF_A_PACKET) {
                length += packed(&one);
                batch.push(one);
            }
            // A supervisor that is gone has no use for it.
            let report = Report::Observed { observed: batch, unlisted };
            if self.control.send(&report, &[]).is_err() {
                break;
            }
            unlisted = 0;
        }
        denials
    }

    fn wait(&self) -> Result<Ready, Errno> {
        let ended = PollFlags::HUP | PollFlags::ERR;
        let mut descriptors = vec![
            PollFd::new(&self.control, PollFlags::IN),
            PollFd::new(&self.children, PollFlags::IN),
        ];
        let listener = self.answerer.as_ref().and_then(Answerer::listener);
        descriptors.extend(listener.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        descriptors.extend(self.lookups.as_ref().map(|one| PollFd::new(one, PollFlags::IN)));
        if let Some(inward) = &self.inward {
            descriptors.extend(inward.waits_for());
        }
        let deadlines = [
            self.answerer.as_ref().and_then(Answerer::next_deadline),
            self.inward.as_ref().and_then(Inward::next_deadline),
            self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        ];
        let deadline = deadlines.into_iter().flatten().min().map(timespec);
        match rustix::event::poll(&mut descriptors, deadline.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let events =
            |position: usize| descriptors.get(position).map_or(PollFlags::empty(), PollFd::revents);
        let calls = if listener.is_some() { events(2) } else { PollFlags::empty() };
        Ok(Ready {
            order: events(0).intersects(PollFlags::IN | ended),
            child: events(1).intersects(PollFlags::IN),
            call: calls.intersects(PollFlags::IN),
            no_more_calls: !calls.intersects(PollFlags::IN) && calls.intersects(ended),
        })
    }

    /// Carries out one order; false when there is nobody left to give any.
    fn follow_order(&self) -> bool {
        match self.control.receive::<Order>() {
            Ok(Some((Order::Signal(signal), _))) => self.forward(signal),
            Ok(Some((Order::Tell(refused), _))) => {
                if let Some(journal) = &self.journal {
                    journal.tell(&refused);
                }
            }
            Ok(Some((Order::Continue, _))) => {
                let _gone = sys::signal::send_to_group(self.program, libc::SIGCONT);
            }
            Ok(Some((Order::Mapped | Order::Binds | Order::Go(_) | Order::Leave, _)))
            | Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(None) | Err(_) => return false,
        }
        true
    }

    /// Waits until the supervisor has no more use for this process, or is gone. Not for long: one that
    /// has been stopped must not keep a cage whose program has ended.
    fn await_dismissal(&self) {
        let latest = Instant::now() + LONGEST_STAY;
        loop {
            let left = latest.saturating_duration_since(Instant::now());
            let mut orders = [PollFd::new(&self.control, PollFlags::IN)];
            match rustix::event::poll(&mut orders, Some(&timespec(left))) {
                Ok(0) => return,
                Ok(_) => {}
                // Nothing may have come, and nothing below ends in time by itself.
                Err(Errno::INTR) => continue,
                Err(_) => return,
            }
            match self.control.receive::<Order>() {
                Ok(Some((Order::Leave, _)) | None) => return,
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Signals that a terminal sends to a whole job go to the program's group, all others to the
    /// program itself.
    fn forward(&self, signal: i32) {
        let _gone = match signal {
            libc::SIGINT
            | libc::SIGQUIT
            | libc::SIGHUP
            | libc::SIGWINCH
            | libc::SIGCONT
            | libc::SIGTSTP => sys::signal::send_to_group(self.program, signal),
            _ => sys::signal::send(self.program, signal),
        };
    }

    /// Calls that came in just before the program ended still count.
    fn answer_rest(&mut self) {
        for _ in 0..MOST_LATE_CALLS {
            let Some(answerer) = &mut self.answerer else { return };
            let Some(listener) = answerer.listener() else { return };
            let mut waiting = [PollFd::from_borrowed_fd(listener, PollFlags::IN)];
            let polled = rustix::event::poll(&mut waiting, Some(&timespec(Duration::ZERO)));
            if polled != Ok(1) || !waiting.iter().all(|one| one.revents().contains(PollFlags::IN)) {
                return;
            }
            answerer.answer_one();
        }
    }

    /// Ends whatever the program left running, so that the report of the end is the end. An error
    /// means that only the end of this process can do it.
    fn end_the_rest(&self) -> Result<(), Errno> {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Err(Errno::CHILD) => return Ok(()),
                Ok(Some(_)) | Err(Errno::INTR) => continue,
                Ok(None) => {}
                Err(errno) => return Err(errno),
            }
            sys::signal::send_to_all_others(libc::SIGKILL)?;
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(_) | Err(Errno::CHILD | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Reaps everything that has ended; returns how the program ended.
    fn reap(&self) -> Option<End> {
        while let Ok(Some(_)) = sys::signal::read(self.children.as_fd()) {}
        let mut program_end = None;
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((process, status))) = rustix::process::wait(options) {
            if process != self.program {
                continue;
            }
            if status.stopped() {
                let _told = self.control.send(&Report::Stopped, &[]);
            } else {
                program_end = Some(end_of(status));
            }
        }
        program_end
    }
}

struct Ready {
    order: bool,
    child: bool,
    call: bool,
    no_more_calls: bool,
}

/// The most that one note takes in a packet: bytes that are no text are written with four.
fn packed(observed: &Observed) -> usize {
    observed.path.as_bytes().len().saturating_mul(4).saturating_add(FIELDS_OF_A_NOTE)
}

fn end_of(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        (None, None) => End::Exited(0),
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

const MOST_OF_A_PACKET: usize = 48 * 1024;
const FIELDS_OF_A_NOTE: usize = 96;
const MOST_LATE_CALLS: usize = 64;

/// How long a supervisor may take to read what a cage has used.
const LONGEST_STAY: Duration = Duration::from_secs(2);

/// How long after a program's time is over its supervisor has to end it.
const SUPERVISORS_TURN: Duration = Duration::from_secs(8);
