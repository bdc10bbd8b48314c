//! What comes over a socket is a Plan or an error, never something in between.

use super::*;
use crate::sample::{directory, file, plan};

/// K27, T52
#[test]
fn a_plan_survives_the_way() {
    let plan = plan(vec![directory("/a"), file("/a/b")]);
    assert_eq!(decode(&encode(&plan)).unwrap(), plan);
}

/// K27, T52: what is remembered of a cage changes nothing about what is written and read.
#[test]
fn each_of_many_is_taken_for_what_it_is() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let cages: Vec<Plan> =
        (0..8).map(|number| plan(vec![directory(&format!("/{number}"))])).collect();
    for round in 0..3 {
        for cage in &cages {
            for start in ["first", "second"] {
                let mut plan = cage.clone();
                let word = format!("{start} {round}");
                plan.argv = vec![ByteString::from(word.as_str())];
                plan.invocation = format!("01ARZ3NDEKTSV4RRFFQ69G5FA{round}");
                plan.umask = round;
                plan.summary.line = word;
                let bytes = encode(&plan);
                assert_eq!(encoder.encode(&plan), bytes);
                assert_eq!(*decoder.decode(&bytes).unwrap(), plan);
            }
        }
    }
}

/// K27: what one start was given does not stay for the next.
#[test]
fn a_start_is_forgotten() {
    let mut decoder = Decoder::default();
    let mut secret = plan(vec![directory("/a")]);
    secret.argv.push(ByteString::from("hunter2"));
    for _ in 0..2 {
        assert_eq!(*decoder.decode(&encode(&secret)).unwrap(), secret);
        decoder.forget_start();
        assert!(!format!("{decoder:?}").contains("hunter2"));
    }
    let (_, kept) = decoder.known.last_put().unwrap();
    assert!(kept.argv.is_empty() && kept.environment.is_empty());
    assert_eq!(kept.mounts, secret.mounts);
}

/// K27: a cage that is too large to be remembered is a cage like any other.
#[test]
fn a_large_cage_is_not_remembered() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let contents = ByteString::from(vec![b'a'; crate::latest::MOST_WEIGHT]);
    let at = GuestPath::new("/f").unwrap();
    let large = plan(vec![MountOp::File { at, mode: 0o644, contents }]);
    for _ in 0..2 {
        let bytes = encode(&large);
        assert_eq!(encoder.encode(&large), bytes);
        assert_eq!(decoder.decode(&bytes).unwrap(), Cow::<Plan>::Owned(large.clone()));
        assert!(encoder.known.take(|_| true).is_none());
        assert!(decoder.known.take(|_| true).is_none());
    }
}

/// T52: the walls of a known cage vouch for nothing else.
#[test]
fn known_walls_do_not_excuse_a_bad_start() {
    let mut decoder = Decoder::default();
    let good = plan(vec![directory("/a")]);
    decoder.decode(&encode(&good)).unwrap();
    let mut bad = good.clone();
    bad.argv.clear();
    assert!(matches!(decoder.decode(&encode(&bad)), Err(DecodeError::Defect(_))));
    let mut root = good.clone();
    root.identity.uid = 0;
    assert!(matches!(decoder.decode(&encode(&root)), Err(DecodeError::Defect(_))));
    let text = encode(&good);
    let end = text.iter().position(|byte| *byte == b'\n').unwrap();
    assert!(matches!(decoder.decode(&text[..end]), Err(DecodeError::Malformed(_))));
    assert_eq!(*decoder.decode(&text).unwrap(), good);
}

#[track_caller]
fn changed(from: &str, to: &str) -> DecodeError {
    let text = String::from_utf8(encode(&plan(vec![directory("/a")]))).unwrap();
    assert!(text.contains(from), "{text}");
    decode(text.replacen(from, to, 1).as_bytes()).unwrap_err()
}

/// T52
#[test]
fn anything_else_is_refused() {
    assert!(matches!(changed("\"version\":1", "\"version\":2"), DecodeError::Version { found: 2 }));
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
