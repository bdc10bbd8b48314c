//! What a person sees of hostile text.

use super::{shortened, shown};

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

/// T20, T53: a long path cannot push the rest of a sentence out of sight.
#[test]
fn the_middle_of_a_long_path_is_left_out() {
    assert_eq!(shortened("a".repeat(160)), "a".repeat(160));
    let long = format!("/first/{}/last", "größe/".repeat(100));
    let short = shortened(&long);
    assert_eq!(short.chars().count(), 160);
    assert!(short.starts_with("/first/größe/") && short.ends_with("/größe//last"), "{short}");
    assert!(shortened("\u{1b}".repeat(100)).chars().all(|character| !character.is_control()));
}
