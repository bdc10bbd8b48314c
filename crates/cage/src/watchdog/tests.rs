//! When a timer rings, and how often.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::{Ring, Stage, Watchdog, set};

fn wait(watchdog: &mut Watchdog) -> Option<Ring> {
    let mut waiting = [PollFd::new(&*watchdog, PollFlags::IN)];
    rustix::event::poll(&mut waiting, None).unwrap();
    watchdog.listen().unwrap()
}

/// K151, K152, K153
#[test]
fn it_rings_twice_and_then_no_more() {
    let began = Instant::now();
    let mut watchdog = Watchdog::arm(Duration::from_millis(30)).unwrap();
    assert_eq!(watchdog.listen().unwrap(), None);
    assert_eq!(wait(&mut watchdog), Some(Ring::Terminate));
    assert!(began.elapsed() >= Duration::from_millis(30));
    assert_eq!(watchdog.listen().unwrap(), None, "the grace has only begun");
    set(&watchdog.timer, Duration::ZERO).unwrap();
    assert_eq!(wait(&mut watchdog), Some(Ring::Kill));
    assert_eq!(watchdog.stage, Stage::Over);
    assert_eq!(watchdog.listen().unwrap(), None);
}

/// A limit that no clock can hold is as good as none, and no error.
#[test]
fn the_longest_time_can_be_armed() {
    let mut watchdog = Watchdog::arm(Duration::from_secs(u64::MAX)).unwrap();
    assert_eq!(watchdog.listen().unwrap(), None);
}
