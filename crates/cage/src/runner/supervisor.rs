//! Watches over all programs of a runner, in one thread: what their cages report, what they write,
//! what their gatekeeper says, and when their time is over. Nothing in it waits for one of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use audit::Log;
use limits::Group;
use rustix::io::Errno;

use super::background::Background;
use super::gatekeepers::{Attended, Gatekeepers};
use super::launchers::Launchers;
use super::pump::SCRATCH;
use super::supervised::Supervised;
use super::watch::{Alarm, Key, Subject, Watch};
use crate::GRACE;
use crate::error::RunError;
use crate::gatekeeper::Gatekeeper;
use crate::outcome::EndReason;
use crate::program::{Body, Heard};
use crate::workspaces::MEASURED_EVERY;

/// What the threads of a runner share.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) watch: Arc<Watch>,
    pub(super) gatekeepers: Gatekeepers,
    pub(super) launchers: Launchers,
    pub(super) log: Arc<Log>,
    pub(super) background: Background,
    table: Mutex<Table>,
    /// Told when a program has ended.
    fewer: Condvar,
    next_key: AtomicU64,
}

/// The programs of a runner.
#[derive(Debug, Default)]
struct Table {
    programs: BTreeMap<Key, Arc<Supervised>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// Nothing more is started.
    Closing,
    /// The supervisor's thread ends.
    Closed,
}

impl Supervisor {
    pub(super) fn new(
        watch: Arc<Watch>,
        launchers: Launchers,
        gatekeepers: Gatekeepers,
        (log, background): (Arc<Log>, Background),
    ) -> Self {
        Self {
            watch,
            log,
            background,
            gatekeepers,
            launchers,
            table: Mutex::default(),
            fewer: Condvar::new(),
            next_key: AtomicU64::new(1),
        }
    }

    /// A key that nothing else has.
    pub(super) fn new_key(&self) -> Key {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a program can be started, by this name.
    pub(super) fn check_free(&self, invocation: &str) -> Result<(), RunError> {
        self.table().check_free(invocation)
    }

    /// Takes a program in whose gate is still shut. The time of a cage that is being built runs from now on.
    pub(super) fn take_in(&self, supervised: &Arc<Supervised>) -> Result<(), RunError> {
        let mut table = self.table();
        table.check_free(&supervised.program.invocation)?;
        table.programs.insert(supervised.key, Arc::clone(supervised));
        drop(table);
        if supervised.program.body().is_some() {
            self.begin_time(supervised);
        }
        Ok(())
    }

    /// Begins to listen to a program that runs.
    pub(super) fn listen(&self, supervised: &Supervised) -> Result<(), Errno> {
        let program = &supervised.program;
        if program.session_is_ending() {
            // Whoever ends it may have asked before this program was taken in.
            self.ask_to_end(supervised, EndReason::SessionEnded);
        }
        let Some(body) = program.body() else { return Ok(()) };
        for pump in supervised.pumps() {
            pump.begin()?;
        }
        if program.meter().is_some() {
            self.measure_later(supervised);
        }
        if let Some(network) = body.network() {
            self.watch.add(network.events(), supervised.key, Subject::Network)?;
        }
        for files in body.files().into_iter().flat_map(|files| files.events()) {
            self.watch.add(files, supervised.key, Subject::Files)?;
        }
        if let Some(limits) = program.group().as_ref().and_then(Group::watch) {
            self.watch.add(limits, supervised.key, Subject::Limits)?;
        }
        match &*body {
            Body::Caged(cage) => {
                self.watch.add(cage.child.reports(), supervised.key, Subject::Report)
            }
            Body::Direct(direct) => {
                self.begin_time(supervised);
                self.watch.add(direct.gone(), supervised.key, Subject::Gone)
            }
        }
    }

    fn begin_time(&self, supervised: &Supervised) {
        let walltime = supervised.program.walltime;
        if let Some(over) = walltime.and_then(|time| Instant::now().checked_add(time)) {
            self.watch.set_alarm(over, supervised.key, Alarm::Walltime);
        }
    }

    /// Forgets a program that did not start after all.
    pub(super) fn let_go(&self, supervised: &Supervised) {
        self.watch.clear_alarms(supervised.key);
        self.table().programs.remove(&supervised.key);
        self.fewer.notify_all();
    }

    /// Asks a program to end, and kills it later if it does not.
    pub(super) fn ask_to_end(&self, supervised: &Supervised, why: EndReason) {
        if supervised.program.ask_to_end(why) {
            self.watch.set_alarm(Instant::now() + GRACE, supervised.key, Alarm::Grace);
        }
    }

    /// Nobody will read what a program writes.
    pub(super) fn abandon(&self, supervised: &Arc<Supervised>) {
        supervised.abandon_output();
        self.forget_if_done(supervised);
    }

    /// Starts nothing more.
    pub(super) fn begin_closing(&self) {
        let mut table = self.table();
        if table.stage == Stage::Open {
            table.stage = Stage::Closing;
        }
    }

    /// Whether nothing more is started.
    pub(super) fn is_closing(&self) -> bool {
        self.table().stage != Stage::Open
    }

    /// Asks the programs to end whose session somebody has begun to end. Returns how many.
    pub(super) fn heed_session_ends(&self) -> usize {
        let ending: Vec<_> = self
            .living()
            .into_iter()
            .filter(|supervised| supervised.program.session_is_ending())
            .collect();
        for supervised in &ending {
            self.ask_to_end(supervised, EndReason::SessionEnded);
        }
        ending.len()
    }

    /// Every program that has not ended.
    pub(super) fn living(&self) -> Vec<Arc<Supervised>> {
        let table = self.table();
        table
            .programs
            .values()
            .filter(|supervised| supervised.result().is_none())
            .cloned()
            .collect()
    }

    /// Waits until every program has ended.
    pub(super) fn wait_for_all(&self) {
        let mut table = self.table();
        while table.programs.values().any(|supervised| supervised.result().is_none()) {
            table = self.fewer.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the thread end.
    pub(super) fn close(&self) {
        self.table().stage = Stage::Closed;
        self.watch.wake();
    }

    /// Ends the processes that start cages and gatekeepers.
    pub(super) fn end_processes(&self) {
        self.launchers.close();
        self.gatekeepers.close();
    }

    /// The thread's life.
    pub(super) fn run(self: &Arc<Self>) {
        let mut ready = Vec::new();
        let mut scratch = vec![0_u8; SCRATCH];
        while self.table().stage != Stage::Closed {
            if self.watch.wait(&mut ready).is_err() {
                return;
            }
            for (key, subject) in ready.drain(..) {
                self.attend(key, subject, &mut scratch);
            }
            for (key, alarm) in self.watch.due() {
                self.ring(key, alarm, &mut scratch);
            }
        }
    }

    fn attend(self: &Arc<Self>, key: Key, subject: Subject, scratch: &mut [u8]) {
        let Some(supervised) = self.find(key) else {
            if self.gatekeepers.attend(key, subject, &self.watch) == Attended::Lost {
                self.record_lost_gatekeeper();
            }
            return;
        };
        match subject {
            Subject::Report => self.hear_report(&supervised),
            Subject::Gone => self.note_gone(&supervised, scratch),
            Subject::Network => self.hear_network(&supervised, scratch),
            Subject::Stdout | Subject::Stderr => {
                let pump = if subject == Subject::Stdout {
                    &supervised.stdout
                } else {
                    &supervised.stderr
                };
                if let Some(pump) = pump {
                    pump.take(scratch);
                }
                self.forget_if_done(&supervised);
            }
            // The kernel kills one process for want of memory or all of them; here it is always all.
            Subject::Limits if supervised.program.is_out_of_memory() => {
                supervised.program.kill(EndReason::Oom)
            }
            Subject::Limits => {}
            Subject::Files => self.hear_files(&supervised),
            Subject::Wake | Subject::Resolvers => {}
        }
    }

    fn ring(self: &Arc<Self>, key: Key, alarm: Alarm, scratch: &mut [u8]) {
        let Some(supervised) = self.find(key) else { return };
        match alarm {
            Alarm::Walltime if self.has_ended_meanwhile(&supervised, scratch) => {}
            Alarm::Walltime => self.ask_to_end(&supervised, EndReason::WalltimeExceeded),
            Alarm::Grace => supervised.program.kill(EndReason::Cancelled),
            Alarm::Measure => self.measure(supervised),
            Alarm::Account => {
                supervised.end().network_is_reported = true;
                self.conclude_if_done(&supervised, scratch);
            }
        }
    }

    /// Has what a program writes to layers measured, now and again as long as it runs.
    fn measure(self: &Arc<Self>, supervised: Arc<Supervised>) {
        let supervisor = Arc::clone(self);
        self.background.send(Box::new(move || {
            let program = &supervised.program;
            if program.life().end.is_some() {
                return;
            }
            if program.has_written_too_much() {
                program.kill(EndReason::WorkspaceFull);
            } else {
                supervisor.measure_later(&supervised);
            }
        }));
    }

    fn measure_later(&self, supervised: &Supervised) {
        self.watch.set_alarm(Instant::now() + MEASURED_EVERY, supervised.key, Alarm::Measure);
    }

    /// Whether a program has ended by itself while nobody looked, as when this process was stopped: then
    /// it has supervised its time.
    fn has_ended_meanwhile(
        self: &Arc<Self>,
        supervised: &Arc<Supervised>,
        scratch: &mut [u8],
    ) -> bool {
        for _ in 0..MOST_REPORTS {
            let Some(body) = supervised.program.body() else { return true };
            match &*body {
                Body::Caged(cage) if cage.child.has_report() => self.hear_report(supervised),
                Body::Direct(direct) if direct.has_ended() => self.note_gone(supervised, scratch),
                Body::Caged(_) | Body::Direct(_) => break,
            }
            if supervised.program.life().end.is_some() {
                return true;
            }
        }
        supervised.program.life().end.is_some()
    }

    /// Takes what pid 1 of a cage says.
    fn hear_report(&self, supervised: &Supervised) {
        if supervised.program.hear() != Heard::Ended {
            return;
        }
        let Some(body) = supervised.program.body() else { return };
        let Body::Caged(cage) = &*body else { return };
        self.watch.remove(cage.child.reports());
        if let Some(network) = body.network() {
            network.begin_finish();
            self.watch.set_alarm(Instant::now() + ACCOUNT, supervised.key, Alarm::Account);
        }
        if self.watch.add(cage.child.gone(), supervised.key, Subject::Gone).is_err() {
            // Without a descriptor left to wait for, waiting here is what remains.
            let _gone = cage.child.wait_until_gone();
            supervised.end().is_gone = true;
        }
    }

    /// Records which mounts are not served any more. A cage that cannot be recorded any more is ended. K240
    fn hear_files(&self, supervised: &Supervised) {
        let Some(body) = supervised.program.body() else { return };
        let Some(files) = body.files() else { return };
        let recorder = &supervised.program.recorder;
        files.events().for_each(|descriptor| self.watch.remove(descriptor));
        let recorded: Result<Vec<()>, _> =
            files.lost().into_iter().map(|lost| recorder.mount_lost(lost)).collect();
        self.background.note();
        if recorded.is_err() {
            supervised.program.kill(EndReason::SupervisorLost);
        }
        for descriptor in files.events() {
            // One that cannot be watched is heard of by who uses its files.
            let _unwatched = self.watch.add(descriptor, supervised.key, Subject::Files);
        }
    }

    fn note_gone(self: &Arc<Self>, supervised: &Arc<Supervised>, scratch: &mut [u8]) {
        let Some(body) = supervised.program.body() else { return };
        match &*body {
            Body::Caged(cage) => self.watch.remove(cage.child.gone()),
            Body::Direct(direct) => {
                self.watch.remove(direct.gone());
                supervised.program.hear();
            }
        }
        supervised.end().is_gone = true;
        // The last one who holds it lets it go before anybody is told.
        drop(body);
        self.conclude_if_done(supervised, scratch);
    }

    fn hear_network(self: &Arc<Self>, supervised: &Arc<Supervised>, scratch: &mut [u8]) {
        let Some(body) = supervised.program.body() else { return };
        let Some(network) = body.network() else { return };
        let is_there = network.hear();
        let recorder = &supervised.program.recorder;
        let record = |event| {
            body.tell_program(&event);
            recorder.network(event)
        };
        let recorded: Result<Vec<()>, _> = network.take_events().into_iter().map(record).collect();
        self.background.note();
        if recorded.is_err() {
            // What cannot be recorded must not go on.
            supervised.program.kill(EndReason::SupervisorLost);
        }
        if !is_there || network.has_account() {
            self.watch.remove(network.events());
            supervised.end().network_is_reported = true;
            drop(body);
            self.conclude_if_done(supervised, scratch);
        }
    }

    /// Lets go of a program of which nothing is left, and tells whoever waits. What takes its time is done
    /// elsewhere first: a look at what the program has left, and removing what a session of a single run
    /// has supervised.
    fn conclude_if_done(self: &Arc<Self>, supervised: &Arc<Supervised>, scratch: &mut [u8]) {
        let program = &supervised.program;
        let mut end = supervised.end();
        if end.is_judged || !end.is_gone || !end.network_is_reported || program.life().end.is_none()
        {
            return;
        }
        end.is_judged = true;
        drop(end);
        self.watch.clear_alarms(supervised.key);
        // Nobody writes any more, so this is the rest, as far as readers leave room for it.
        for pump in supervised.pumps() {
            pump.take_all(scratch);
        }
        let Some(mut ended) = program.end() else { return };
        self.background.note();
        if let Some(limits) = program.group().as_ref().and_then(Group::watch) {
            self.watch.remove(limits);
        }
        // What cannot be removed is swept at the next start.
        let _left = program.remove_group();
        // What it wrote to its mounts may still be on the way.
        let files = program.body().and_then(|body| body.files().cloned());
        supervised.release();
        let is_quick = program.leaves_nothing() && !program.is_long_to_leave() && files.is_none();
        let (supervisor, supervised) = (Arc::clone(self), Arc::clone(supervised));
        let finish = move || {
            supervised.program.look_after(&mut ended);
            if let Some(files) = files {
                supervised.program.wait_for_mounts(&files, &mut ended);
            }
            let _left = supervised.program.leave_session();
            supervisor.background.note();
            supervised.conclude(ended);
            supervisor.forget_if_done(&supervised);
            // Whoever waits for all looks at them under this lock.
            drop(supervisor.table());
            supervisor.fewer.notify_all();
        };
        if is_quick {
            finish();
        } else {
            self.background.send(Box::new(finish));
        }
    }

    /// The gatekeeper that serves cages now.
    pub(super) fn gatekeeper(&self) -> Result<Arc<Gatekeeper>, RunError> {
        let (gatekeeper, attended) = self.gatekeepers.one(self.new_key(), &self.watch);
        if attended == Attended::Lost {
            self.record_lost_gatekeeper();
        }
        gatekeeper
    }

    fn record_lost_gatekeeper(&self) {
        let has_network = |supervised: &Arc<Supervised>| {
            supervised.program.body().is_some_and(|body| body.network().is_some())
        };
        let cages = self.living().iter().filter(|supervised| has_network(supervised)).count();
        let cages = u64::try_from(cages).unwrap_or(u64::MAX);
        let details = "it ended before its cages, which have no network any more".into();
        // A log that fails refuses the next start.
        let _failed = self.log.append(&audit::Event::GatekeeperLost { details, cages });
        self.background.note();
    }

    /// Forgets a program that has ended and has nothing more to say.
    fn forget_if_done(&self, supervised: &Arc<Supervised>) {
        if supervised.result().is_some() && supervised.pumps().all(super::pump::Pump::is_done) {
            self.table().programs.remove(&supervised.key);
        }
    }

    fn find(&self, key: Key) -> Option<Arc<Supervised>> {
        self.table().programs.get(&key).cloned()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A thread that panicked while it held the lock has left the table as it was.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Whether a program can be started, by this name.
    fn check_free(&self, invocation: &str) -> Result<(), RunError> {
        if self.stage != Stage::Open {
            return Err(RunError::Closing);
        }
        match self.programs.values().any(|other| other.program.invocation == invocation) {
            true => Err(RunError::Duplicate { invocation_id: invocation.to_owned() }),
            false => Ok(()),
        }
    }
}

/// How long a gatekeeper may take to tell the account of a cage that has ended.
const ACCOUNT: Duration = Duration::from_secs(2);

/// So many reports of a program that stops and goes on are heard before its time counts.
const MOST_REPORTS: usize = 16;
