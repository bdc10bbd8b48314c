//! How a place that files come from is written.

use super::{Calls, Inside, MountedFrom, MountedFromError, RemoteStore, WrittenFrom};

#[test]
fn each_kind_is_read() {
    let s3 = |bucket: &str, prefix: &str| {
        let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
        WrittenFrom::Remote(RemoteStore::S3 { bucket, prefix })
    };
    let drive =
        |folder: &str| WrittenFrom::Remote(RemoteStore::Drive { folder: folder.to_owned() });
    for (text, read) in [
        ("memory:", WrittenFrom::Memory),
        ("dir:a:b", WrittenFrom::Directory("a:b")),
        ("store:/a/b.db", WrittenFrom::Store("/a/b.db")),
        ("s3://bucket", s3("bucket", "")),
        ("s3://bucket/a/b/", s3("bucket", "a/b")),
        ("gdrive:", drive("root")),
        ("gdrive:1a_-Z", drive("1a_-Z")),
        ("tools:", WrittenFrom::Inside(Inside { calls: Calls::Tools, names: Vec::new() })),
        (
            "services:llm",
            WrittenFrom::Inside(Inside { calls: Calls::Services, names: vec!["llm".into()] }),
        ),
    ] {
        assert_eq!(WrittenFrom::parse(text), Ok(read), "{text}");
    }
}

#[test]
fn what_is_none_is_refused_with_the_reason() {
    use MountedFromError::{Bucket, Calls, Folder, Prefix, Unknown};
    for (text, error) in [
        ("", Unknown),
        ("memory", Unknown),
        ("memory:x", Unknown),
        ("https://host/", Unknown),
        ("az:container", Unknown),
        ("az://Container/a", Bucket),
        ("s3://", Bucket),
        ("s3://Bucket/a", Bucket),
        ("s3://b:8080/a", Bucket),
        ("s3://-bucket/a", Bucket),
        ("gs://bucket/../a", Prefix),
        ("s3://bucket//a", Prefix),
        ("gdrive:a/b", Folder),
        ("tools:Read", Calls),
        ("tools:read,", Calls),
        ("services:../llm", Calls),
    ] {
        assert_eq!(WrittenFrom::parse(text), Err(error), "{text}");
    }
}

#[test]
fn what_is_shown_can_be_written() {
    for text in ["s3://bucket/a/b", "gs://bucket/", "gdrive:root"] {
        let Ok(WrittenFrom::Remote(store)) = WrittenFrom::parse(text) else { panic!("{text}") };
        assert_eq!(MountedFrom::Remote(store).to_string(), text);
    }
}

/// V34: calls are held by who has all of them.
#[test]
fn calls_hold_those_that_they_name() {
    let of = |text: &str| match WrittenFrom::parse(text) {
        Ok(WrittenFrom::Inside(inside)) => MountedFrom::Inside(inside),
        other => panic!("{text}: {other:?}"),
    };
    for (own, other, holds) in [
        ("tools:", "tools:exec", true),
        ("tools:", "tools:", true),
        ("tools:read,exec", "tools:exec", true),
        ("tools:read", "tools:exec", false),
        ("tools:read", "tools:", false),
        ("tools:", "services:", false),
        ("services:llm", "services:llm", true),
    ] {
        assert_eq!(of(own).holds(&of(other)), holds, "{own} {other}");
    }
    assert_eq!(of("tools:read,exec,read").to_string(), "tools:exec,read");
}
