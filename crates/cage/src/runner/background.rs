//! Does what takes longer than the supervisor's thread may, in threads of their own: makes records durable
//! that nobody waits for and signs how far the log is; looks at what programs have left, and removes what
//! a session has kept.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use audit::Log;
use rustix::io::Errno;
use sys::signal::SignalSet;

/// The threads.
#[derive(Debug)]
pub(super) struct Background {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    state: Mutex<State>,
    /// Something was appended.
    recorded: Condvar,
    /// There is a task.
    tasked: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether something was appended that nobody made durable.
    has_records: bool,
    tasks: VecDeque<Task>,
    is_closing: bool,
}

/// Something to do.
pub(super) type Task = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

impl Background {
    pub(super) fn start(log: Arc<Log>) -> Result<Self, Errno> {
        let (state, recorded, tasked) = (Mutex::default(), Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { log, state, recorded, tasked });
        let background = Self { shared, threads: Mutex::default() };
        // A thread that did not start must not leave the others behind.
        background.begin().inspect_err(|_| background.close())?;
        Ok(background)
    }

    fn begin(&self) -> Result<(), Errno> {
        let begin = |name, run: fn(&Shared)| {
            let shared = Arc::clone(&self.shared);
            let thread = start_thread(name, move || run(&shared))?;
            self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            Ok::<_, Errno>(())
        };
        begin("stockade-record", Shared::sign)?;
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..workers.min(MOST_WORKERS) {
            begin("stockade-worker", Shared::work)?;
        }
        Ok(())
    }

    /// Something was appended.
    pub(super) fn note(&self) {
        // Where there was something already, the thread has been told when to look.
        if !std::mem::replace(&mut self.shared.state().has_records, true) {
            self.shared.recorded.notify_one();
        }
    }

    /// Does something soon.
    pub(super) fn send(&self, task: Task) {
        self.shared.state().tasks.push_back(task);
        self.shared.tasked.notify_one();
    }

    /// Ends the threads after every task is done and everything that was appended has become durable.
    pub(super) fn close(&self) {
        self.shared.state().is_closing = true;
        self.shared.recorded.notify_all();
        self.shared.tasked.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // The first one signs, so it goes last.
        for thread in threads.into_iter().rev() {
            // One that panicked has nothing left to do.
            let _ended = thread.join();
        }
    }
}

impl Shared {
    /// Does tasks, one after the other.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                drop(state);
                task();
                state = self.state();
            } else if state.is_closing {
                return;
            } else {
                state = self.tasked.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Makes durable what was appended, at most so often.
    fn sign(&self) {
        let mut next = Instant::now();
        loop {
            let mut state = self.state();
            while !(state.is_closing || state.has_records && Instant::now() >= next) {
                let pause = match state.has_records {
                    true => next.saturating_duration_since(Instant::now()),
                    false => LONG,
                };
                let waited = self.recorded.wait_timeout(state, pause);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            let (has_records, is_closing) = (state.has_records, state.is_closing);
            state.has_records = false;
            drop(state);
            if has_records {
                // A log that fails refuses the next record, and with it the next start.
                let _failed = self.log.checkpoint();
                next = Instant::now() + PAUSE;
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

/// Several programs may end at once, each in a large tree.
const MOST_WORKERS: usize = 4;
