//! What a person reads about limits.

use std::time::Duration;

use cage::Usage;
use plan::LimitsPlan;

use super::{memory_exceeded, notes, time_argument, time_exceeded};

/// K155
#[test]
fn a_time_is_told_with_a_flag_that_would_have_been_enough() {
    assert_eq!(time_exceeded(5), "time limit 5 s exceeded; raise it with --time 10s");
    assert_eq!(time_exceeded(300), "time limit 300 s exceeded; raise it with --time 10m");
    let each = [(1, "1s"), (60, "1m"), (61, "61s"), (3600, "1h"), (5400, "90m"), (86_400, "24h")];
    for (seconds, argument) in each {
        assert_eq!(time_argument(seconds), argument);
    }
}

/// K188
#[test]
fn memory_is_told_with_the_peak_and_what_raises_it() {
    let limits = LimitsPlan { memory_mb: Some(64), ..LimitsPlan::default() };
    let usage = Usage { memory_peak: Some((64 << 20) - 5), ..Usage::default() };
    assert_eq!(
        memory_exceeded(&limits, Some(&usage)),
        "memory limit 64 MiB exceeded, peak 64 MiB; raise it with --memory 128M"
    );
    assert_eq!(
        memory_exceeded(&limits, None),
        "memory limit 64 MiB exceeded; raise it with --memory 128M"
    );
}

/// K204
#[test]
fn what_did_not_end_the_program_is_a_note() {
    let limits = LimitsPlan { pids: Some(8), cpu_millis: Some(1500), ..LimitsPlan::default() };
    let throttled = |seconds| Usage { throttled: Duration::from_secs(seconds), ..Usage::default() };
    let life = Duration::from_secs(30);
    assert!(notes(&limits, &Usage::default(), life).is_empty());
    assert!(notes(&limits, &throttled(2), life).is_empty(), "less than a tenth of its life");
    let usage = Usage { pids_refused: 3, ..throttled(20) };
    let expected = [
        "limit of 8 processes and threads reached, refused 3 more; raise it with --pids 16",
        "the program waited 20.0 s for the processor because of its limit 1.5; raise it with --cpus",
    ];
    assert_eq!(notes(&limits, &usage, life), expected);
}
