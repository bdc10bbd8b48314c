//! One line on standard error that says how far long work has come, on a terminal only and only when it takes long.
//! It is gone when the work is done.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use review::Progress;

/// The line. Dropping it takes it away.
#[derive(Debug)]
pub(crate) struct ProgressLine(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    next: Instant,
    is_shown: bool,
}

impl ProgressLine {
    /// A line that is not shown yet.
    pub(crate) fn new() -> Self {
        let state = State { next: Instant::now() + PATIENCE, is_shown: false };
        Self(std::io::stderr().is_terminal().then(|| Arc::new(Mutex::new(state))))
    }

    /// What hears how far the work has come.
    pub(crate) fn listener(&self) -> impl Fn(Progress) + Send + Sync + 'static {
        let state = self.0.clone();
        move |progress| {
            let Some(mut state) = state.as_ref().and_then(|state| state.lock().ok()) else {
                return;
            };
            let now = Instant::now();
            if now < state.next {
                return;
            }
            state.next = now + BETWEEN;
            state.is_shown = true;
            let text = match progress {
                Progress::Compared(names) => format!("compared {names} names"),
                Progress::Staged { objects, of } => format!("prepared {objects} of {of} files"),
                Progress::Done { steps, of } => format!("applied {steps} of {of} changes"),
            };
            write(&format!("\r\x1b[K{text} …"));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        let state = self.0.as_ref().and_then(|state| state.lock().ok());
        if state.is_some_and(|state| state.is_shown) {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    // Nobody is left to be told.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Work that takes less says nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN: Duration = Duration::from_millis(100);
