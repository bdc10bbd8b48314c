//! How long something took, without the time in which the machine gave nobody a processor: a virtual
//! one can stand still for seconds, and what waits for nothing would seem to wait for a time-out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Does something and returns how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beats = scope.spawn(|| stood_still(&is_done));
        let started = Instant::now();
        let result = work();
        let took = started.elapsed();
        is_done.store(true, Ordering::Release);
        beats.thread().unpark();
        (result, took.saturating_sub(beats.join().unwrap()))
    })
}

/// By how much a thread was woken too late that wants to be woken again and again.
fn stood_still(is_done: &AtomicBool) -> Duration {
    let mut late = Duration::ZERO;
    while !is_done.load(Ordering::Acquire) {
        let asleep = Instant::now();
        std::thread::park_timeout(BEAT);
        late += asleep.elapsed().saturating_sub(BEAT + SLACK);
    }
    late
}

const BEAT: Duration = Duration::from_millis(10);

/// Less than this is what any busy machine does.
const SLACK: Duration = Duration::from_millis(10);

/// Waiting is no standing still: what takes its time is told so.
#[test]
fn waiting_counts() {
    let long = Duration::from_millis(400);
    let (_, took) = timed(|| std::thread::sleep(long));
    assert!(took > long / 4, "{took:?}");
}
