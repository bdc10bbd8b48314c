//! The thread of pid 1 that is handed the calls of a watched program: it lets those go on that are only to be
//! noted, answers the refused ones, and notes what the others were about. It has descriptors of its own and a
//! filter of its own, and opens nothing for writing. No answer depends on what it reads.

mod names;
mod places;
mod record;

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use plan::{GuestPath, Plan};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use sys::channel::{self, Waiting};

use crate::Denial;
use crate::control::{Observation, Observed};
use crate::journal::{Journal, Refused, RefusedKind};
use crate::seccomp::{Answerer, Filter};
use places::Places;
use record::Record;

/// What an observer has to tell when the program has ended.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) denials: Vec<Denial>,
    pub(crate) observed: Vec<Observed>,
    /// How many calls were about something that is not in the list, because there was too much.
    pub(crate) unlisted: u64,
}

/// The thread, for whoever made it.
#[derive(Debug)]
pub(crate) struct Observer {
    orders: OwnedFd,
    summaries: Receiver<Summary>,
}

impl Observer {
    /// Starts the thread, which waits for its listener. None where nothing is watched, or where it cannot be
    /// had: nothing but notes is lost without it.
    ///
    /// Comes after this thread has given up its privileges, which the new one has the same of, and before it
    /// enters the program's filter, which the new one is not to be under: it would wait for its own answers.
    pub(crate) fn start(plan: &Plan, journal: Option<Arc<Journal>>) -> Option<Self> {
        if plan.start.watch.is_nothing() {
            return None;
        }
        let (orders, inside) = channel::pair().ok()?;
        let (told, summaries) = mpsc::channel();
        let (begun, has_begun) = mpsc::channel();
        let kept = journal.as_ref().map(|journal| journal.descriptor());
        let work = Work::new(plan, journal);
        let thread = std::thread::Builder::new().stack_size(STACK);
        let started = thread.spawn(move || {
            if confine(&inside, kept).is_ok() {
                let _gone = begun.send(());
                drop(begun);
                work.live(&inside, &told);
            }
            // Only the number counts here: the table is this thread's own.
            drop(inside);
        });
        started.ok()?;
        has_begun.recv_timeout(LONGEST_WAIT).ok()?;
        Some(Self { orders, summaries })
    }

    /// Gives the thread the listener of the program's filter.
    pub(crate) fn watch(&self, listener: &OwnedFd) -> Result<(), Errno> {
        channel::send(self.orders.as_fd(), ORDER, &[listener.as_fd()], Waiting::Allowed)
    }

    /// What was noted until now. The thread goes on: calls of pid 1 itself are watched too.
    pub(crate) fn summary(&self) -> Summary {
        let asked = channel::send(self.orders.as_fd(), ORDER, &[], Waiting::Allowed);
        let told = asked.ok().and_then(|_| self.summaries.recv_timeout(LONGEST_WAIT).ok());
        told.unwrap_or_default()
    }

    /// What pid 1 must not close.
    pub(crate) fn descriptor(&self) -> i32 {
        self.orders.as_raw_fd()
    }
}

/// Descriptors of its own, and nothing of pid 1's among them; then its filter.
fn confine(orders: &OwnedFd, journal: Option<i32>) -> Result<(), Errno> {
    let kept = [Some(orders.as_raw_fd()), journal].into_iter().flatten();
    let mut kept: Vec<u32> = kept.filter_map(|number| u32::try_from(number).ok()).collect();
    kept.sort_unstable();
    sys::descriptors::own_table_with(&kept)?;
    Filter::new(&plan::seccomp::observer()).install()
}

struct Work {
    answerer: Option<Answerer>,
    journal: Option<Arc<Journal>>,
    plan: plan::SeccompPlan,
    places: Places,
    record: Record,
}

impl Work {
    fn new(plan: &Plan, journal: Option<Arc<Journal>>) -> Self {
        let places = Places::new(&plan.walls.mounts, plan.start.watch);
        let (plan, record) = (plan.walls.seccomp.clone(), Record::default());
        Self { answerer: None, journal, plan, places, record }
    }

    /// Until nobody can give an order any more, or the kernel hands over no more calls.
    fn live(mut self, orders: &OwnedFd, told: &Sender<Summary>) {
        if !self.takes_listener(orders) {
            return;
        }
        loop {
            let Some(answerer) = &mut self.answerer else { return };
            let Some(listener) = answerer.listener() else { return };
            let mut waiting = [
                PollFd::new(orders, PollFlags::IN),
                PollFd::from_borrowed_fd(listener, PollFlags::IN),
            ];
            let timeout = answerer.next_deadline().map(timespec);
            match rustix::event::poll(&mut waiting, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let [order, call] = waiting.map(|one| one.revents());
            answerer.finish_doomed();
            if call.contains(PollFlags::IN) {
                self.serve();
                // Calls first: whoever asks for a summary wants to know of those too.
                continue;
            }
            if call.intersects(PollFlags::HUP | PollFlags::ERR) {
                return;
            }
            if order.intersects(PollFlags::IN | PollFlags::HUP) && !self.tell(orders, told) {
                return;
            }
        }
    }

    fn takes_listener(&mut self, orders: &OwnedFd) -> bool {
        let received = channel::receive(orders.as_fd(), ORDER.len(), Waiting::Allowed);
        let Ok(Some((_, descriptors))) = received else { return false };
        let Some(listener) = descriptors.into_iter().next() else { return false };
        self.answerer = Some(Answerer::watching(&self.plan, listener, self.journal.clone()));
        true
    }

    /// One call: what it names is read before it is answered, and looked at afterwards.
    fn serve(&mut self) {
        let Some(answerer) = &mut self.answerer else { return };
        let Some(call) = answerer.receive() else { return };
        let named = match answerer.is_only_watched(&call) {
            true => names::named(&call),
            false => Vec::new(),
        };
        answerer.answer(&call);
        for name in named {
            if self.record.counts_again(&name) {
                continue;
            }
            let found = self.places.judge(&name);
            if let (Some((what, path)), Some(journal)) = (&found, &self.journal)
                && let Some(refused) = refused(*what, path)
            {
                journal.tell(&refused);
            }
            self.record.note(name, found);
        }
    }

    /// Tells what was noted. False when nobody wants to know.
    fn tell(&mut self, orders: &OwnedFd, told: &Sender<Summary>) -> bool {
        let asked = channel::receive(orders.as_fd(), ORDER.len(), Waiting::Allowed);
        if !matches!(asked, Ok(Some(_))) {
            return false;
        }
        let denials = self.answerer.as_ref().map(Answerer::denials).unwrap_or_default();
        let (observed, unlisted) = self.record.told();
        told.send(Summary { denials, observed, unlisted }).is_ok()
    }
}

/// What the program is told about a path: what it found out itself, and what to ask its user for.
fn refused(what: Observation, path: &GuestPath) -> Option<Refused> {
    let (because, flag) = match what {
        Observation::Unwritable => ("the cage lets nobody write there", "--rw"),
        Observation::Missing => ("nothing of that name is in the cage", "--ro"),
        Observation::Hidden => ("it shows as empty in the cage", "--ro"),
        Observation::Read | Observation::Executed | Observation::Listed => return None,
        Observation::Written | Observation::Vanished | Observation::Full => return None,
    };
    let word = plan::render::for_shell(&plan::ByteString::from(path.as_bytes()));
    let flag = Some(format!("{flag} {word}"));
    let (kind, subject) = (RefusedKind::Path, path.to_string());
    Some(Refused { kind, subject, because: because.to_owned(), flag })
}

fn timespec(duration: Duration) -> Timespec {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::from(duration.subsec_nanos()) }
}

const ORDER: &[u8] = b"o";
const STACK: usize = 256 * 1024;
/// How long the thread may take to begin, and to tell what it knows.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
