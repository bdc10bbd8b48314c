//! One attack must not pass for another.

use super::*;

#[test]
fn a_mark_is_a_whole_name() {
    let table: &[(&[u8], bool)] = &[
        (b"final-dot;", true),
        (b"GET /final-dot; HTTP/1.1", true),
        (b"X-Mark: connect-final-dot;\r\nX: final-dot;", true),
        (b"connect-final-dot;", false),
        (b"final-dot", false),
        (b"final-dots;", false),
        (b"", false),
    ];
    for (bytes, expected) in table {
        assert_eq!(has_mark(bytes, "final-dot"), *expected, "`{}`", bytes.escape_ascii());
    }
}
