//! Waits, by table.

use std::time::{Duration, SystemTime};

use super::{Retries, retry_after};

#[test]
fn waits_grow_and_are_bounded() {
    let retries = Retries::default();
    let seconds = |requests, asked_for: Option<u64>, chance| {
        retries.wait(requests, asked_for.map(Duration::from_secs), chance).as_secs_f64()
    };
    assert_eq!((seconds(1, None, 0), seconds(1, None, 255)), (0.5, 1.0));
    assert_eq!((seconds(3, None, 255), seconds(40, None, 255)), (4.0, 120.0));
    assert_eq!(seconds(1, Some(30), 0), 30.0);
}

#[test]
fn what_is_asked_for_is_understood() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 60);
    for (text, expected) in [
        ("7", Some(7)),
        ("1.5", Some(1)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(60)),
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("-1", None),
        ("NaN", None),
        ("soon", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
    ] {
        assert_eq!(retry_after(text, now).map(|time| time.as_secs()), expected, "{text}");
    }
}
