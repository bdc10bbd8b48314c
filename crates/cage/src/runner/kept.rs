//! One program that a runner watches over, from before its gate opens until nothing of it is left.
//! Holds its handles and its state; decides nothing about when what happens.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use jail::launcher::Launcher;
use jail::{Born, End, Layers};
use limits::Group;
use plan::{LimitsPlan, Plan};
use rustix::io::Errno;
use rustix::process::Pid;

use super::ended::Ended;
use super::pump::Pump;
use super::uncaged::Direct;
use super::watch::Key;
use crate::gatekeeper::{NetworkOutcome, Registration};
use crate::outcome::{DeniedCall, EndReason};
use crate::record::Recorder;
use crate::session::{Life as SessionLife, Session};

/// One program.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) key: Key,
    pub(super) invocation_id: String,
    pub(super) recorder: Arc<Recorder>,
    pub(super) plan: Option<Arc<Plan>>,
    /// What it is held to; without a cage its time alone.
    pub(super) limits: LimitsPlan,
    pub(super) pid: Pid,
    pub(super) stdin: Mutex<Option<OwnedFd>>,
    pub(super) stdout: Option<Pump>,
    pub(super) stderr: Option<Pump>,
    /// The program's terminal, if it has one; let go with the program.
    pub(super) terminal: Option<Mutex<Option<OwnedFd>>>,
    body: Mutex<Option<Arc<Body>>>,
    stay: Mutex<Stay>,
    life: Mutex<Life>,
    changed: Condvar,
}

/// What holds a program.
#[derive(Debug)]
pub(super) enum Body {
    /// A cage.
    Caged(Box<Caged>),
    /// Nothing but its process group.
    Uncaged(Direct),
}

/// A cage.
#[derive(Debug)]
pub(super) struct Caged {
    pub(super) born: Born,
    /// What bore it.
    pub(super) launcher: Arc<Launcher>,
    /// At its gatekeeper, if it has a network.
    pub(super) network: Option<Registration>,
    /// Where it is held to its limits, until it is removed.
    pub(super) group: Mutex<Option<Group>>,
}

impl Caged {
    pub(super) fn group(&self) -> MutexGuard<'_, Option<Group>> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has run into its limit of memory.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.group().as_ref().is_some_and(|group| group.usage().is_out_of_memory())
    }
}

/// How far a program's life has come.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// When its first instruction ran; none as long as it has not.
    pub(super) started: Option<Instant>,
    pub(super) layers: Option<Layers>,
    /// Why it was ended, if that was decided here. The first reason stays.
    pub(super) why: Option<EndReason>,
    /// How the program ended.
    pub(super) end: Option<ProgramEnd>,
    /// Whether nothing of its cage runs any more.
    pub(super) gone: bool,
    /// Whether its gatekeeper has nothing more to say, or there is none.
    pub(super) network_is_told: bool,
    result: Option<Arc<Ended>>,
    wakers: Vec<Waker>,
}

/// What is known when a program has ended.
#[derive(Clone, Debug)]
pub(super) struct ProgramEnd {
    pub(super) end: End,
    pub(super) denials: Vec<DeniedCall>,
    /// What a cage without any network asked about.
    pub(super) asked: Option<NetworkOutcome>,
    pub(super) at: Instant,
}

impl Body {
    /// Readable when nothing of it runs any more.
    pub(super) fn gone(&self) -> BorrowedFd<'_> {
        match self {
            Self::Caged(cage) => cage.born.gone(),
            Self::Uncaged(direct) => direct.gone(),
        }
    }

    /// Whether it is a cage whose launcher is gone, which took it along.
    pub(super) fn has_lost_its_launcher(&self) -> bool {
        match self {
            Self::Caged(cage) => cage.launcher.is_gone(),
            Self::Uncaged(_) => false,
        }
    }

    /// The cage at its gatekeeper.
    pub(super) fn network(&self) -> Option<&Registration> {
        match self {
            Self::Caged(cage) => cage.network.as_ref(),
            Self::Uncaged(_) => None,
        }
    }

    fn signal(&self, signal: i32) -> Result<(), Errno> {
        match self {
            Self::Caged(cage) => cage.born.signal(signal),
            Self::Uncaged(direct) => direct.signal(signal),
        }
    }

    fn kill(&self) {
        match self {
            Self::Caged(cage) => cage.born.kill(),
            Self::Uncaged(direct) => {
                // Already gone is what was wanted.
                let _gone = direct.signal(libc::SIGKILL);
            }
        }
    }
}

/// A program's stay in a session, if it is in one. Dropping it leaves the session, and ends one of a
/// single run.
#[derive(Debug, Default)]
pub(super) struct Stay(Option<Session>);

impl Stay {
    pub(super) fn in_session(session: Option<Session>) -> Self {
        Self(session)
    }

    /// Whether leaving may take long, because everything that the session has kept is removed.
    pub(super) fn is_long_to_leave(&self) -> bool {
        self.0.as_ref().is_some_and(|session| session.life() == SessionLife::OneRun)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        // What cannot be removed is swept at the next start.
        let _left = self.0.take().map(Session::leave);
    }
}

/// The ends of a program's streams that stay outside.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<Pump>,
    pub(super) stderr: Option<Pump>,
    pub(super) terminal: Option<OwnedFd>,
}

impl Kept {
    pub(super) fn new(
        key: Key,
        invocation_id: String,
        recorder: Arc<Recorder>,
        plan: Option<Arc<Plan>>,
        (pid, body): (Pid, Body),
        ends: Ends,
    ) -> Self {
        let network_is_told = body.network().is_none();
        let Ends { stdin, stdout, stderr, terminal } = ends;
        Self {
            key,
            invocation_id,
            recorder,
            limits: plan.as_ref().map(|plan| plan.limits).unwrap_or_default(),
            plan,
            pid,
            stdin: Mutex::new(stdin),
            stdout,
            stderr,
            terminal: terminal.map(|terminal| Mutex::new(Some(terminal))),
            body: Mutex::new(Some(Arc::new(body))),
            stay: Mutex::default(),
            life: Mutex::new(Life { network_is_told, ..Life::default() }),
            changed: Condvar::new(),
        }
    }

    /// What holds the program; none once it has been let go.
    pub(super) fn body(&self) -> Option<Arc<Body>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for a program without a cage that has so long to live. K162
    pub(super) fn living(self, walltime: Option<Duration>) -> Self {
        let walltime_sec = walltime.map(|time| time.as_secs());
        Self { limits: LimitsPlan { walltime_sec, ..self.limits }, ..self }
    }

    /// The same in a session.
    pub(super) fn in_session(self, stay: Stay) -> Self {
        Self { stay: Mutex::new(stay), ..self }
    }

    /// The program's stay in its session, which it is to leave.
    pub(super) fn take_stay(&self) -> Stay {
        std::mem::take(&mut *self.stay.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether somebody has begun to end the program's session.
    pub(super) fn session_is_ending(&self) -> bool {
        let stay = self.stay.lock().unwrap_or_else(PoisonError::into_inner);
        stay.0.as_ref().is_some_and(Session::is_ending)
    }

    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        // A thread that panicked while it held the lock has left the state as it was.
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pumps(&self) -> impl Iterator<Item = &Pump> {
        self.stdout.iter().chain(&self.stderr)
    }

    /// Sends a signal to the program, if it still runs.
    pub(super) fn signal(&self, signal: i32) -> Result<(), Errno> {
        self.while_it_runs(|_, body| body.signal(signal)).unwrap_or(Err(Errno::SRCH))
    }

    /// Kills everything that can be killed of it.
    pub(super) fn kill(&self, why: EndReason) {
        self.while_it_runs(|life, body| {
            life.why.get_or_insert(why);
            body.kill();
        });
    }

    /// Asks the program to end; a stopped one is let go on, or it would not hear. False if it has
    /// ended already.
    pub(super) fn ask_to_end(&self, why: EndReason) -> bool {
        let asked = self.while_it_runs(|life, body| {
            // What has ended already was not ended by this.
            let is_orphan = body.has_lost_its_launcher();
            life.why.get_or_insert(if is_orphan { EndReason::SupervisorLost } else { why });
            if life.started.is_none() {
                // Nobody is there yet who could be asked.
                return body.kill();
            }
            // One that is gone by now was asked for.
            let _gone = body.signal(libc::SIGTERM);
            let _gone = body.signal(libc::SIGCONT);
        });
        asked.is_some()
    }

    /// Has the time be why the program ends, if it is over.
    pub(super) fn note_time_over(&self) {
        let walltime = self.limits.walltime_sec;
        let mut life = self.life();
        let ran = life.started.map(|started| started.elapsed().as_secs());
        if walltime.is_some_and(|most| ran.is_some_and(|ran| ran >= most)) {
            life.why.get_or_insert(EndReason::WalltimeExceeded);
        }
    }

    /// Does something to a program that has not ended, which it cannot do meanwhile: the number of
    /// one that was reaped may be another's.
    pub(super) fn while_it_runs<T>(&self, act: impl FnOnce(&mut Life, &Body) -> T) -> Option<T> {
        let body = self.body()?;
        let mut life = self.life();
        if life.end.is_some() {
            return None;
        }
        Some(act(&mut life, &body))
    }

    /// Lets go of what holds the program, which ends it.
    pub(super) fn release(&self) {
        let held = self.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(held);
        if let Some(terminal) = &self.terminal {
            drop(terminal.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    /// Lets go of what held the program and tells everybody who waits.
    pub(super) fn conclude(&self, ended: Ended) {
        self.release();
        let mut life = self.life();
        life.result = Some(Arc::new(ended));
        let wakers = std::mem::take(&mut life.wakers);
        drop(life);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The end, if it has come.
    pub(super) fn result(&self) -> Option<Arc<Ended>> {
        self.life().result.clone()
    }

    /// Waits for the end.
    pub(super) fn wait(&self) -> Arc<Ended> {
        let mut life = self.life();
        loop {
            if let Some(result) = &life.result {
                return Arc::clone(result);
            }
            life = self.changed.wait(life).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The end, or a waker for when it comes.
    pub(super) fn result_or_wake(&self, waker: &Waker) -> Option<Arc<Ended>> {
        let mut life = self.life();
        if life.result.is_none() && !life.wakers.iter().any(|known| known.will_wake(waker)) {
            life.wakers.push(waker.clone());
        }
        life.result.clone()
    }
}
