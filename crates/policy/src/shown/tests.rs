//! What a person sees of hostile text.

use super::shown;

/// T20, T53
#[test]
fn nothing_moves_reorders_or_hides() {
    for (text, expected) in [
        ("plain/path with spaces", "plain/path with spaces"),
        ("größe/日本", "größe/日本"),
        ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
        ("a\nb", "a\\u{a}b"),
        ("a\u{9b}b", "a\\u{9b}b"),
        ("safe\u{202e}txt.exe", "safe\\u{202e}txt.exe"),
        ("a\u{200b}b", "a\\u{200b}b"),
        ("a\u{e0041}b", "a\\u{e0041}b"),
        ("back\\slash", "back\\slash"),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
}
