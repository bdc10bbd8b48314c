//! Directories to write to that did not exist.

use std::os::unix::fs::symlink;

use super::*;

/// M35, T59: made inside a directory of the caller's own, one level deep, or not at all.
#[test]
fn a_root_is_made_in_a_directory_of_the_callers_own() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    let path = |below: &str| HostPath::new(root.join(below).into_os_string()).unwrap();
    std::fs::create_dir_all(root.join("own/below")).unwrap();
    std::fs::write(root.join("file"), "").unwrap();
    symlink(root.join("own"), root.join("link")).unwrap();
    create(&path("own/out"), None).unwrap();
    assert_eq!(found(&path("own/out")), Found::Directory);
    // Somebody else was faster.
    create(&path("own/out"), None).unwrap();
    for (below, why) in [
        ("none/out", "No such file"),
        ("link/out", "a link"),
        ("link/below/out", "a link"),
        ("file/out", "no directory"),
    ] {
        let refused = create(&path(below), None).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(found(&path("own/below/out")), Found::Missing);
    // A link may lead to the caller's home, and none below it.
    let home = path("link");
    create(&path("link/made"), Some(&home)).unwrap();
    create(&path("link/below/out"), Some(&home)).unwrap();
    symlink(root.join("own/below"), root.join("own/alias")).unwrap();
    assert!(create(&path("link/alias/more"), Some(&home)).is_err());
    assert_eq!(found(&path("own/below/more")), Found::Missing);
    assert_eq!(found(&path("file")), Found::Other);
    assert_eq!(found(&path("none")), Found::Missing);
}

/// M35
#[test]
fn a_root_is_not_made_in_somebody_elses_directory() {
    if testing::is_root() {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        std::os::unix::fs::chown(&root, Some(12345), None).unwrap();
        let out = HostPath::new(root.join("out").into_os_string()).unwrap();
        assert!(create(&out, None).unwrap_err().contains("somebody else"));
        return;
    }
    let refused = create(&HostPath::new("/tmp/stockade-not-made").unwrap(), None).unwrap_err();
    assert!(refused.contains("somebody else"), "{refused}");
}
