//! Programs that every machine has and that none has, and the name in the line of a skipped test.

use super::{find, running_test};

#[test]
fn programs_are_found_where_they_are_installed() {
    assert!(find("sh").is_some_and(|path| path.is_absolute()));
    assert_eq!(find("no-such-program"), None);
    // A directory is no program.
    assert_eq!(find("."), None);
}

#[test]
fn a_test_knows_its_own_name() {
    assert_eq!(running_test(), "tests::a_test_knows_its_own_name");
}
