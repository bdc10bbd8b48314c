//! One program, from before its gate opens until nothing of it is left: what holds it, what it is held
//! to, and how far its life has come. Decides nothing about when what happens; that is for whoever
//! supervises it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aftermath::Aftermath;
use gate::event::EventKind;
use jail::launcher::Launcher;
use jail::{Child, End, Layers, Report};
use limits::{Group, Usage};
use plan::{LimitsPlan, Plan};
use prepare::Grounds;
use rustix::io::Errno;
use rustix::process::Pid;
use session::{Life as SessionLife, Session, SessionError};
use workspace::{Meter, WorkspaceError, Writing};

use crate::direct::Direct;
use crate::gatekeeper::Registration;
use crate::kept;
use crate::model_service::ModelService;
use crate::mounts::FileServers;
use crate::observations::Noted;
use crate::outcome::{DeniedCall, EndReason, NetworkOutcome};
use crate::record::{self, Recorder};

/// One program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) invocation: String,
    pub(crate) recorder: Arc<Recorder>,
    /// None without a cage.
    pub(crate) plan: Option<Arc<Plan>>,
    /// What it is held to; without a cage its time alone.
    pub(crate) limits: LimitsPlan,
    /// Its longest life.
    pub(crate) walltime: Option<Duration>,
    /// None without a cage.
    pub(crate) aftermath: Option<Arc<Aftermath>>,
    /// Why its cage is as it is, where its calls are noted.
    pub(crate) grounds: Option<Arc<Grounds>>,
    life: Mutex<Life>,
    /// Let go of before the group, which can only be removed when nothing is in it.
    body: Mutex<Option<Arc<Body>>>,
    group: Mutex<Option<Group>>,
    stay: Mutex<Stay>,
    /// Measures what it writes to layers, if it has any.
    meter: Mutex<Option<Meter>>,
}

/// What holds a program.
#[derive(Debug)]
pub(crate) enum Body {
    /// A cage.
    Caged(Box<Caged>),
    /// A process group of its own. The program may be another one that builds a cage.
    Direct(Direct),
}

/// A cage.
#[derive(Debug)]
pub(crate) struct Caged {
    pub(crate) child: Child,
    /// What started it, where that is another process.
    pub(crate) launcher: Option<Arc<Launcher>>,
    /// The cage at its gatekeeper, if it has a network.
    pub(crate) network: Option<Registration>,
    /// What serves the model to it, if it may use one: ends when it is dropped.
    pub(crate) _model: Option<ModelService>,
    /// Who serves its mounts. They go when the cage is gone.
    pub(crate) files: Arc<FileServers>,
}

/// How far a program's life has come.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// When its first instruction ran; none as long as it has not.
    pub(crate) started: Option<Instant>,
    pub(crate) layers: Option<Layers>,
    /// Why it was ended, if that was decided here. The first reason stays.
    pub(crate) why: Option<EndReason>,
    /// What pid 1 has told of its calls.
    pub(crate) noted: Noted,
    /// How the program ended.
    pub(crate) end: Option<ProgramEnd>,
}

/// What is known when a program has ended.
#[derive(Clone, Debug)]
pub(crate) struct ProgramEnd {
    pub(crate) end: End,
    pub(crate) denials: Vec<DeniedCall>,
    /// What a cage without any network asked about.
    pub(crate) asked: Option<NetworkOutcome>,
    pub(crate) at: Instant,
}

impl ProgramEnd {
    /// The end of a program of which nothing else is known.
    fn of(end: End) -> Self {
        Self { end, denials: Vec::new(), asked: None, at: Instant::now() }
    }
}

/// What a program's body said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    /// The program stopped on a terminal signal.
    Stopped,
    /// The program has ended. Pid 1 of its cage may still be ending.
    Ended,
}

/// What a program has beside its body.
pub(crate) struct Belongings {
    pub(crate) invocation: String,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) plan: Option<Arc<Plan>>,
    pub(crate) limits: LimitsPlan,
    pub(crate) walltime: Option<Duration>,
    pub(crate) group: Option<Group>,
}

impl Belongings {
    /// What the program in a cage has that is held to no limit but its time.
    pub(crate) fn of_cage(plan: Arc<Plan>, recorder: Arc<Recorder>) -> Self {
        let (invocation, limits) = (plan.start.invocation.clone(), plan.walls.limits);
        let walltime = limits.walltime_sec.map(Duration::from_secs);
        Self { invocation, recorder, plan: Some(plan), limits, walltime, group: None }
    }
}

impl Program {
    /// A program whose gate is shut. One without a cage has no body before it runs.
    pub(crate) fn new(
        belongings: Belongings,
        body: Option<Body>,
        stay: Stay,
        (aftermath, grounds): (Option<Arc<Aftermath>>, Option<Arc<Grounds>>),
    ) -> Self {
        let Belongings { invocation, recorder, plan, limits, walltime, group } = belongings;
        // Areas that cannot be opened any more were opened a moment ago, by us.
        let meter = stay.session.as_ref().zip(limits.workspace_mb);
        let meter = meter.and_then(|(session, most_mb)| kept::meter(session, most_mb).ok());
        Self {
            invocation,
            recorder,
            plan,
            limits,
            walltime,
            aftermath,
            grounds,
            stay: Mutex::new(stay),
            meter: Mutex::new(meter),
            group: Mutex::new(group),
            body: Mutex::new(body.map(Arc::new)),
            life: Mutex::default(),
        }
    }

    /// What holds the program; none before it runs and once it has been let go.
    pub(crate) fn body(&self) -> Option<Arc<Body>> {
        lock(&self.body).clone()
    }

    pub(crate) fn life(&self) -> MutexGuard<'_, Life> {
        lock(&self.life)
    }

    /// Where it is held to its limits, until that is removed.
    pub(crate) fn group(&self) -> MutexGuard<'_, Option<Group>> {
        lock(&self.group)
    }

    /// Whether it has run into its limit of memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        let usage = |group: &Group| group.counts().then(|| group.usage());
        self.group().as_ref().and_then(usage).is_some_and(|usage| usage.is_out_of_memory())
    }

    /// What measures its layers, if it has any.
    pub(crate) fn meter(&self) -> MutexGuard<'_, Option<Meter>> {
        lock(&self.meter)
    }

    /// Asks something of the session that it is in, if it is in one.
    pub(crate) fn with_session<T>(&self, ask: impl FnOnce(&Session) -> T) -> Option<T> {
        lock(&self.stay).session.as_ref().map(ask)
    }

    /// Whether somebody has begun to end the program's session.
    pub(crate) fn session_is_ending(&self) -> bool {
        self.with_session(Session::is_ending).unwrap_or_default()
    }

    /// Records that the program's session has begun, if it has just done so.
    pub(crate) fn record_session(&self) -> Result<(), audit::AuditError> {
        match &lock(&self.stay).session {
            Some(session) => self.recorder.session_begun(session),
            None => Ok(()),
        }
    }

    /// Has no apply make files where the program may write, until it has left the session. After its first process was
    /// made, which starts it with the limit of descriptors that the caller has.
    pub(crate) fn hold_applies_off(&self) -> Result<(), WorkspaceError> {
        if let Some(plan) = &self.plan {
            lock(&self.stay).writing = Some(Writing::begin(&plan.walls.watched)?);
        }
        Ok(())
    }

    /// Whether leaving the session may take long, because everything that it has kept is removed.
    pub(crate) fn is_long_to_leave(&self) -> bool {
        self.with_session(|session| session.life() != SessionLife::Kept).unwrap_or_default()
    }

    /// Has a program of which nothing is left leave its session, which may end with that.
    pub(crate) fn leave_session(&self) -> Result<(), SessionError> {
        let (session, _writes_no_more) = {
            let mut stay = lock(&self.stay);
            (stay.session.take(), stay.writing.take())
        };
        let Some(session) = session else { return Ok(()) };
        let id = session.id().clone();
        if session.leave()? {
            self.recorder.session_ended(&id);
        }
        Ok(())
    }

    /// Puts the program into a body that starts it, unless it is to end before it has begun.
    pub(crate) fn begin_with<E>(
        &self,
        start: impl FnOnce() -> Result<Direct, E>,
    ) -> Result<Option<Pid>, E> {
        let mut life = self.life();
        if life.why.is_some() {
            return Ok(None);
        }
        let direct = start()?;
        let pid = direct.pid;
        *lock(&self.body) = Some(Arc::new(Body::Direct(direct)));
        life.started = Some(Instant::now());
        Ok(Some(pid))
    }

    /// Takes what the body says, without waiting once it has something to say.
    pub(crate) fn hear(&self) -> Heard {
        let Some(body) = self.body() else { return Heard::Nothing };
        match &*body {
            Body::Direct(direct) if direct.has_ended() => {
                let mut life = self.life();
                // As long as it is not reaped nobody else can have its number.
                if life.end.is_none() {
                    life.end = Some(ProgramEnd::of(direct.reap()));
                }
                Heard::Ended
            }
            Body::Direct(_) => Heard::Nothing,
            Body::Caged(cage) => self.hear_cage(&cage.child),
        }
    }

    /// Takes what pid 1 says. It lives in the cage: whatever makes no sense is its end.
    fn hear_cage(&self, child: &Child) -> Heard {
        // First of all, as long as pid 1 is in it: systemd removes a scope with its last process, and
        // its counters too.
        if let Some(group) = &*self.group() {
            group.keep_usage();
        }
        let end = match child.next_report() {
            Ok(Some((Report::Ended { end, denials, lookups }, _))) => ProgramEnd {
                denials: denials.iter().map(DeniedCall::from).collect(),
                asked: NetworkOutcome::of_lookups(&lookups),
                ..ProgramEnd::of(end)
            },
            Ok(Some((Report::Stopped, _))) => return Heard::Stopped,
            Ok(Some((Report::Observed { observed, unlisted }, _))) => {
                self.life().noted.take(observed, unlisted);
                return Heard::Nothing;
            }
            Err(Errno::INTR) => return Heard::Nothing,
            Ok(Some(_) | None) | Err(_) => {
                child.kill();
                // Pid 1 ends a program whose supervisor was stopped, and cannot tell why.
                self.note_time_over();
                ProgramEnd::of(End::Signalled(libc::SIGKILL))
            }
        };
        child.dismiss();
        self.life().end = Some(end);
        Heard::Ended
    }

    /// Sends a signal to the program, if it still runs.
    pub(crate) fn signal(&self, signal: i32) -> Result<(), Errno> {
        self.while_it_runs(|_, body| body.signal(signal)).unwrap_or(Err(Errno::SRCH))
    }

    /// Lets a stopped program go on.
    pub(crate) fn resume(&self) {
        // One that is gone needs nothing.
        self.while_it_runs(|_, body| body.resume());
    }

    /// Kills everything that can be killed of it.
    pub(crate) fn kill(&self, why: EndReason) {
        self.while_it_runs(|life, body| {
            life.why.get_or_insert(why);
            body.kill();
        });
    }

    /// Asks the program to end; a stopped one is let go on, or it would not hear. One that has not begun
    /// never does. False if it has ended already.
    pub(crate) fn ask_to_end(&self, why: EndReason) -> bool {
        let mut life = self.life();
        if life.end.is_some() {
            return false;
        }
        let Some(body) = self.body() else {
            life.why.get_or_insert(why);
            return true;
        };
        // What has ended already was not ended by this.
        let is_orphan = body.has_lost_its_launcher();
        life.why.get_or_insert(if is_orphan { EndReason::SupervisorLost } else { why });
        if life.started.is_none() {
            // Nobody is there yet who could be asked.
            body.kill();
        } else {
            // One that is gone by now was asked for.
            let _gone = body.signal(libc::SIGTERM);
            body.resume();
        }
        true
    }

    /// Has the time be why the program ends, if it is over.
    pub(crate) fn note_time_over(&self) {
        let walltime = self.walltime;
        let mut life = self.life();
        let ran = life.started.map(|started| started.elapsed());
        if walltime.is_some_and(|most| ran.is_some_and(|ran| ran >= most)) {
            life.why.get_or_insert(EndReason::WalltimeExceeded);
        }
    }

    /// Does something to a program that has not ended, which it cannot do meanwhile: the number of
    /// one that was reaped may be another's.
    pub(crate) fn while_it_runs<T>(&self, act: impl FnOnce(&mut Life, &Body) -> T) -> Option<T> {
        let mut life = self.life();
        if life.end.is_some() {
            return None;
        }
        let body = self.body()?;
        Some(act(&mut life, &body))
    }

    /// Lets go of what holds the program, which ends it.
    pub(crate) fn release(&self) {
        let held = lock(&self.body).take();
        drop(held);
    }

    /// What the program has used, as far as it was counted.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.group().as_ref().filter(|group| group.counts()).map(Group::usage)
    }
}

/// A program's stay in a session, if it is in one, and among the directories of the host. Dropping it leaves the session, and ends one of a
/// single run.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    pub(crate) session: Option<Session>,
    /// Where its cage may write.
    pub(crate) writing: Option<Writing>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        // What cannot be removed is swept at the next start.
        let _left = self.session.take().map(Session::leave);
    }
}

impl Body {
    /// Has the program in a cage find what the gatekeeper refused it.
    pub(crate) fn tell_program(&self, event: &EventKind) {
        if let (Self::Caged(cage), Some(refused)) = (self, record::refused(event)) {
            cage.child.tell_refused(refused);
        }
    }

    /// Who serves the mounts of the cage.
    pub(crate) fn files(&self) -> Option<&Arc<FileServers>> {
        match self {
            Self::Caged(cage) => Some(&cage.files).filter(|files| !files.is_empty()),
            Self::Direct(_) => None,
        }
    }

    /// The cage at its gatekeeper.
    pub(crate) fn network(&self) -> Option<&Registration> {
        match self {
            Self::Caged(cage) => cage.network.as_ref(),
            Self::Direct(_) => None,
        }
    }

    /// Whether it is a cage whose launcher is gone, which took it along.
    pub(crate) fn has_lost_its_launcher(&self) -> bool {
        match self {
            Self::Caged(cage) => cage.launcher.as_ref().is_some_and(|launcher| launcher.is_gone()),
            Self::Direct(_) => false,
        }
    }

    fn signal(&self, signal: i32) -> Result<(), Errno> {
        match self {
            Self::Caged(cage) => cage.child.signal(signal),
            Self::Direct(direct) => direct.signal(signal),
        }
    }

    fn resume(&self) {
        // Already gone is as good.
        let _gone = match self {
            Self::Caged(cage) => cage.child.resume(),
            Self::Direct(direct) => direct.signal(libc::SIGCONT),
        };
    }

    fn kill(&self) {
        match self {
            Self::Caged(cage) => cage.child.kill(),
            Self::Direct(direct) => {
                // Already gone is what was wanted.
                let _gone = direct.signal(libc::SIGKILL);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while it held the lock has left the state as it was.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
