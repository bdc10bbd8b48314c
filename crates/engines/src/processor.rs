//! How much this thread has computed, and whether that is too much. A guest has a thread of its own, so that its time is
//! nobody else's.

use std::time::Duration;

use rustix::time::ClockId;

/// The processor time of this thread.
pub(crate) fn used_by_thread() -> Duration {
    duration(rustix::time::clock_gettime(ClockId::ThreadCPUTime))
}

/// The time of a clock, from its beginning on.
pub(crate) fn duration(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// How long a guest may compute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    end: Option<Duration>,
}

impl Allowance {
    /// So much from now on.
    pub(crate) fn of(most: Option<Duration>) -> Self {
        Self { end: most.map(|most| used_by_thread().saturating_add(most)) }
    }

    /// Whether it is used up.
    pub(crate) fn is_spent(&self) -> bool {
        self.end.is_some_and(|end| used_by_thread() >= end)
    }
}
