//! How a place that files come from is written.

use super::{MountedFrom, MountedFromError, RemoteStore, WrittenFrom};

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
    ] {
        assert_eq!(WrittenFrom::parse(text), Ok(read), "{text}");
    }
}

#[test]
fn what_is_none_is_refused_with_the_reason() {
    use MountedFromError::{Bucket, Folder, Prefix, Unknown};
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
