//! Percentiles and medians of small sets.

use std::time::Duration;

use super::{Spread, median};

#[test]
fn spreads() {
    let times = |range: std::ops::RangeInclusive<u64>| range.map(Duration::from_micros).collect();
    assert_eq!(Spread::of(Vec::new()), None);
    assert_eq!(Spread::of(times(7..=7)), Some(Spread { p50_us: 7.0, p99_us: 7.0 }));
    assert_eq!(Spread::of(times(1..=100)), Some(Spread { p50_us: 51.0, p99_us: 100.0 }));
}

#[test]
fn medians() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(Vec::new()), 0.0);
}
