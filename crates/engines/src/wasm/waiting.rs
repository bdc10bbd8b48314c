//! Time, and waiting for it and for descriptors, as both hosts do it. What is waited for is always behind a stream or a socket
//! of the guest's; a wait costs no processor time.

use std::time::Duration;

use rustix::event::{PollFd, Timespec};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::processor::duration;

/// Waits until one of them is ready, or so many nanoseconds have passed. What each is ready for is in it afterwards.
pub(super) fn wait(polled: &mut [PollFd<'_>], most: Option<u64>) -> Result<(), Errno> {
    let begun = monotonic();
    loop {
        let left = most.map(|most| most.saturating_sub(monotonic().saturating_sub(begun)));
        let timeout = left.map(|left| Timespec {
            tv_sec: i64::try_from(left / NANOSECONDS).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left % NANOSECONDS).unwrap_or_default(),
        });
        match rustix::event::poll(polled, timeout.as_ref()) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// The time that only goes forward.
pub(super) fn monotonic() -> u64 {
    in_nanoseconds(duration(clock_gettime(ClockId::Monotonic)))
}

pub(super) fn in_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

const NANOSECONDS: u64 = 1_000_000_000;
