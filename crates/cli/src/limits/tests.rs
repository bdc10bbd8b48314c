//! What a person reads about limits.

use super::{time_argument, time_exceeded};

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
