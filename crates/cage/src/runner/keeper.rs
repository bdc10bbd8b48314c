//! Watches over all programs of a runner, in one thread: what their cages report, what they write,
//! what their gatekeeper says, and when their time is over. Nothing in it waits for one of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use audit::Log;
use jail::{End, Report};
use limits::{Group, Usage};
use rustix::io::Errno;

use super::clerk::Clerk;
use super::ended::Ended;
use super::error::RunError;
use super::gatekeepers::{Attended, Gatekeepers};
use super::kept::{Body, Kept, ProgramEnd};
use super::launchers::Launchers;
use super::pump::SCRATCH;
use super::watch::{Alarm, Key, Subject, Watch};
use crate::GRACE;
use crate::gatekeeper::{Gatekeeper, NetworkOutcome};
use crate::kind::with_causes;
use crate::outcome::{DeniedCall, EndReason};
use crate::record::RecordedEnd;

/// What the threads of a runner share.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) watch: Arc<Watch>,
    pub(super) gatekeepers: Gatekeepers,
    pub(super) launchers: Launchers,
    pub(super) log: Arc<Log>,
    pub(super) clerk: Clerk,
    table: Mutex<Table>,
    /// Told when a program has ended.
    fewer: Condvar,
    next_key: AtomicU64,
}

/// The programs of a runner.
#[derive(Debug, Default)]
struct Table {
    kept: BTreeMap<Key, Arc<Kept>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// Nothing more is started.
    Closing,
    /// The keeper's thread ends.
    Closed,
}

impl Keeper {
    pub(super) fn new(
        watch: Arc<Watch>,
        launchers: Launchers,
        gatekeepers: Gatekeepers,
        (log, clerk): (Arc<Log>, Clerk),
    ) -> Self {
        Self {
            watch,
            log,
            clerk,
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
    pub(super) fn check_free(&self, invocation_id: &str) -> Result<(), RunError> {
        let table = self.table();
        if table.stage != Stage::Open {
            return Err(RunError::Closing);
        }
        if table.kept.values().any(|kept| kept.invocation_id == invocation_id) {
            return Err(RunError::Duplicate { invocation_id: invocation_id.to_owned() });
        }
        Ok(())
    }

    /// Takes a program in whose gate is still shut. From now on its time runs.
    pub(super) fn take_in(
        &self,
        kept: &Arc<Kept>,
        walltime: Option<Duration>,
    ) -> Result<(), RunError> {
        let mut table = self.table();
        if table.stage != Stage::Open {
            return Err(RunError::Closing);
        }
        if table.kept.values().any(|other| other.invocation_id == kept.invocation_id) {
            let invocation_id = kept.invocation_id.clone();
            return Err(RunError::Duplicate { invocation_id });
        }
        table.kept.insert(kept.key, Arc::clone(kept));
        drop(table);
        if let Some(over) = walltime.and_then(|time| Instant::now().checked_add(time)) {
            self.watch.set_alarm(over, kept.key, Alarm::Walltime);
        }
        Ok(())
    }

    /// Begins to listen to a program that runs.
    pub(super) fn listen(&self, kept: &Kept) -> Result<(), Errno> {
        if kept.session_is_ending() {
            // Whoever ends it may have asked before this program was taken in.
            self.ask_to_end(kept, EndReason::SessionEnded);
        }
        let Some(body) = kept.body() else { return Ok(()) };
        for pump in kept.pumps() {
            pump.begin()?;
        }
        if let Some(network) = body.network() {
            self.watch.add(network.events(), kept.key, Subject::Network)?;
        }
        match &*body {
            Body::Caged(cage) => {
                if let Some(limits) = cage.group().as_ref().and_then(Group::watch) {
                    self.watch.add(limits, kept.key, Subject::Limits)?;
                }
                self.watch.add(cage.born.reports(), kept.key, Subject::Report)
            }
            Body::Uncaged(direct) => self.watch.add(direct.gone(), kept.key, Subject::Gone),
        }
    }

    /// Forgets a program that did not start after all.
    pub(super) fn let_go(&self, kept: &Kept) {
        self.watch.clear_alarms(kept.key);
        self.table().kept.remove(&kept.key);
        self.fewer.notify_all();
    }

    /// Asks a program to end, and kills it later if it does not.
    pub(super) fn ask_to_end(&self, kept: &Kept, why: EndReason) {
        if kept.ask_to_end(why) {
            self.watch.set_alarm(Instant::now() + GRACE, kept.key, Alarm::Grace);
        }
    }

    /// Nobody will read what a program writes.
    pub(super) fn abandon(&self, kept: &Arc<Kept>) {
        kept.abandon_output();
        self.forget_if_done(kept);
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

    /// Asks the programs to end whose session somebody has begun to end. Tells how many.
    pub(super) fn heed_session_ends(&self) -> usize {
        let ending: Vec<_> =
            self.living().into_iter().filter(|kept| kept.session_is_ending()).collect();
        for kept in &ending {
            self.ask_to_end(kept, EndReason::SessionEnded);
        }
        ending.len()
    }

    /// Every program that has not ended.
    pub(super) fn living(&self) -> Vec<Arc<Kept>> {
        let table = self.table();
        table.kept.values().filter(|kept| kept.result().is_none()).cloned().collect()
    }

    /// Waits until every program has ended.
    pub(super) fn wait_for_all(&self) {
        let mut table = self.table();
        while table.kept.values().any(|kept| kept.result().is_none()) {
            table = self.fewer.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the thread end.
    pub(super) fn close(&self) {
        self.table().stage = Stage::Closed;
        self.watch.wake();
    }

    /// Ends the processes that bear cages and gatekeepers.
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
        let Some(kept) = self.find(key) else {
            if self.gatekeepers.attend(key, subject, &self.watch) == Attended::Lost {
                self.record_lost_gatekeeper();
            }
            return;
        };
        match subject {
            Subject::Report => self.hear_report(&kept),
            Subject::Gone => self.note_gone(&kept, scratch),
            Subject::Network => self.hear_network(&kept, scratch),
            Subject::Stdout | Subject::Stderr => {
                let pump = if subject == Subject::Stdout { &kept.stdout } else { &kept.stderr };
                if let Some(pump) = pump {
                    pump.take(scratch);
                }
                self.forget_if_done(&kept);
            }
            Subject::Limits => note_limits(&kept),
            Subject::Wake | Subject::Resolvers => {}
        }
    }

    fn ring(self: &Arc<Self>, key: Key, alarm: Alarm, scratch: &mut [u8]) {
        let Some(kept) = self.find(key) else { return };
        match alarm {
            Alarm::Walltime if self.has_ended_meanwhile(&kept, scratch) => {}
            Alarm::Walltime => self.ask_to_end(&kept, EndReason::WalltimeExceeded),
            Alarm::Grace => kept.kill(EndReason::Cancelled),
            Alarm::Account => {
                kept.life().network_is_told = true;
                self.conclude_if_done(&kept, scratch);
            }
        }
    }

    /// Whether a program has ended by itself while nobody looked, as when this process was stopped: then
    /// it has kept its time.
    fn has_ended_meanwhile(self: &Arc<Self>, kept: &Arc<Kept>, scratch: &mut [u8]) -> bool {
        for _ in 0..MOST_REPORTS {
            let Some(body) = kept.body() else { return true };
            match &*body {
                Body::Caged(cage) if cage.born.has_report() => self.hear_report(kept),
                Body::Caged(_) => break,
                Body::Uncaged(direct) if direct.has_ended() => self.note_gone(kept, scratch),
                Body::Uncaged(_) => break,
            }
            if kept.life().end.is_some() {
                return true;
            }
        }
        kept.life().end.is_some()
    }

    /// Takes what pid 1 says. It lives in the cage: whatever makes no sense is its end.
    fn hear_report(&self, kept: &Kept) {
        let Some(body) = kept.body() else { return };
        let Body::Caged(cage) = &*body else { return };
        // First of all, as long as pid 1 is in it: when that is gone, so may be the group.
        if let Some(group) = &*cage.group() {
            group.keep_usage();
        }
        let born = &cage.born;
        let (end, denials, lookups) = match born.next_report() {
            Ok(Some((Report::Ended { end, denials, lookups }, _))) => (end, denials, lookups),
            Ok(Some((Report::Stopped, _))) | Err(Errno::INTR) => return,
            Ok(Some(_) | None) | Err(_) => {
                born.kill();
                // Pid 1 ends a program whose supervisor was stopped, and cannot tell why.
                kept.note_time_over();
                (End::Signalled(libc::SIGKILL), Vec::new(), Vec::new())
            }
        };
        born.dismiss();
        self.watch.remove(born.reports());
        let denials = denials.iter().map(DeniedCall::from).collect();
        let asked = NetworkOutcome::of_lookups(&lookups);
        kept.life().end = Some(ProgramEnd { end, denials, asked, at: Instant::now() });
        if let Some(network) = body.network() {
            network.begin_finish();
            self.watch.set_alarm(Instant::now() + ACCOUNT, kept.key, Alarm::Account);
        }
        if self.watch.add(born.gone(), kept.key, Subject::Gone).is_err() {
            // Without a descriptor left to wait for, waiting here is what remains.
            let _gone = born.wait_until_gone();
            kept.life().gone = true;
        }
    }

    fn note_gone(self: &Arc<Self>, kept: &Arc<Kept>, scratch: &mut [u8]) {
        let Some(body) = kept.body() else { return };
        self.watch.remove(body.gone());
        let mut life = kept.life();
        if let (Body::Uncaged(direct), None) = (&*body, &life.end) {
            let (end, denials, asked) = (direct.reap(), Vec::new(), None);
            life.end = Some(ProgramEnd { end, denials, asked, at: Instant::now() });
        }
        life.gone = true;
        drop(life);
        // The last one who holds it lets it go before anybody is told.
        drop(body);
        self.conclude_if_done(kept, scratch);
    }

    fn hear_network(self: &Arc<Self>, kept: &Arc<Kept>, scratch: &mut [u8]) {
        let Some(body) = kept.body() else { return };
        let Some(network) = body.network() else { return };
        let is_there = network.hear();
        let recorded: Result<Vec<()>, _> =
            network.take_events().into_iter().map(|event| kept.recorder.network(event)).collect();
        self.clerk.note();
        if recorded.is_err() {
            // What cannot be recorded must not go on.
            kept.kill(EndReason::SupervisorLost);
        }
        if !is_there || network.has_account() {
            self.watch.remove(network.events());
            kept.life().network_is_told = true;
            drop(body);
            self.conclude_if_done(kept, scratch);
        }
    }

    /// Lets go of a program of which nothing is left, and tells whoever waits. K173, K174,
    /// K175, K176, K177, K178
    fn conclude_if_done(self: &Arc<Self>, kept: &Arc<Kept>, scratch: &mut [u8]) {
        let life = kept.life();
        let (Some(program), true, true) = (life.end.clone(), life.gone, life.network_is_told)
        else {
            return;
        };
        let (started, layers, why) = (life.started, life.layers, life.why);
        drop(life);
        let Some(body) = kept.body() else { return };
        self.watch.clear_alarms(kept.key);
        // Nobody writes any more, so this is the rest, as far as readers leave room for it.
        for pump in kept.pumps() {
            pump.take_all(scratch);
        }
        let ProgramEnd { end, denials, asked, at } = program;
        let is_orphan = body.has_lost_its_launcher();
        let reason = why.unwrap_or_else(|| match end {
            End::Signalled(libc::SIGKILL) if is_orphan => EndReason::SupervisorLost,
            end => EndReason::of(end, &denials),
        });
        let duration = started.map_or(Duration::ZERO, |started| at - started);
        let network = body.network().map(crate::gatekeeper::Registration::outcome).or(asked);
        let usage = remove_group(&body, &self.watch);
        let ran_out = usage.is_some_and(|usage| usage.is_out_of_memory());
        let reason = if ran_out && why.is_none() { EndReason::Oom } else { reason };
        drop(body);
        let limits = kept.limits;
        let recorded = kept.recorder.append_end(&RecordedEnd {
            end,
            reason,
            duration,
            limits,
            usage: usage.as_ref(),
            denials: &denials,
            network: network.as_ref(),
            gatekeepers_lost: 0,
        });
        // The program has ended all the same; a log that fails refuses the next start.
        let unrecorded = recorded.err().map(|error| with_causes(&error));
        self.clerk.note();
        let ended = Ended { end, reason, duration, layers, denials, network, usage, unrecorded };
        self.conclude(kept, ended);
    }

    /// Has the program leave its session, and tells whoever waits. What the session of a single run
    /// has kept is removed first.
    fn conclude(self: &Arc<Self>, kept: &Arc<Kept>, ended: Ended) {
        kept.release();
        let keeper = Arc::clone(self);
        let (stay, kept) = (kept.take_stay(), Arc::clone(kept));
        let is_long = stay.is_long_to_leave();
        let finish = move || {
            drop(stay);
            kept.conclude(ended);
            keeper.forget_if_done(&kept);
            // Whoever waits for all looks at them under this lock.
            drop(keeper.table());
            keeper.fewer.notify_all();
        };
        if is_long {
            self.clerk.send(Box::new(finish));
        } else {
            finish();
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
        let has_network =
            |kept: &Arc<Kept>| kept.body().is_some_and(|body| body.network().is_some());
        let cages = self.living().iter().filter(|kept| has_network(kept)).count();
        let cages = u64::try_from(cages).unwrap_or(u64::MAX);
        let details = "it ended before its cages, which have no network any more".into();
        // A log that fails refuses the next start.
        let _failed = self.log.append(&audit::Event::GatekeeperLost { details, cages });
        self.clerk.note();
    }

    /// Forgets a program that has ended and has nothing more to say.
    fn forget_if_done(&self, kept: &Arc<Kept>) {
        if kept.result().is_some() && kept.pumps().all(super::pump::Pump::is_done) {
            self.table().kept.remove(&kept.key);
        }
    }

    fn find(&self, key: Key) -> Option<Arc<Kept>> {
        self.table().kept.get(&key).cloned()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A thread that panicked while it held the lock has left the table as it was.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kernel kills one process for want of memory or all of them; here it is always all.
fn note_limits(kept: &Kept) {
    let Some(body) = kept.body() else { return };
    if let Body::Caged(cage) = &*body
        && cage.is_out_of_memory()
    {
        kept.kill(EndReason::Oom);
    }
}

/// Removes the control group of a cage of which nothing is left, and tells what it has used.
fn remove_group(body: &Body, watch: &Watch) -> Option<Usage> {
    let Body::Caged(cage) = body else { return None };
    let group = cage.group().take()?;
    if let Some(limits) = group.watch() {
        watch.remove(limits);
    }
    let usage = group.counts().then(|| group.usage());
    // What cannot be removed is swept at the next start; dropping it tries once more.
    let _left = group.remove();
    usage
}

/// How long a gatekeeper may take to tell the account of a cage that has ended.
const ACCOUNT: Duration = Duration::from_secs(2);

/// So many reports of a program that stops and goes on are heard before its time counts.
const MOST_REPORTS: usize = 16;
