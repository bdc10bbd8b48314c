//! How whoever waits for something is told to stop. Asked between short waits; wakes nobody by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shared between the one who waits and the one who may end the wait.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    at: Option<Instant>,
}

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what waits, within a tenth of a second.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// The same, which is cancelled by itself at that time too.
    #[must_use]
    pub fn at(&self, at: Option<Instant>) -> Self {
        Self { flag: Arc::clone(&self.flag), at }
    }

    /// Takes a cancellation back, before something new begins.
    pub fn renew(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Sleeps so long; whether it was not cancelled meanwhile.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_cancelled() || left.is_zero() {
                return !self.is_cancelled();
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// The longest wait without a look.
pub(crate) const SLICE: Duration = Duration::from_millis(100);
