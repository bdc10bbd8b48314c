//! Throwing changes away, some or all: the view then shows the host's, and everything else in it stays.

use super::support::{Fixture, assert_same, paths, summary};
use crate::WorkspaceError;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.host(&[
        ("a", "a"),
        ("tree/x", "x"),
        ("tree/sub/y", "y"),
        ("tree/sub/z", "z"),
        ("gone/p", "p"),
        ("gone/q/r", "r"),
        ("named", "a file that gets another name\n"),
        ("turns/t", "t"),
    ]);
    fixture.start();
    fixture
}

const WORK: &str = "
    echo b > a; rm -r tree; mkdir -p tree/sub; echo new > tree/new; echo new > tree/sub/y
    rm -r gone; mv named renamed; rm -r turns; echo t > turns";

#[test]
fn all_is_thrown_away() {
    let fixture = fixture();
    let before = fixture.host_tree();
    fixture.cage(WORK);
    fixture.workspace().discard_all().unwrap();
    assert!(fixture.changes().is_empty());
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(fixture.cage("true").keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

/// Each in turn, in directories that hide the host's and in such that are gone as a whole.
#[test]
fn a_part_is_thrown_away_and_the_rest_stays() {
    let cases: [(&str, &[&str]); 7] = [
        ("a", &["M a"]),
        ("tree/x", &["D tree/x"]),
        ("tree/sub/y", &["M tree/sub/y"]),
        ("tree/sub/z", &["D tree/sub/z"]),
        ("tree/new", &["A tree/new"]),
        ("renamed", &["R named -> renamed"]),
        ("named", &["R named -> renamed"]),
    ];
    for (path, gone) in cases {
        let fixture = fixture();
        fixture.cage(WORK);
        let mut expected = summary(&fixture.changes());
        let count = expected.len();
        expected.retain(|change| !gone.contains(&change.as_str()));
        assert_eq!(expected.len() + gone.len(), count, "{path}");
        fixture.workspace().discard(&paths(&[path])).unwrap();
        assert_eq!(summary(&fixture.changes()), expected, "{path}");
        // What the kernel shows agrees.
        let seen = fixture.cage("true");
        let expected = fixture.apply_all();
        assert_eq!(expected.left, []);
        assert_eq!(
            fixture.host_tree().keys().collect::<Vec<_>>(),
            seen.keys().collect::<Vec<_>>(),
            "{path}"
        );
    }
}

#[test]
fn a_file_of_a_directory_that_is_gone_comes_back_alone() {
    let fixture = fixture();
    fixture.cage(WORK);
    fixture.workspace().discard(&paths(&["gone/q/r"])).unwrap();
    let changes = summary(&fixture.changes());
    assert!(changes.contains(&"D gone/p".to_owned()), "{changes:?}");
    assert!(
        !changes.iter().any(|change| change == "D gone/q/r" || change == "D gone"),
        "{changes:?}"
    );
    let seen = fixture.cage("true");
    assert!(seen.contains_key(b"gone/q/r".as_slice()) && !seen.contains_key(b"gone/p".as_slice()));
}

#[test]
fn what_cannot_be_thrown_away_alone_is_said() {
    let fixture = fixture();
    fixture.cage(WORK);
    let workspace = fixture.workspace();
    let error = workspace.discard(&paths(&["turns/t"])).unwrap_err();
    assert!(matches!(error, WorkspaceError::PartOf { .. }), "{error}");
    let error = workspace.discard(&paths(&["tree/never"])).unwrap_err();
    assert!(matches!(error, WorkspaceError::NotAChange(_)), "{error}");
}
