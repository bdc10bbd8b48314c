//! Which of several reasons for an end counts.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::Bounds;
use crate::outcome::EndReason;
use crate::watchdog::Ring;

fn wait(bounds: &Bounds) {
    let [watchdog, _] = bounds.descriptors();
    let mut waiting = [PollFd::from_borrowed_fd(watchdog.unwrap(), PollFlags::IN)];
    rustix::event::poll(&mut waiting, None).unwrap();
}

/// K151, K162
#[test]
fn time_is_a_bound_of_its_own() {
    let mut bounds = Bounds::of_time(Some(Duration::from_secs(1)));
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
    let mut bounds = Bounds::of_time(None);
    bounds.arm().unwrap();
    assert_eq!(bounds.descriptors().map(|one| one.is_some()), [false, false]);
    assert_eq!(bounds.end(EndReason::SessionEnded).unwrap(), Some(Ring::Terminate));
    assert_eq!(bounds.end(EndReason::Cancelled).unwrap(), None);
    assert!(bounds.descriptors().first().unwrap().is_some());
    assert_eq!(bounds.listen().unwrap(), None, "the grace has only begun");
    assert_eq!(bounds.verdict, Some(EndReason::SessionEnded));
}
