//! Does what takes longer than the keeper may, in a thread of its own: makes records durable that
//! nobody waits for, signs how far the log is, and removes what a session has kept.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use audit::Log;
use rustix::io::Errno;
use sys::signal::SignalSet;

/// The thread.
#[derive(Debug)]
pub(super) struct Clerk {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether something was appended that nobody made durable.
    has_records: bool,
    errands: VecDeque<Errand>,
    is_closing: bool,
}

/// Something to do.
pub(super) type Errand = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("State")
            .field("errands", &self.errands.len())
            .finish_non_exhaustive()
    }
}

impl Clerk {
    pub(super) fn start(log: Arc<Log>) -> Result<Self, Errno> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { log, state, changed });
        let thread = {
            let shared = Arc::clone(&shared);
            start_thread("stockade-clerk", move || shared.run())?
        };
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Something was appended.
    pub(super) fn note(&self) {
        // Where there was something already, the thread has been told when to look.
        if !std::mem::replace(&mut self.shared.state().has_records, true) {
            self.shared.changed.notify_one();
        }
    }

    /// Does something soon.
    pub(super) fn send(&self, errand: Errand) {
        self.shared.state().errands.push_back(errand);
        self.shared.changed.notify_one();
    }

    /// Ends the thread after everything that was appended has become durable.
    pub(super) fn close(&self) {
        self.shared.state().is_closing = true;
        self.shared.changed.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // One that panicked has nothing left to do.
            let _ended = thread.join();
        }
    }
}

impl State {
    fn has_work_at(&self, next_signature: Instant) -> bool {
        let sign = self.has_records && Instant::now() >= next_signature;
        self.is_closing || !self.errands.is_empty() || sign
    }
}

impl Shared {
    fn run(&self) {
        let mut next_signature = Instant::now();
        loop {
            let mut state = self.state();
            while !state.has_work_at(next_signature) {
                let pause = match state.has_records {
                    true => next_signature.saturating_duration_since(Instant::now()),
                    false => LONG,
                };
                let waited = self.changed.wait_timeout(state, pause);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(errand) = state.errands.pop_front() {
                drop(state);
                errand();
                continue;
            }
            let (has_records, is_closing) = (state.has_records, state.is_closing);
            state.has_records = false;
            drop(state);
            if has_records {
                // A log that fails refuses the next record, and with it the next start.
                let _failed = self.log.checkpoint();
                next_signature = Instant::now() + PAUSE;
            }
            if is_closing {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that no signal of the process is for.
pub(super) fn start_thread(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Errno> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _unmasked = sys::signal::set_mask(&SignalSet::full());
        body();
    });
    started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
}

/// Where there is nothing to do, nobody has to look.
const LONG: Duration = Duration::from_secs(3600);

/// Between two times that the log is made durable for nobody.
const PAUSE: Duration = Duration::from_millis(100);
