//! The bound under a clock that the test moves.

use std::time::Duration;

use tokio::time::Instant;

use super::Rate;

fn taken(rate: &mut Rate, tries: usize, now: Instant) -> usize {
    (0..tries).filter(|_| rate.take(1, now)).count()
}

#[test]
fn no_more_than_the_bound_in_a_second() {
    let start = Instant::now();
    let mut rate = Rate::new(100, 100, start);
    assert_eq!(taken(&mut rate, 1000, start), 100);
    assert_eq!(taken(&mut rate, 1000, start + Duration::from_millis(5)), 0);
    assert_eq!(taken(&mut rate, 1000, start + Duration::from_millis(10)), 1);
    assert_eq!(taken(&mut rate, 1000, start + Duration::from_millis(510)), 50);
    assert_eq!(taken(&mut rate, 1000, start + Duration::from_hours(1)), 100);
}

#[test]
fn several_at_once_are_all_or_none() {
    let start = Instant::now();
    let mut rate = Rate::new(1000, 20, start);
    assert!(rate.take(16, start));
    assert!(!rate.take(16, start));
    assert!(rate.take(4, start));
    assert!(!rate.take(16, start + Duration::from_millis(15)));
    assert!(rate.take(16, start + Duration::from_millis(16)));
    // A pause gives no more than so many at once.
    assert!(!rate.take(21, start + Duration::from_secs(9)));
}
