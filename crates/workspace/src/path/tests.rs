//! Which bytes are paths, how they sort, and what lies within what.

use super::{TreePath, TreePathError};

fn path(text: &str) -> TreePath {
    TreePath::parse(text.as_bytes()).unwrap()
}

/// T7: nothing leads upwards or outwards.
#[test]
fn what_is_no_path_below_the_root_is_refused() {
    let cases: [(&[u8], Result<&str, TreePathError>); 10] = [
        (b"a/b", Ok("a/b")),
        (b"./a/b/", Ok("a/b")),
        (b".", Ok(".")),
        (b"", Ok(".")),
        (b"/etc", Err(TreePathError::Absolute)),
        (b"a/../b", Err(TreePathError::NotNormal)),
        (b"..", Err(TreePathError::NotNormal)),
        (b"a//b", Err(TreePathError::NotNormal)),
        (b"a\0b", Err(TreePathError::Nul)),
        (b"\xff\n", Ok("\\xff\n")),
    ];
    for (written, expected) in cases {
        let parsed = TreePath::parse(written).map(|path| path.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{written:?}");
    }
    assert_eq!(TreePath::parse(&[b'a'; 5000]), Err(TreePathError::TooLong));
}

#[test]
fn a_directory_sorts_right_before_what_is_in_it() {
    let mut paths = ["src.bak", "src/x", "src-old/y", "src", "src-old"].map(path);
    paths.sort_unstable();
    assert_eq!(paths, ["src", "src/x", "src-old", "src-old/y", "src.bak"].map(path));
}

#[test]
fn within_is_by_component() {
    assert!(path("a/b").is_within(&path("a")));
    assert!(path("a").is_within(&path("a")));
    assert!(path("a").is_within(&TreePath::root()));
    assert!(!path("ab").is_within(&path("a")));
    assert!(!path("a").is_within(&path("a/b")));
    let above: Vec<TreePath> = path("a/b/c").ancestors().collect();
    assert_eq!(above, ["a", "a/b"].map(path));
}

/// T7: odd names survive the journal.
#[test]
fn every_path_survives_json_and_nothing_else_is_read() {
    for bytes in [b"a\xffb/\\x41 \n\t\"".as_slice(), b"\x1b[31m", "\u{202e}x".as_bytes()] {
        let path = TreePath::parse(bytes).unwrap();
        let text = serde_json::to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<TreePath>(&text).unwrap(), path);
    }
    for text in ["\"../x\"", "\"/x\"", "\"a//b\"", "\"a\\\\x00\""] {
        serde_json::from_str::<TreePath>(text).unwrap_err();
    }
}
