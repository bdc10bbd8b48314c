//! One line on standard error that says how far long work has come, at a terminal alone and only where it takes long. It is
//! gone when the work is done.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The line. Dropping it takes it away.
#[derive(Debug)]
pub struct ProgressLine(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    next: Instant,
    is_shown: bool,
}

impl ProgressLine {
    /// A line that is not shown yet.
    #[expect(clippy::new_without_default, reason = "whoever makes one shows it")]
    pub fn new() -> Self {
        let state = State { next: Instant::now() + PATIENCE, is_shown: false };
        Self(std::io::stderr().is_terminal().then(|| Arc::new(Mutex::new(state))))
    }

    /// What hears how far the work has come. `text` says it.
    pub fn listener<P>(
        &self,
        text: impl Fn(P) -> String + Send + Sync + 'static,
    ) -> impl Fn(P) + Send + Sync + 'static {
        let state = self.0.clone();
        move |progress| {
            let Some(mut state) = state.as_ref().and_then(|state| state.lock().ok()) else {
                return;
            };
            let now = Instant::now();
            if now >= state.next {
                state.next = now + BETWEEN;
                state.is_shown = true;
                write(&format!("\r\x1b[K{}", text(progress)));
            }
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
