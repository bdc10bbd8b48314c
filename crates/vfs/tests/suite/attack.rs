//! Attacks on a directory of the host from outside it and from inside, with a twin that succeeds.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, Follow, Host, HostMode, Limits, OpenFlags};

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

/// A6, T82: what an access control list denies is read by nobody whom only the mode allows it, where root serves others.
#[test]
fn lists_that_deny_are_heeded() {
    // As `acl(5)` has it on disk: somebody by number has nothing, everybody else may read.
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 6, u32::MAX),
        (0x02, 0, 23_457),
        (0x04, 4, u32::MAX),
        (0x10, 4, u32::MAX),
        (0x20, 4, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, may, id) in entries {
        list.extend([&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("d")).unwrap();
    for name in ["listed", "plain", "d/file"] {
        std::fs::write(directory.path().join(name), "text").unwrap();
    }
    for path in ["listed", "d"] {
        let path = directory.path().join(path);
        let none = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(&path, "system.posix_acl_access", &list, none) {
            Err(Errno::OPNOTSUPP) => return testing::skip("a file system without access lists"),
            set => set.unwrap(),
        }
    }
    rustix::fs::chmod(directory.path().join("d"), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    rustix::fs::chmod(directory.path(), rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    let opened = std::fs::File::open(directory.path()).unwrap();
    let files = |heeds: bool| {
        let host =
            Host::new(opened.try_clone().unwrap().into(), HostMode::Writable, &Limits::default());
        let host = if heeds { host.unwrap().heeding_access_lists() } else { host.unwrap() };
        FileSystem::new(Arc::new(host), &Limits::default())
    };
    let other = Caller::of(23_457, 23_457);
    // The twin: the mode alone says yes.
    assert_eq!(files(false).read_file(&other, b"/listed", 100).unwrap(), b"text");
    for path in [&b"/listed"[..], b"/d/file"] {
        let refused = files(true).read_file(&other, path, 100).unwrap_err();
        assert_eq!(refused.errno, Errno::ACCESS);
    }
    assert_eq!(files(true).read_file(&other, b"/plain", 100).unwrap(), b"text");
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    assert_eq!(files(true).read_file(&Caller::of(uid, gid), b"/listed", 100).unwrap(), b"text");
}
