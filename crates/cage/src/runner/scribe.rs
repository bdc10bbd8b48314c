//! Makes records durable that nobody waits for, and signs how far the log is, in a thread of its own:
//! storage takes milliseconds, which the keeper does not have.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use audit::Log;
use rustix::io::Errno;
use sys::signal::SignalSet;

/// The thread.
#[derive(Debug)]
pub(super) struct Scribe {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_work: bool,
    is_closing: bool,
}

impl Scribe {
    pub(super) fn start(log: Arc<Log>) -> Result<Self, Errno> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { log, state, changed });
        let thread = {
            let shared = Arc::clone(&shared);
            start_thread("stockade-scribe", move || shared.run())?
        };
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Something was appended.
    pub(super) fn note(&self) {
        self.shared.state().has_work = true;
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

impl Shared {
    fn run(&self) {
        loop {
            let mut state = self.state();
            while !state.has_work && !state.is_closing {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let (has_work, is_closing) = (state.has_work, state.is_closing);
            state.has_work = false;
            drop(state);
            if has_work {
                // A log that fails refuses the next record, and with it the next start.
                let _failed = self.log.checkpoint();
            }
            if is_closing {
                return;
            }
            // What comes meanwhile is done at once.
            let state = self.state();
            let pause = self.changed.wait_timeout_while(state, PAUSE, |state| !state.is_closing);
            drop(pause);
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

/// Between two times that the log is made durable for nobody.
const PAUSE: Duration = Duration::from_millis(100);
