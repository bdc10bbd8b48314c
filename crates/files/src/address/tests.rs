//! What words name.

use std::ffi::OsStr;

use super::{Address, Of};

fn read(text: &str) -> String {
    match Address::parse(OsStr::new(text)) {
        Ok(Address { of, path }) => {
            let of = match of {
                Of::Session(id) => format!("session {id}"),
                Of::Directory(path) => format!("directory {}", path.display()),
                Of::Store(path) => format!("store {}", path.display()),
                Of::Remote(store) => format!("{store:?}"),
            };
            format!("{of} {}", String::from_utf8_lossy(&path))
        }
        Err(error) => error.to_string(),
    }
}

/// A9: sessions and sources, each with a path in it.
#[test]
fn words_name_sessions_and_sources() {
    for (text, expected) in [
        ("work:/scratch/a", "session work /scratch/a"),
        ("work:src/a:b", "session work src/a:b"),
        ("work:", "session work "),
        ("dir:/a/b", "directory /a/b "),
        (r"dir:/a\:b:c/d", "directory /a:b c/d"),
        ("store:data.db:/x", "store data.db /x"),
        ("s3://bucket", "S3 { bucket: \"bucket\", prefix: \"\" } "),
        ("s3://bucket/a/b", "S3 { bucket: \"bucket\", prefix: \"\" } /a/b"),
        ("gdrive::a", "Drive { folder: \"root\" } a"),
        ("gdrive:id:a/b", "Drive { folder: \"id\" } a/b"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
    for (text, says) in [
        ("work", "SESSION:PATH"),
        (":/x", "SESSION:PATH"),
        ("dir:", "SESSION:PATH"),
        ("memory:", "nothing of it is kept"),
        ("s3://B/x", "the name of a bucket"),
        ("../x:y", "SESSION:PATH"),
    ] {
        assert!(read(text).contains(says), "{text}: {}", read(text));
    }
    for (text, is_meant) in [("work:a", true), ("./work:a", false), ("a/b:c", false), ("a", false)]
    {
        assert_eq!(Address::is_meant_by(OsStr::new(text)), is_meant, "{text}");
    }
}
