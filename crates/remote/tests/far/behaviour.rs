//! What both sides must do alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remote::{Backend, Http, Remote, Settings};
use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, Follow, Kind, Limits, New, OpenFlags, Removal, Replace};

use crate::faults::{Fault, Faults};

/// What no message may have in it.
pub(crate) const SECRET: &str = "a-secret-that-nobody-reads";

pub(crate) type Opener<'a> = &'a dyn Fn() -> Box<dyn Backend>;

/// Few attempts and little patience, so that what never ends ends soon.
pub(crate) fn http() -> Http {
    Http::new(3, testing::slowly(Duration::from_secs(1))).unwrap()
}

fn opened(open: Opener<'_>, writable: bool) -> (FileSystem, Arc<Remote>) {
    let settings = Settings { writable, believed: Duration::ZERO, uid: 5, ..Settings::default() };
    let engine = Arc::new(Remote::new(open(), settings, Limits::default()));
    let shared: Arc<dyn vfs::Engine> = Arc::<Remote>::clone(&engine);
    (FileSystem::new(shared, &Limits::default()), engine)
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(done: vfs::Result<T>, errno: Errno) {
    assert_eq!(done.unwrap_err().errno, errno);
}

/// Files and directories, as a program uses them; and what cannot be had.
pub(crate) fn files(open: Opener<'_>) {
    let root = Caller::root();
    let (files, _) = opened(open, true);
    let mkdir = |path: &str| files.make(&root, At::Root, path.as_bytes(), New::Directory, 0o755);
    mkdir("/d").unwrap();
    refused(mkdir("/d"), Errno::EXIST);
    let big = bytes(9_000_001);
    for (path, contents) in
        [("/d/empty", &b""[..]), ("/d/a & b <ü>'", b"odd name"), ("/d/big", &big), ("/top", b"top")]
    {
        files.write_file(&root, path.as_bytes(), contents).unwrap();
        let (others, _) = opened(open, false);
        assert!(others.read_file(&root, path.as_bytes(), 1 << 30).unwrap() == contents, "{path}");
    }
    let mut names: Vec<_> =
        files.list(&root, b"/d").unwrap().into_iter().map(|it| it.name).collect();
    names.sort();
    assert_eq!(names, ["a & b <ü>'".as_bytes(), b"big", b"empty"]);
    let found = files.stat(&root, At::Root, b"/d/big", Follow::No).unwrap();
    assert_eq!((found.kind, found.size, found.uid, found.mode), (Kind::File, 9_000_001, 5, 0o644));
    assert!(found.modified.seconds > 1_500_000_000);
    let (others, _) = opened(open, false);
    let file = others.open(&root, At::Root, b"/d/big", OpenFlags::READ, 0).unwrap();
    for at in [8_999_990, 0, 4_194_300, 262_143, 9_000_000] {
        let mut part = [0; 20];
        let count = file.read_at(at as u64, &mut part).unwrap();
        assert_eq!(part[..count], big[at..(at + 20).min(big.len())], "{at}");
    }
    let append = OpenFlags { append: true, ..OpenFlags::WRITE };
    let file = files.open(&root, At::Root, b"/top", append, 0).unwrap();
    file.write(&root, b" and more").unwrap();
    file.sync().unwrap();
    assert_eq!(opened(open, false).0.read_file(&root, b"/top", 100).unwrap(), b"top and more");
    file.write(&root, b", again").unwrap();
    file.close(&root).unwrap();
    files.set_size(&root, At::Root, b"/top", 16).unwrap();
    assert_eq!(opened(open, false).0.read_file(&root, b"/top", 100).unwrap(), b"top and more, ag");
    let rename = |from: &str, to: &str| {
        let (from, to) = ((At::Root, from.as_bytes()), (At::Root, to.as_bytes()));
        files.rename(&root, from, to, Replace::Yes)
    };
    rename("/top", "/d/empty").unwrap();
    refused(files.read_file(&root, b"/top", 100), Errno::NOENT);
    assert_eq!(files.read_file(&root, b"/d/empty", 100).unwrap(), b"top and more, ag");
    rename("/d", "/e").unwrap();
    assert_eq!(files.read_file(&root, b"/e/empty", 100).unwrap(), b"top and more, ag");
    rename("/e", "/d").unwrap();
    refused(files.make(&root, At::Root, b"/\xff", New::File, 0), Errno::ILSEQ);
    // What is open stays readable when its name goes.
    let file = files.open(&root, At::Root, b"/d/big", OpenFlags::READ, 0).unwrap();
    refused(files.remove(&root, At::Root, b"/d", Removal::Directory), Errno::NOTEMPTY);
    files.remove(&root, At::Root, b"/d/big", Removal::File).unwrap();
    let mut part = [0; 20];
    file.read_at(8_000_000, &mut part).unwrap();
    assert_eq!(part, big[8_000_000..8_000_020]);
    drop(file);
    files.remove_tree(&root, b"/d").unwrap();
    refused(files.stat(&root, At::Root, b"/d", Follow::No), Errno::NOENT);
    assert_eq!(files.list(&root, b"/").unwrap(), Vec::new());
    // A7: nothing is changed unless it is said that it may be.
    let (others, _) = opened(open, false);
    refused(others.write_file(&root, b"/new", b"x"), Errno::ROFS);
    refused(others.make(&root, At::Root, b"/new", New::Directory, 0o755), Errno::ROFS);
}

/// What passes is tried again; what does not is an errno in time, and leaves nothing wrong behind.
pub(crate) fn faults(open: Opener<'_>, faults: &Faults, write: &'static str) {
    let root = Caller::root();
    let contents = bytes(100_000);
    let (files, _) = opened(open, true);
    files.write_file(&root, b"/file", &contents).unwrap();
    let passing = [
        Fault::Status(503),
        Fault::Status(429),
        Fault::Reset,
        Fault::Short,
        Fault::Cut,
        Fault::Flip,
        Fault::LostAnswer,
    ];
    for fault in passing {
        let (others, _) = opened(open, false);
        let file = others.open(&root, At::Root, b"/file", OpenFlags::READ, 0).unwrap();
        faults.set(fault, "GET", 2);
        let mut found = vec![0; 100_000];
        assert_eq!(file.read_at(0, &mut found).unwrap(), 100_000, "{fault:?}");
        assert!(found == contents, "{fault:?}");
    }
    let lasting = [
        (Fault::Status(503), Errno::IO),
        (Fault::Status(429), Errno::AGAIN),
        (Fault::Status(403), Errno::ACCESS),
        (Fault::Reset, Errno::HOSTUNREACH),
        (Fault::Silence, Errno::TIMEDOUT),
        (Fault::Cut, Errno::IO),
        (Fault::Flip, Errno::IO),
    ];
    for (fault, errno) in lasting {
        let (others, engine) = opened(open, false);
        let file = others.open(&root, At::Root, b"/file", OpenFlags::READ, 0).unwrap();
        faults.set(fault, "GET", u32::MAX);
        let begun = Instant::now();
        let mut found = vec![0; 100_000];
        let failed = file.read_at(0, &mut found).unwrap_err();
        assert_eq!(failed.errno, errno, "{fault:?}: {:?}", engine.faults());
        assert!(begun.elapsed() < testing::slowly(Duration::from_secs(12)), "{fault:?}");
        let noted = engine.faults();
        assert!(noted.iter().any(|noted| noted.errno == errno), "{fault:?}");
        assert!(!format!("{noted:?} {engine:?}").contains(SECRET), "{noted:?}");
        // Nothing wrong was kept.
        faults.clear();
        assert_eq!(file.read_at(0, &mut found).unwrap(), 100_000, "{fault:?}");
        assert!(found == contents, "{fault:?}");
    }
    writes(open, faults, write);
}

/// A sync or a close that succeeds says that the other side has it.
fn writes(open: Opener<'_>, faults: &Faults, write: &'static str) {
    let root = Caller::root();
    let there = |path: &[u8]| opened(open, false).0.read_file(&root, path, 1 << 20).unwrap();
    for (fault, is_lasting) in [
        (Fault::Status(500), true),
        (Fault::Status(429), true),
        (Fault::Reset, true),
        (Fault::Silence, true),
        (Fault::LostAnswer, false),
        (Fault::Status(503), false),
    ] {
        let (files, _) = opened(open, true);
        files.write_file(&root, b"/written", b"before").unwrap();
        let file = files.open(&root, At::Root, b"/written", OpenFlags::WRITE, 0).unwrap();
        file.write(&root, format!("after {fault:?}").as_bytes()).unwrap();
        assert_eq!(there(b"/written"), b"before");
        faults.set(fault, write, if is_lasting { u32::MAX } else { 1 });
        let synced = file.sync();
        faults.clear();
        assert_eq!(synced.is_err(), is_lasting, "{fault:?}: {synced:?}");
        if is_lasting {
            // It is still to be written.
            assert_eq!(there(b"/written"), b"before", "{fault:?}");
            file.sync().unwrap();
        }
        assert_eq!(there(b"/written"), format!("after {fault:?}").as_bytes());
        file.close(&root).unwrap();
    }
    // A file that is made while an answer is lost is made once.
    faults.set(Fault::LostAnswer, write, 1);
    let (files, _) = opened(open, true);
    let made = files.write_file(&root, b"/once", b"once");
    faults.clear();
    if made.is_err() {
        files.write_file(&root, b"/once", b"once").unwrap();
    }
    assert_eq!(there(b"/once"), b"once");
    let named = files.list(&root, b"/").unwrap().into_iter().filter(|it| it.name == b"once");
    assert_eq!(named.count(), 1);
}
