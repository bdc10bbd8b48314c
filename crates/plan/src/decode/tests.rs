//! What comes over a socket is a Plan or an error, never something in between.

use super::*;
use crate::sample::{bind, directory, file, plan};
use crate::{Access, BindPurpose};

/// K27, T52
#[test]
fn a_plan_survives_the_way() {
    let plan = plan(vec![directory("/a"), file("/a/b")]);
    assert_eq!(decode(&encode(&plan)).unwrap(), plan);
}

#[track_caller]
fn changed(from: &str, to: &str) -> DecodeError {
    let grant = bind(0, "/a", Access::ReadOnly, BindPurpose::Grant);
    let text = String::from_utf8(encode(&plan(vec![directory("/a"), grant]))).unwrap();
    assert!(text.contains(from), "{text}");
    decode(text.replacen(from, to, 1).as_bytes()).unwrap_err()
}

/// T52
#[test]
fn anything_else_is_refused() {
    let other = changed("\"version\":4", "\"version\":5");
    assert!(matches!(other, DecodeError::Version { found: 5 }), "{other}");
    // Another version with another shape is told as another version.
    let other = decode(b"{\"version\":7,\"shape\":[]}").unwrap_err();
    assert!(matches!(other, DecodeError::Version { found: 7 }), "{other}");
    for (from, to) in [
        ("\"cage\":", "\"cage\":\"x\",\"cage\":"),
        ("\"umask\":", "\"more\":1,\"umask\":"),
        ("\"op\":\"directory\"", "\"op\":\"teleport\""),
        ("\"at\":\"/a\"", "\"at\":\"/a/../b\""),
        ("\"at\":\"/a\"", "\"at\":\"a\""),
        ("\"mode\":493", "\"mode\":493,\"more\":1"),
        ("\"mapping\":", "\"more\":1,\"mapping\":"),
        ("\"with_notify\":\"", "\"with_notify\":\"00"),
        ("\"with_notify\":\"", "\"with_notify\":\"\",\"x\":\""),
        ("\"uid\":1000", "\"uid\":-1"),
        ("\"uid\":1000", "\"uid\":1e3"),
    ] {
        let error = changed(from, to);
        assert!(matches!(error, DecodeError::Malformed(_)), "{from} {to}: {error:?}");
    }
    let error = changed("\"uid\":1000", "\"uid\":0");
    assert!(matches!(error, DecodeError::Defect(PlanDefect::RootId { .. })), "{error}");
    assert!(matches!(decode(b""), Err(DecodeError::Malformed(_))));
    assert!(matches!(decode(&[b'['; 10_000]), Err(DecodeError::Malformed(_))));
}

/// T52: the size is looked at first.
#[test]
fn a_huge_plan_is_not_parsed() {
    let bytes = vec![b' '; MAX_PLAN_BYTES + 1];
    assert!(matches!(decode(&bytes), Err(DecodeError::TooLarge { .. })));
}
