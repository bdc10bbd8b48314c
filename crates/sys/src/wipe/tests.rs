//! Trees that a program may leave behind, and one that is not its own.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::wipe;

fn open(path: &Path) -> OwnedFd {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn wiped(parent: &Path, name: &str) -> Result<(), Errno> {
    wipe(open(parent).as_fd(), &CString::new(name).unwrap())
}

/// K38, K177: nothing is followed.
#[test]
fn links_are_removed_and_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    let target = place.path().join("target");
    fs::create_dir_all(target.join("a/b")).unwrap();
    symlink(&outside, target.join("link")).unwrap();
    symlink("../../../outside", target.join("a/b/link")).unwrap();
    symlink(&outside, place.path().join("is-a-link")).unwrap();
    wiped(place.path(), "target").unwrap();
    assert!(!target.exists());
    assert_eq!(wiped(place.path(), "is-a-link"), Err(Errno::NOTDIR));
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "kept");
    wiped(place.path(), "does-not-exist").unwrap();
}

/// T29: a tree that is deeper than any path, wider than a buffer, and shut.
#[test]
fn deep_wide_and_shut_trees_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("target");
    fs::create_dir(&target).unwrap();
    let mut directory = open(&target);
    for level in 0..1200 {
        rustix::fs::mkdirat(&directory, "deeper", Mode::RWXU).unwrap();
        if level % 100 == 0 {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            drop(rustix::fs::openat(&directory, "file", flags, Mode::RUSR).unwrap());
        }
        let below = rustix::fs::openat(
            &directory,
            "deeper",
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        );
        let above = std::mem::replace(&mut directory, below.unwrap());
        if level % 7 == 0 {
            rustix::fs::fchmod(&above, Mode::empty()).unwrap();
        }
    }
    fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(target.join("wide")).unwrap();
    for number in 0..4500 {
        fs::write(target.join(format!("wide/{number}")), "").unwrap();
    }
    for number in 0..300 {
        fs::create_dir(target.join(format!(".wiped-{number}"))).unwrap();
    }
    fs::write(target.join(".wiped-7/file"), "").unwrap();
    fs::set_permissions(target.join("wide"), fs::Permissions::from_mode(0o500)).unwrap();
    wiped(place.path(), "target").unwrap();
    assert!(!target.exists());
}
