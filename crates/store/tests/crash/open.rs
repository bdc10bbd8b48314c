//! Opening: what is no store, one that somebody else has, one of a later version.

use std::process::Command;

use store::{Store, StoreError};
use vfs::{Caller, Limits};

/// Set in a process that opens a store which another one has.
const OTHER: &str = "STOCKADE_STORE_OTHER";

/// The other process.
#[test]
fn other() {
    let Some(path) = std::env::var_os(OTHER) else { return };
    let refused = Store::open(path.as_ref(), Limits::default()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse(_)), "{refused}");
    assert!(refused.to_string().ends_with("is in use by another process"), "{refused}");
}

/// A15: a second process is refused, and so is a second opening in the same one.
#[test]
fn a_store_is_one_process_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Store::create(&path, &Caller::root(), 0o755).unwrap();
    let store = Store::open(&path, Limits::default()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let status = command.args(["--exact", "open::other"]).env(OTHER, &path).status().unwrap();
    assert!(status.success());
    assert!(matches!(Store::open(&path, Limits::default()), Err(StoreError::InUse(_))));
    drop(store);
    Store::open(&path, Limits::default()).unwrap();
}

/// A15: whatever else lies there is named.
#[test]
fn what_is_no_store_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let opened = |name: &str| Store::open(&at(name), Limits::default()).unwrap_err();
    assert!(matches!(opened("none"), StoreError::Missing(_)));
    std::fs::write(at("text"), "this is some text, and no store at all ".repeat(100)).unwrap();
    assert!(matches!(opened("text"), StoreError::NotAStore(_)));
    std::fs::write(at("empty"), "").unwrap();
    assert!(matches!(opened("empty"), StoreError::NotAStore(_)));
    std::fs::create_dir(at("directory")).unwrap();
    Store::create(&at("store"), &Caller::root(), 0o755).unwrap();
    std::os::unix::fs::symlink("store", at("link")).unwrap();
    assert!(matches!(opened("link"), StoreError::NotAStore(_)));
    let taken = Store::create(&at("store"), &Caller::root(), 0o755).unwrap_err();
    assert!(matches!(taken, StoreError::Exists(_)));
    let other = rusqlite::Connection::open(at("store")).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    let later = opened("store").to_string();
    assert!(later.contains("has format 99, and this version reads format 1"), "{later}");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&at("store").metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}
