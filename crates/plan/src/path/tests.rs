//! Paths against the standard library's, which takes more forms and more time.

use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;

use super::*;

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

/// V16, T7
#[test]
fn only_absolute_normal_paths_are_taken() {
    let cases: &[(&str, Result<(), PathError>)] = &[
        ("/", Ok(())),
        ("/a", Ok(())),
        ("/a/b.c/..d", Ok(())),
        ("/a\\ b\n[*", Ok(())),
        ("", Err(PathError::NotAbsolute)),
        ("a", Err(PathError::NotAbsolute)),
        ("//", Err(PathError::NotNormal)),
        ("/a/", Err(PathError::NotNormal)),
        ("/a//b", Err(PathError::NotNormal)),
        ("/a/./b", Err(PathError::NotNormal)),
        ("/a/../b", Err(PathError::NotNormal)),
        ("/..", Err(PathError::NotNormal)),
        ("/a\0b", Err(PathError::Nul)),
    ];
    for (text, expected) in cases {
        assert_eq!(HostPath::new(*text).map(|_| ()), *expected, "{text:?}");
    }
    let longest = format!("/{}", "a".repeat(MAX_PATH_BYTES - 1));
    assert!(GuestPath::new(longest.as_str()).is_ok());
    assert_eq!(GuestPath::new(longest + "a"), Err(PathError::TooLong));
    assert!(HostPath::new(vec![b'/', 0xff, 0xfe]).is_ok());
}

/// K236
#[test]
fn neighbours_are_not_inside() {
    assert!(path("/a/b").is_within(&path("/a")));
    assert!(path("/a").is_within(&path("/a")));
    assert!(path("/a").is_within(&HostPath::root()));
    assert!(HostPath::root().is_within(&HostPath::root()));
    assert!(!path("/ab").is_within(&path("/a")));
    assert!(!path("/a").is_within(&path("/a/b")));
    assert!(!HostPath::root().is_within(&path("/a")));
}

fn arbitrary_path() -> impl Strategy<Value = HostPath> {
    let component = prop::sample::select(vec!["a", "b", "ab", "a-b", "...", " ", "é"]);
    prop::collection::vec(component, 0..5)
        .prop_map(|components| path(&format!("/{}", components.join("/"))))
}

proptest! {
    /// K236: the byte-wise answers are the standard library's.
    #[test]
    fn answers_are_those_of_the_standard_library(one in arbitrary_path(), other in arbitrary_path()) {
        prop_assert_eq!(one.is_within(&other), one.as_path().starts_with(other.as_path()));
        prop_assert_eq!(
            one.parent().map(|parent| parent.as_path().to_owned()),
            one.as_path().parent().map(ToOwned::to_owned)
        );
        prop_assert_eq!(one.file_name(), one.as_path().file_name().map(OsStrExt::as_bytes));
        prop_assert_eq!(one.depth(), one.as_path().components().count() - 1);
        prop_assert_eq!(one.ancestors().count(), one.ancestors_from_root().len());
        let joined = one.join(other.relative_to_root());
        if other != HostPath::root() {
            prop_assert!(joined.unwrap().is_within(&one));
        }
    }
}
