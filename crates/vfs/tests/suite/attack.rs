//! Attacks on a directory of the host from outside it and from inside, with a twin that succeeds.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, Follow, HostMode, Limits, OpenFlags};

use crate::engines;

fn secret_beside(directory: &Path) -> std::path::PathBuf {
    let outside = directory.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    let inside = directory.join("inside");
    std::fs::create_dir_all(inside.join("d")).unwrap();
    std::fs::write(inside.join("d/file"), "public").unwrap();
    inside
}

/// A6, T1: a link that leads out of the directory leads nowhere, whoever put it there.
#[test]
fn links_of_the_host_lead_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let inside = secret_beside(directory.path());
    symlink(directory.path().join("outside/file"), inside.join("absolute")).unwrap();
    symlink("../outside/file", inside.join("relative")).unwrap();
    symlink("/proc/self/root", inside.join("magic")).unwrap();
    // The twin: the host follows them.
    assert_eq!(std::fs::read_to_string(inside.join("relative")).unwrap(), "secret");
    let files = FileSystem::new(engines::host(&inside, HostMode::Writable), &Limits::default());
    let own = Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    for path in
        ["/absolute", "/relative", "/magic/etc/passwd", "/../outside/file", "/d/../../outside/file"]
    {
        let read = files.read_file(&own, path.as_bytes(), 100);
        assert_eq!(read.unwrap_err().errno, Errno::NOENT, "{path}");
    }
    assert_eq!(files.read_file(&own, b"/d/file", 100).unwrap(), b"public");
}

/// A6, T2: somebody exchanges a directory for a link out of it, as fast as they can. A check before the use is fooled;
/// the engine never is.
#[test]
fn exchanged_names_lead_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let inside = secret_beside(directory.path());
    symlink("../outside", inside.join("link")).unwrap();
    let files = FileSystem::new(engines::host(&inside, HostMode::Writable), &Limits::default());
    let own = Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let (one, other) = (inside.join("d"), inside.join("link"));
                rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // The twin: looks first, then opens.
        let patience = Instant::now() + testing::slowly(Duration::from_secs(60));
        let mut was_fooled = false;
        while !was_fooled && Instant::now() < patience {
            let is_directory = inside.join("d").symlink_metadata().unwrap().is_dir();
            let text = std::fs::read_to_string(inside.join("d/file"));
            was_fooled = is_directory && text.is_ok_and(|text| text == "secret");
        }
        let (mut read, mut written) = (0, 0);
        for number in 0..20_000 {
            match files.read_file(&own, b"/d/file", 100) {
                Ok(text) => {
                    assert_eq!(text, b"public");
                    read += 1;
                }
                Err(error) => {
                    assert!(matches!(error.errno, Errno::NOENT | Errno::NOTDIR), "{error}")
                }
            }
            let flags = OpenFlags { create: true, ..OpenFlags::WRITE };
            let path = format!("/d/{}", number % 100);
            if files.open(&own, At::Root, path.as_bytes(), flags, 0o600).is_ok() {
                written += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(was_fooled, "the attack works where nothing stands in its way");
        assert!(read > 100 && written > 100, "{read} {written}");
    });
    let outside = std::fs::read_dir(directory.path().join("outside")).unwrap();
    assert_eq!(outside.count(), 1, "nothing was made outside");
}

/// A6: a directory that is moved out of the tree leads nowhere but to what is in it.
#[test]
fn moved_directories_lead_nowhere_new() {
    let directory = tempfile::tempdir().unwrap();
    let inside = secret_beside(directory.path());
    let files = FileSystem::new(engines::host(&inside, HostMode::Writable), &Limits::default());
    let own = Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let open = files.open(&own, At::Root, b"/d", OpenFlags::READ, 0).unwrap();
    std::fs::rename(inside.join("d"), directory.path().join("outside/d")).unwrap();
    let read = files.stat(&own, At::Directory(&open), b"../file", Follow::Yes);
    assert_eq!(read.unwrap_err().errno, Errno::NOENT);
    let read = files.stat(&own, At::Directory(&open), b"../outside/file", Follow::Yes);
    assert_eq!(read.unwrap_err().errno, Errno::NOENT);
}

/// A7: a directory of the host is not changed unless that was said.
#[test]
fn read_only_is_the_engines() {
    let directory = tempfile::tempdir().unwrap();
    let inside = secret_beside(directory.path());
    let files = FileSystem::new(engines::host(&inside, HostMode::ReadOnly), &Limits::default());
    let own = Caller::of(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let refused = |done: vfs::Result<()>| assert_eq!(done.unwrap_err().errno, Errno::ROFS);
    refused(files.write_file(&own, b"/d/new", b"x"));
    refused(files.write_file(&own, b"/d/file", b"x"));
    refused(files.set_mode(&own, At::Root, b"/d/file", 0o600));
    refused(files.remove(&own, At::Root, b"/d/file", vfs::Removal::File));
    let (from, to) = ((At::Root, &b"/d/file"[..]), (At::Root, &b"/d/other"[..]));
    refused(files.rename(&own, from, to, vfs::Replace::Yes));
    refused(files.make(&own, At::Root, b"/e", vfs::New::Directory, 0o755));
    assert_eq!(files.read_file(&own, b"/d/file", 100).unwrap(), b"public");
}
