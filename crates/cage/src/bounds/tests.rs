//! Which of several reasons for an end counts.

use plan::LimitsPlan;
use rustix::event::{PollFd, PollFlags};

use super::Bounds;
use crate::outcome::EndReason;
use crate::watchdog::Ring;

fn of_time(walltime_sec: Option<u64>) -> Bounds {
    let limits = LimitsPlan { walltime_sec, ..LimitsPlan::default() };
    Bounds { limits, group: None, watchdog: None, verdict: None }
}

fn wait(bounds: &Bounds) {
    let [watchdog, _] = bounds.descriptors();
    let mut waiting = [PollFd::from_borrowed_fd(watchdog.unwrap(), PollFlags::IN)];
    rustix::event::poll(&mut waiting, None).unwrap();
}

/// K151, K162
#[test]
fn time_is_a_bound_of_its_own() {
    let mut bounds = of_time(Some(1));
    assert_eq!(bounds.descriptors().map(|one| one.is_some()), [false, false], "not armed yet");
    bounds.arm().unwrap();
    assert_eq!(bounds.listen().unwrap(), None);
    wait(&bounds);
    assert_eq!(bounds.listen().unwrap(), Some(Ring::Terminate));
    assert_eq!(bounds.verdict, Some(EndReason::WalltimeExceeded));
    assert_eq!(bounds.end(EndReason::SessionEnded).unwrap(), None, "its end is already due");
    assert_eq!(bounds.verdict, Some(EndReason::WalltimeExceeded));
}

/// K163, K174
#[test]
fn an_order_to_end_gives_the_same_grace() {
    let mut bounds = of_time(None);
    bounds.arm().unwrap();
    assert_eq!(bounds.descriptors().map(|one| one.is_some()), [false, false]);
    assert_eq!(bounds.end(EndReason::SessionEnded).unwrap(), Some(Ring::Terminate));
    assert_eq!(bounds.end(EndReason::Cancelled).unwrap(), None);
    assert!(bounds.descriptors().first().unwrap().is_some());
    assert_eq!(bounds.listen().unwrap(), None, "the grace has only begun");
    assert_eq!(bounds.verdict, Some(EndReason::SessionEnded));
}
