//! A bound on how often something happens: so many per second, and some at once after a pause. Counts
//! and never waits.

use tokio::time::Instant;

/// What is left of the present second.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: u32,
    at_once: u32,
    left: u32,
    filled: Instant,
}

impl Rate {
    pub(super) fn new(per_second: u32, at_once: u32, now: Instant) -> Self {
        Self { per_second, at_once, left: at_once, filled: now }
    }

    /// Takes so many, if they are there.
    pub(super) fn take(&mut self, count: u32, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled).as_micros();
        let gained = passed.saturating_mul(u128::from(self.per_second)) / MICROSECONDS;
        if gained > 0 {
            let gained = u32::try_from(gained).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(gained).min(self.at_once);
            // What a fraction of one would have given is lost: the bound holds, if a little lower.
            self.filled = now;
        }
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

const MICROSECONDS: u128 = 1_000_000;

#[cfg(test)]
mod tests;
