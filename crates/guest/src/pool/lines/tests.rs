//! Lines of a pool, in pieces and too long.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{LONGEST_LINE, Lines};

/// A25
#[test]
fn lines_come_whole() {
    let mut lines = Lines::default();
    assert_eq!(lines.take(b"one"), Vec::new());
    assert_eq!(lines.take(b"\n\n  \ntwo\nthr"), [Ok(b"one".to_vec()), Ok(b"two".to_vec())]);
    assert_eq!(lines.take(b"ee\n"), [Ok(b"three".to_vec())]);
}

/// A25
#[test]
fn what_is_too_long_is_refused_once_and_the_next_line_is_read() {
    let mut lines = Lines::default();
    let long = vec![b'x'; LONGEST_LINE + 1];
    assert!(lines.take(&long).remove(0).unwrap_err().why.contains("longer"));
    assert_eq!(lines.take(&long), Vec::new());
    assert_eq!(lines.take(b"\nnext\n"), [Ok(b"next".to_vec())]);
}
