//! The last minute, by a clock of its own.

use std::time::{Duration, Instant};

use super::{Pace, Paced};

#[test]
fn no_minute_has_more_than_it_may() {
    let (start, mut paced) = (Instant::now(), Paced::default());
    let at = |seconds| start + Duration::from_secs(seconds);
    let pace = Pace { requests: Some(2), tokens: Some(100) };
    assert_eq!(paced.wait(pace, at(0)), Duration::ZERO);
    paced.begin(at(0));
    paced.count(99);
    assert_eq!(paced.wait(pace, at(10)), Duration::ZERO);
    paced.begin(at(10));
    assert_eq!(paced.wait(pace, at(20)), Duration::from_secs(40));
    paced.count(100);
    assert_eq!(paced.wait(pace, at(20)), Duration::from_secs(50));
    assert_eq!(paced.wait(Pace::default(), at(20)), Duration::ZERO);
    assert_eq!(paced.wait(pace, at(70)), Duration::ZERO);
}
