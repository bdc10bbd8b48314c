//! Trees that are measured, also by steps and while they cannot all be read.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Amount, Meter, Reading};

const LONG: Duration = Duration::from_secs(60);

fn meter(root: &Path, bytes: u64, names: u64) -> Meter {
    let root = OwnedFd::from(fs::File::open(root).unwrap());
    Meter::new(vec![root], Amount { bytes, names })
}

fn beyond(reading: Reading) -> Option<Amount> {
    match reading {
        Reading::Within => None,
        Reading::Beyond(amount) => Some(amount),
    }
}

#[test]
fn names_and_bytes_are_bounded() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a/b/c")).unwrap();
    for number in 0..3000 {
        fs::write(root.path().join(format!("a/b/{number}")), "").unwrap();
    }
    assert_eq!(meter(root.path(), u64::MAX, 3003).measure(LONG), Reading::Within);
    assert!(beyond(meter(root.path(), u64::MAX, 3002).measure(LONG)).is_some());
    fs::write(root.path().join("a/large"), vec![1; 4 << 20]).unwrap();
    // A second name takes no room.
    fs::hard_link(root.path().join("a/large"), root.path().join("a/again")).unwrap();
    assert_eq!(meter(root.path(), 7 << 20, u64::MAX).measure(LONG), Reading::Within);
    let found = beyond(meter(root.path(), 3 << 20, u64::MAX).measure(LONG)).unwrap();
    assert!(found.bytes >= 4 << 20, "{found:?}");
}

#[test]
fn steps_come_to_the_same() {
    let root = tempfile::tempdir().unwrap();
    for directory in 0..20 {
        let path = root.path().join(directory.to_string());
        fs::create_dir(&path).unwrap();
        for number in 0..300 {
            fs::write(path.join(number.to_string()), "").unwrap();
        }
    }
    let mut meter = meter(root.path(), u64::MAX, 6000);
    assert_eq!(meter.measure(Duration::ZERO), Reading::Within);
    let steps = (0..10_000).find_map(|_| beyond(meter.go_on(Duration::from_nanos(1))));
    assert!(steps.is_some());
}

/// A link leads nowhere, and a tree as deep as it may be is walked or is told not to be.
#[test]
fn hostile_trees_do_no_harm() {
    let root = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/usr", root.path().join("link")).unwrap();
    let mut deep = root.path().to_owned();
    for _ in 0..600 {
        deep.push("d");
        fs::create_dir(&deep).unwrap();
    }
    let mut meter = meter(root.path(), 1 << 40, 1 << 30);
    assert_eq!(meter.measure(LONG), Reading::Within);
    assert!(meter.last.as_ref().unwrap().found.names < 1000);
}

/// What a program makes unreadable is counted as what its file system has grown by.
#[test]
fn what_cannot_be_read_counts_as_growth() {
    if rustix::process::geteuid().is_root() {
        return testing::skip("root reads everything");
    }
    let root = tempfile::tempdir().unwrap();
    let mut meter = meter(root.path(), 8 << 20, u64::MAX);
    let shut = root.path().join("shut");
    fs::create_dir(&shut).unwrap();
    fs::write(shut.join("large"), vec![1; 64 << 20]).unwrap();
    fs::File::open(shut.join("large")).unwrap().sync_all().unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    let reading = meter.measure(LONG);
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(beyond(reading).is_some());
}
