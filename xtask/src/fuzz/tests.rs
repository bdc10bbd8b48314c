//! How the time is shared out, and which command lines make sense.

use super::*;

#[test]
fn the_time_is_shared_between_the_targets() {
    let cases = [((10, 2, 4), 300), ((10, 2, 3), 300), ((10, 1, 3), 200), ((1, 2, 1), 60)];
    for ((minutes, workers, targets), seconds) in cases {
        assert_eq!(seconds_each(minutes, workers, targets), seconds);
    }
}

#[test]
fn options_are_read_or_refused() {
    assert_eq!(read_options(&[]).unwrap(), (10, vec![]));
    assert_eq!(read_options(&["--minutes", "3", "plan"]).unwrap(), (3, vec!["plan"]));
    assert_eq!(read_options(&["plan", "bpf"]).unwrap(), (10, vec!["plan", "bpf"]));
    for refused in [&["--minutes", "0"][..], &["--minutes", "x"], &["--hours", "1"], &["--minutes"]]
    {
        assert!(read_options(refused).is_err(), "{refused:?}");
    }
}
