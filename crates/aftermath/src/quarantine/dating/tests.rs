//! What is older than a moment and what is not, on real files.

use std::path::Path;

use rustix::fs::{CWD, OFlags};

use super::*;

fn open(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

fn changed(path: &Path) -> StatxTimestamp {
    rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::CTIME).unwrap().stx_ctime
}

/// K227: what comes after the moment is never taken for older, however soon it comes; where the kernel can
/// tell, what came right before is.
#[test]
fn before_and_after_are_told_apart_within_a_tick() {
    let directory = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| directory.path().join(name));
    let mut right_before_is_older = 0;
    for _ in 0..200 {
        std::fs::write(&before, "").unwrap();
        let began = Began::now();
        std::fs::write(&after, "").unwrap();
        let dating = began.on(&open(directory.path()));
        if dating == Dating::Unknown {
            return testing::skip("temporary files are on a file system whose dates say nothing");
        }
        assert!(dating.is_recent(changed(&after)), "{began:?} {:?}", changed(&after));
        right_before_is_older += usize::from(!dating.is_recent(changed(&before)));
        std::fs::remove_file(&before).unwrap();
        std::fs::remove_file(&after).unwrap();
    }
    let is_fine = began_is_finer();
    assert!(!is_fine || right_before_is_older == 200, "{right_before_is_older} of 200");
}

/// Whether this kernel dates finer than its timer ticks.
fn began_is_finer() -> bool {
    (0..20).any(|_| {
        let Began { coarse, fine, .. } = Began::now();
        fine > coarse
    })
}

/// A clock that is set back must not make new files old.
#[test]
fn a_clock_that_was_set_back_is_allowed_for() {
    let directory = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    // As if it had been an hour later when the run began.
    let now = Began::now();
    let began = Began {
        coarse: now.coarse + hour,
        fine: now.fine + hour,
        since_boot: now.since_boot + hour,
    };
    let file = directory.path().join("new");
    std::fs::write(&file, "").unwrap();
    assert!(began.on(&open(directory.path())).is_recent(changed(&file)));
}

#[test]
fn other_machines_clocks_are_not_believed() {
    // No file system that anybody keeps files on, and none that is in the table.
    assert_eq!(Began::now().on(&open(Path::new("/proc"))), Dating::Unknown);
    assert!(Dating::Unknown.is_recent(changed(Path::new("/proc"))));
}
