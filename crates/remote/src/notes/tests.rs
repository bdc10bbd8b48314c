//! Notes as text, and texts that somebody else wrote.

use super::*;

fn all() -> Notes {
    let time = |seconds| Some(Timestamp { seconds, nanoseconds: 999_999_999 });
    Notes {
        kind: NotedKind::Link,
        mode: Some(0o7777),
        uid: Some(0),
        gid: Some(u32::MAX - 1),
        accessed: time(i64::MAX),
        modified: time(-1),
        changed: time(i64::MIN),
        further_names: 3,
        length: Some(1 << 62),
        xattrs: BTreeMap::from([
            (b"trusted.a".to_vec(), b"x".to_vec()),
            (b"user.\xff;:".to_vec(), Vec::new()),
        ]),
        linked: crate::objects::Linked::Alone,
    }
}

#[test]
fn notes_come_back_as_they_were() {
    for notes in [Notes::default(), all(), Notes { kind: NotedKind::Fifo, ..Notes::default() }] {
        assert_eq!(Notes::parse(&notes.encode()), Some(notes));
    }
    assert_eq!(Notes::default().encode(), "1");
}

/// A17: what somebody else wrote is no note unless it could be ours.
#[test]
fn forged_notes_are_none() {
    for text in [
        "",
        "2",
        "1;",
        "1;z1",
        "1;kdevice",
        "1;kblock",
        "1;m10000",
        "1;m-1",
        "1;m0644",
        "1;m+644",
        "1;m644;m644",
        "1;m644;m600",
        "1;g0;u0",
        "1;u4294967295",
        "1;u-1",
        "1;u 0",
        "1;a1",
        "1;a1.1000000000",
        "1;a1.01",
        "1;a9223372036854775808.0",
        "1;n65000",
        "1;n0",
        "1;l9223372036854775808",
        "1;xdXNlci5h",
        "1;xdXNlci5h:x",
        // `security.a`, a name with a NUL, the same name twice.
        "1;xc2VjdXJpdHkuYQ==:eA==",
        "1;xdXNlci4A:eA==",
        "1;xdXNlci5h:eA==;xdXNlci5h:eA==",
        "1;m٦٤٤",
        "1;\u{1F600}",
    ] {
        assert_eq!(Notes::parse(text), None, "{text}");
    }
    assert_eq!(Notes::parse(&"1;m644".repeat(1 << 20)), None);
}

/// Every text that is near to one of ours is that of notes, or none: no part of it is taken and the rest left.
#[test]
fn changed_texts_never_mean_two_things() {
    let text = all().encode();
    for at in 0..text.len() {
        for sign in [";", ":", "0", "9", "-", "k", "x", "=", "é"] {
            let changed = format!("{}{sign}{}", &text[..at], &text[at + 1..]);
            if let Some(notes) = Notes::parse(&changed) {
                assert_eq!(notes.encode(), changed);
            }
        }
    }
}
