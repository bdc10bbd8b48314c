//! What can be the name of a session.

use super::SessionId;

/// K38: names that cannot traverse or collide.
#[test]
fn names() {
    let longest = "a".repeat(63);
    for good in ["a", "0", "build-17", "a-", "0-0", longest.as_str()] {
        assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
    }
    let too_long = "a".repeat(64);
    let bad = [
        "",
        "-",
        "-a",
        ".",
        "..",
        "a/b",
        "../a",
        "a.b",
        "A",
        "ä",
        "a b",
        "a\n",
        "a\0",
        "_",
        "once_",
        too_long.as_str(),
    ];
    for bad in bad {
        assert!(SessionId::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_made_name_is_one_and_differs() {
    let (one, other) = (SessionId::generate().unwrap(), SessionId::generate().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.as_str().len(), 26);
    assert_eq!(SessionId::parse(one.as_str()).unwrap(), one);
}
