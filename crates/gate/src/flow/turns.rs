//! Turns of a listener whose cage makes one connection after the other. Between them other tasks of
//! the process have theirs; and after turns that follow each other quickly the process itself leaves the
//! processor for a moment, because the scheduler would else let it stay there until its next tick, up to
//! four milliseconds, while what another cage waits for is ready to run. Never refuses a connection.

use std::time::{Duration, Instant};

use crate::limits;

/// How far the present turn is.
#[derive(Debug)]
pub(super) struct Turns {
    taken: usize,
    begun: Instant,
}

/// What comes after a connection that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Another one.
    SameTurn,
    /// The other tasks.
    Others,
    /// Whoever waits for the processor.
    Breath,
}

impl Turns {
    pub(super) fn begin() -> Self {
        Self { taken: 0, begun: Instant::now() }
    }

    /// A connection was taken.
    pub(super) async fn took_one(&mut self) {
        match self.next(Instant::now) {
            Next::SameTurn => {}
            Next::Others => tokio::task::yield_now().await,
            Next::Breath => {
                // All of the process, on purpose; what is ready for its tasks is so afterwards as well.
                std::thread::sleep(limits::BREATH);
                tokio::task::yield_now().await;
            }
        }
    }

    fn next(&mut self, now: impl Fn() -> Instant) -> Next {
        self.taken += 1;
        if self.taken < limits::ACCEPTS_PER_TURN {
            return Next::SameTurn;
        }
        let now = now();
        let lasted = now.saturating_duration_since(self.begun);
        *self = Self { taken: 0, begun: now };
        if lasted < QUICK { Next::Breath } else { Next::Others }
    }
}

/// A turn that takes less is one of a cage that makes more connections than are made in passing.
const QUICK: Duration = Duration::from_micros(
    limits::ACCEPTS_PER_TURN as u64 * 1_000_000 / limits::CONNECTIONS_IN_PASSING,
);

#[cfg(test)]
mod tests;
