//! Sources as they are written.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn every_form_is_read() {
    let parse = |text: &str| Source::parse(OsStr::new(text)).map_err(|error| error.to_string());
    let overlay = |lowers: &[&str], upper: Option<&str>| Source::Overlay {
        lowers: lowers.iter().map(PathBuf::from).collect(),
        upper: upper.map(PathBuf::from),
    };
    for (text, expected) in [
        ("memory:", Ok(Source::Memory)),
        ("dir:/srv/a", Ok(Source::Directory("/srv/a".into()))),
        (r"dir:/srv/a\:b\\c", Ok(Source::Directory(r"/srv/a:b\c".into()))),
        ("overlay:/a:/b", Ok(overlay(&["/a"], Some("/b")))),
        ("overlay:/a:/b:/c", Ok(overlay(&["/a", "/b"], Some("/c")))),
        ("overlay:/a:", Ok(overlay(&["/a"], None))),
        ("overlay:/a", Ok(overlay(&["/a"], None))),
        ("overlay:", Err("`overlay:` names no lower layer")),
        ("overlay::/b", Err("`overlay::/b` names no lower layer")),
        ("dir:", Err("`dir:` names no directory")),
        ("dir:/a:/b", Err("`dir:/a:/b` is no file system")),
        ("memory:x", Err("`memory:x` is no file system")),
        ("/srv", Err("`/srv` is no file system")),
        ("", Err("`` is no file system")),
    ] {
        assert_eq!(parse(text), expected.map_err(str::to_owned), "{text}");
    }
}
