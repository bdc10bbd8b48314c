//! Which links stay within what is copied.

use super::stays_within;

/// A9: a chain of links cannot lead out, though each looks harmless by itself.
#[test]
fn links_out_are_known_by_their_words() {
    for (target, depth, stays) in [
        ("b", 1, true),
        ("./b//c", 1, true),
        ("../b", 1, false),
        ("../b", 2, true),
        ("../../b", 2, false),
        ("/etc/passwd", 5, false),
        ("b/../../c", 3, false),
        ("..", 1, false),
        ("..", 2, true),
        ("b", 0, false),
    ] {
        assert_eq!(stays_within(target.as_bytes(), depth), stays, "{target} {depth}");
    }
}
