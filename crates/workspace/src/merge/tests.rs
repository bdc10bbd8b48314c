//! Merges by rule, and beside those of `git merge-file`.

use proptest::prelude::*;

use super::merge;

fn check(base: &str, ours: &str, theirs: &str, expected: Option<&str>) {
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
    assert_eq!(merged.as_deref(), expected.map(str::as_bytes), "{base:?} {ours:?} {theirs:?}");
}

#[test]
fn both_sides_are_kept_where_they_do_not_touch() {
    let base = "1\n2\n3\n4\n5\n6\n7\n";
    check(base, "1\nX\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\nY\n7\n", Some("1\nX\n3\n4\n5\nY\n7\n"));
    check(base, "0\n1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\n", Some("0\n1\n2\n3\n4\n5\n6\n"));
    check(base, "1\n2\nX\n4\n5\n6\n7\n", "1\n2\nX\n4\n5\n6\n8\n", Some("1\n2\nX\n4\n5\n6\n8\n"));
}

#[test]
fn what_contradicts_or_touches_is_not_merged() {
    let base = "1\n2\n3\n";
    check(base, "1\nX\n3\n", "1\nY\n3\n", None);
    check(base, "1\nX\n3\n", "1\n2\nY\n", None);
    check(base, "1\n3\n", "1\nY\n3\n", None);
    check("", "a\n", "b\n", None);
    check("1\n", "1\na\n", "1\nb\n", None);
}

proptest! {
    /// A side that did nothing changes nothing, and what both did is done once.
    #[test]
    fn a_merge_with_one_side_is_the_other(base in text(), one in text()) {
        let (base, one) = (base.as_bytes(), one.as_bytes());
        prop_assert_eq!(merge(base, base, one), Some(one.to_vec()));
        prop_assert_eq!(merge(base, one, base), Some(one.to_vec()));
        prop_assert_eq!(merge(base, one, one), Some(one.to_vec()));
    }

    #[test]
    fn a_merge_is_the_same_from_both_sides(base in text(), one in text(), other in text()) {
        let (base, one, other) = (base.as_bytes(), one.as_bytes(), other.as_bytes());
        prop_assert_eq!(merge(base, one, other), merge(base, other, one));
    }

    /// No line of either side is lost that was not in the base.
    #[test]
    fn a_merge_has_the_new_lines_of_both(base in text(), one in text(), other in text()) {
        let merged = merge(base.as_bytes(), one.as_bytes(), other.as_bytes());
        if let Some(merged) = merged {
            let merged = String::from_utf8(merged).unwrap();
            for line in one.lines().chain(other.lines()) {
                prop_assert!(merged.lines().any(|found| found == line) || base.lines().any(|found| found == line));
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-e]\n", 0..12).prop_map(|lines| lines.concat())
}
