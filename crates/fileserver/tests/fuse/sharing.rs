//! One engine, several users: the kernel sees what others change, locks hold between them, and what the kernel held is
//! given back when it goes.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use vfs::{
    At, Caller, FileSystem, Limits, LockKind, Memory, Name, New, OpenFlags, Overlay, Patience,
    Removal,
};

use crate::served::{Served, alone, can_mount, host, memory, shared};

/// A10, A18: who serves an engine that others change asks it every time.
#[test]
fn others_changes_are_seen() {
    if !can_mount() {
        return;
    }
    let engine = memory();
    let files = FileSystem::new(Arc::clone(&engine), &Limits::default());
    let root = Caller::root();
    let served = Served::new(engine, shared());
    let path = served.path().join("f");
    assert!(!path.exists());
    files.write_file(&root, b"/f", b"one").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    files.write_file(&root, b"/f", b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(fs::metadata(&path).unwrap().len(), 6);
    fs::write(&path, "third").unwrap();
    assert_eq!(files.read_file(&root, b"/f", 100).unwrap(), b"third");
    files.remove(&root, At::Root, b"/f", Removal::File).unwrap();
    assert!(!path.exists());
    files.make(&root, At::Root, b"/f", New::Directory, 0o700).unwrap();
    assert!(path.is_dir());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

/// A9: the trusted side tells a kernel that keeps everything what it has changed.
#[test]
fn a_kernel_that_keeps_everything_can_be_told() {
    if !can_mount() {
        return;
    }
    let engine = memory();
    let files = FileSystem::new(Arc::clone(&engine), &Limits::default());
    let root = Caller::root();
    files.write_file(&root, b"/f", b"one").unwrap();
    let served = Served::new(Arc::clone(&engine), alone());
    let (path, new) = (served.path().join("f"), served.path().join("new"));
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert!(!new.exists());
    files.write_file(&root, b"/f", b"two").unwrap();
    files.write_file(&root, b"/new", b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one", "it is kept");
    let found = engine.lookup(&root, engine.root(), Name::new(b"f").unwrap()).unwrap();
    served.kernel.file_changed(found.inode).unwrap();
    served.kernel.name_changed(engine.root(), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(fs::read(&new).unwrap(), b"new");
    engine.forget(found.inode, 1);
}

/// A18: locks hold between a program and a guest in this process; who waits is woken by the lock, or by a signal.
#[test]
fn locks_hold_between_guests() {
    if !can_mount() || !testing::has("flock") {
        return;
    }
    let engine = memory();
    let files = FileSystem::new(Arc::clone(&engine), &Limits::default());
    let root = Caller { pid: 1, ..Caller::root() };
    files.write_file(&root, b"/f", b"one").unwrap();
    let served = Served::new(engine, shared());
    let path = served.path().join("f");
    let file = files.open(&root, At::Root, b"/f", OpenFlags::READ, 0).unwrap();
    file.lock_whole(LockKind::Exclusive, Patience::None).unwrap();
    let try_lock = || Command::new("flock").arg("-n").arg(&path).arg("true").status().unwrap();
    assert!(!try_lock().success());
    // One that waits can be killed, and does not get the lock afterwards.
    let mut waiting = Command::new("flock").arg(&path).arg("true").spawn().unwrap();
    std::thread::sleep(testing::slowly(Duration::from_millis(300)));
    assert!(waiting.try_wait().unwrap().is_none());
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    let mut waiting = Command::new("flock").arg(&path).arg("true").spawn().unwrap();
    std::thread::sleep(testing::slowly(Duration::from_millis(100)));
    file.lock_whole(LockKind::Unlock, Patience::None).unwrap();
    assert!(waiting.wait().unwrap().success());
    assert!(try_lock().success());
}

/// A21: what the kernel held, and what was open, is given back at the end, whatever state it was in.
#[test]
fn everything_is_given_back() {
    if !can_mount() {
        return;
    }
    let limits = Limits { max_open_files: 100, ..Limits::default() };
    let memory = Arc::new(Memory::new(&Caller::root(), 0o755, limits));
    for round in 0..5 {
        let served = Served::new(memory.clone(), alone());
        for number in 0..60 {
            fs::write(served.path().join(format!("{round}-{number}")), "x").unwrap();
        }
        let held: Vec<File> = (0..60)
            .map(|number| File::open(served.path().join(format!("{round}-{number}"))).unwrap())
            .collect();
        // Unlinked while they are open: what is in them goes when nobody has them any more.
        for number in 0..60 {
            fs::remove_file(served.path().join(format!("{round}-{number}"))).unwrap();
        }
        drop(held);
    }
    let files = FileSystem::new(memory, &limits);
    let space = files.space(&Caller::root(), At::Root, b"/").unwrap();
    assert_eq!((space.blocks - space.free_blocks, space.inodes - space.free_inodes), (0, 0));
}

/// A12, A21: a tree of more files than may be remembered is served; what is in use stays usable.
#[test]
fn the_kernel_is_told_to_forget() {
    if !can_mount() {
        return;
    }
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let limits = Limits { max_inodes: 1000, ..Limits::default() };
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
    let directory = rustix::fs::open(place.path(), flags, rustix::fs::Mode::empty()).unwrap();
    let host = vfs::Host::new(directory, vfs::HostMode::WritableAsCaller, &limits).unwrap();
    let settings = fileserver::Settings { most_remembered: Some(300), ..alone() };
    let served = Served::new(Arc::new(host), settings);
    fs::create_dir(served.path().join("d")).unwrap();
    let path = |number: usize| served.path().join(format!("d/{number}"));
    let mut first = File::create_new(path(0)).unwrap();
    for number in 1..2000 {
        fs::write(path(number), number.to_string()).unwrap();
    }
    for number in (1..2000).rev() {
        assert_eq!(fs::read_to_string(path(number)).unwrap(), number.to_string());
    }
    assert_eq!(fs::read_dir(served.path().join("d")).unwrap().count(), 2000);
    std::io::Write::write_all(&mut first, b"still").unwrap();
    assert_eq!(fs::read_to_string(path(0)).unwrap(), "still");
    fs::remove_dir_all(served.path().join("d")).unwrap();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// A19: layers with something in them, as programs have them.
#[test]
fn lower_layers_stay_as_they_are() {
    if !can_mount() {
        return;
    }
    let (place, lower) = host();
    fs::create_dir_all(place.path().join("d/e")).unwrap();
    for number in 0..200 {
        fs::write(place.path().join(format!("d/{number}")), format!("{number}")).unwrap();
    }
    fs::write(place.path().join("f"), "below").unwrap();
    fs::hard_link(place.path().join("f"), place.path().join("g")).unwrap();
    let limits = Limits::default();
    let overlay = Overlay::new(vec![lower], memory(), &limits).unwrap();
    let served = Served::new(Arc::new(overlay), alone());
    let at = |name: &str| served.path().join(name);
    let numbers: Vec<(u64, u64)> = fs::read_dir(served.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            use std::os::unix::fs::DirEntryExt as _;
            (entry.ino(), entry.metadata().unwrap().ino())
        })
        .collect();
    assert!(numbers.iter().all(|(listed, found)| listed == found), "{numbers:?}");
    let before = fs::metadata(at("f")).unwrap();
    let mut opened = File::open(at("f")).unwrap();
    fs::write(at("f"), "above").unwrap();
    let after = fs::metadata(at("f")).unwrap();
    assert_eq!((before.ino(), before.nlink()), (after.ino(), after.nlink()), "it is the same file");
    assert_eq!(fs::read_to_string(at("g")).unwrap(), "above");
    let mut text = String::new();
    opened.read_to_string(&mut text).unwrap();
    assert_eq!(text, "above");
    fs::remove_file(at("d/7")).unwrap();
    fs::rename(at("d"), at("moved")).unwrap();
    fs::create_dir(at("d")).unwrap();
    assert_eq!(fs::read_dir(at("d")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(at("moved")).unwrap().count(), 200);
    assert_eq!(fs::read_to_string(at("moved/8")).unwrap(), "8");
    fs::remove_dir_all(at("moved")).unwrap();
    assert_eq!(fs::read_to_string(place.path().join("f")).unwrap(), "below");
    assert_eq!(fs::read_dir(place.path().join("d")).unwrap().count(), 201);
}
