//! What one connection counts with, is timed by and may hold back. Never touches a byte itself.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::pipes::Pipes;
use crate::decision::{Denial, DenialCode};
use crate::limits;

/// Bytes that all connections of a cage have read and hold back until they are known.
#[derive(Debug, Default)]
pub(crate) struct HeldBack(AtomicUsize);

/// What one connection moves through, counts with and is timed by.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    pub(super) pipes: &'a Pipes,
    /// Bytes that came to the cage, of all its connections.
    inward: &'a AtomicU64,
    /// Bytes that left it.
    outward: &'a AtomicU64,
    held_back: &'a HeldBack,
    /// What of that is this connection's, by direction.
    own: [AtomicUsize; 2],
    started: Instant,
    /// Milliseconds after the start.
    last_moved: AtomicU64,
    /// Whether anything came from outside on this connection.
    answered: AtomicBool,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Into the cage.
    Inward,
    /// Out of it.
    Outward,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(
        pipes: &'a Pipes,
        inward: &'a AtomicU64,
        outward: &'a AtomicU64,
        held_back: &'a HeldBack,
    ) -> Self {
        Self {
            pipes,
            inward,
            outward,
            held_back,
            own: [AtomicUsize::new(0), AtomicUsize::new(0)],
            started: Instant::now(),
            last_moved: AtomicU64::new(0),
            answered: AtomicBool::new(false),
        }
    }

    /// Counts what was moved.
    pub(crate) fn count(&self, direction: Direction, bytes: usize) {
        self.took(direction);
        let counter = match direction {
            Direction::Inward => self.inward,
            Direction::Outward => self.outward,
        };
        counter.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_moved.store(elapsed, Ordering::Relaxed);
    }

    /// Says how many bytes of one direction are held back now. Once the cage holds back too much,
    /// none of its connections may hold back more than a little.
    pub(crate) fn hold_back(&self, direction: Direction, bytes: usize) -> Result<(), Denial> {
        let [inward, outward] = &self.own;
        let own = match direction {
            Direction::Inward => inward,
            Direction::Outward => outward,
        };
        let before = own.swap(bytes, Ordering::Relaxed);
        let HeldBack(all) = self.held_back;
        all.fetch_sub(before, Ordering::Relaxed);
        let others = all.fetch_add(bytes, Ordering::Relaxed);
        if bytes > limits::HELD_BACK_ALWAYS && others.saturating_add(bytes) > limits::HELD_BACK {
            return Err(Denial::new(DenialCode::TooMuchHeldBack, TOO_MUCH));
        }
        Ok(())
    }

    /// Whether anything came from outside on this connection, be it on its way still.
    pub(crate) fn was_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn took(&self, direction: Direction) {
        if direction == Direction::Inward {
            self.answered.store(true, Ordering::Relaxed);
        }
    }

    /// Returns once nothing has been moved for so long.
    pub(crate) async fn idle_for(&self, longest: Duration) {
        loop {
            let last = Duration::from_millis(self.last_moved.load(Ordering::Relaxed));
            let end = self.started + last + longest;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        let [inward, outward] = &mut self.own;
        let own = *inward.get_mut() + *outward.get_mut();
        self.held_back.0.fetch_sub(own, Ordering::Relaxed);
    }
}

const TOO_MUCH: &str = "the cage has begun too many long messages that it does not end";
