//! Known answers for medians, percentiles and slopes.

use super::*;

#[test]
fn quantiles_lie_between_neighbours() {
    let cases: &[(&[f64], f64, Option<f64>)] = &[
        (&[], 0.5, None),
        (&[7.0], 0.5, Some(7.0)),
        (&[1.0, 2.0], 0.5, Some(1.5)),
        (&[1.0, 2.0, 9.0], 0.5, Some(2.0)),
        (&[0.0, 10.0], 0.9, Some(9.0)),
        (&[1.0, 2.0, 3.0], 1.0, Some(3.0)),
    ];
    for (sorted, share, expected) in cases {
        assert_eq!(quantile(sorted, *share), *expected, "{sorted:?} at {share}");
    }
}

#[test]
fn a_summary_does_not_care_about_order() {
    let measured = [30, 10, 20].map(Duration::from_micros);
    let summary = Summary::of(&measured).unwrap();
    assert!((summary.median_us - 20.0).abs() < 1e-6 && (summary.least_us - 10.0).abs() < 1e-6);
    assert_eq!(Summary::of(&[]), None);
}

#[test]
fn a_line_has_its_own_slope() {
    let line: Vec<(f64, f64)> = [1.0, 10.0, 100.0].map(|x| (x, 5.0 + 3.0 * x)).to_vec();
    assert!((slope(&line).unwrap() - 3.0).abs() < 1e-9);
    assert_eq!(slope(&[(1.0, 2.0)]), None);
}

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
