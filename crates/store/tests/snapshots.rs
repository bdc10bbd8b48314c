//! Snapshots: what was saved stays as it was, is shared, restored and forked, and goes without a trace.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use store::{Store, StoreError};
use vfs::{At, Caller, Engine, FileSystem, Limits, New, OpenFlags, Removal, SetXattr};

fn opened(path: &Path) -> Store {
    Store::open(path, Limits::default()).unwrap()
}

fn files(engine: Arc<dyn Engine>) -> FileSystem {
    FileSystem::new(engine, &Limits::default())
}

fn errno(error: &StoreError) -> Option<Errno> {
    match error {
        StoreError::Operation { source, .. } => Some(source.errno),
        _ => None,
    }
}

#[track_caller]
fn whole(store: &Store) {
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// Fills a store, saves it, and changes everything.
fn saved_and_changed(path: &Path) -> Arc<Store> {
    Store::create(path, &Caller::root(), 0o755).unwrap();
    let store = Arc::new(opened(path));
    let root = Caller::root();
    let all = files(Arc::<Store>::clone(&store));
    all.make(&root, At::Root, b"/d", New::Directory, 0o750).unwrap();
    all.write_file(&root, b"/d/big", &[7; 300_000]).unwrap();
    all.write_file(&root, b"/d/small", b"before").unwrap();
    all.make(&root, At::Root, b"/link", New::Link(b"d/small"), 0).unwrap();
    let target = (At::Root, &b"/d/small"[..], vfs::Follow::Yes);
    all.set_xattr(&root, target, (b"user.a", b"value"), SetXattr::Any).unwrap();
    // A file that is open without a name is in no snapshot.
    let flags = OpenFlags { create: true, ..OpenFlags::WRITE };
    let nameless = all.open(&root, At::Root, b"/nameless", flags, 0o600).unwrap();
    nameless.write(&root, &[1; 100_000]).unwrap();
    all.remove(&root, At::Root, b"/nameless", Removal::File).unwrap();
    store.save(b"one").unwrap();
    drop(nameless);
    all.write_file(&root, b"/d/small", b"after").unwrap();
    all.remove(&root, At::Root, b"/d/big", Removal::File).unwrap();
    all.write_file(&root, b"/new", b"new").unwrap();
    whole(&store);
    drop(all);
    store
}

/// A4, A16: a snapshot is what was there, whatever comes after it, and nobody changes it.
#[test]
fn a_snapshot_stays() {
    let directory = tempfile::tempdir().unwrap();
    let store = saved_and_changed(&directory.path().join("store"));
    let root = Caller::root();
    let then = files(Arc::new(store.snapshot(b"one").unwrap()));
    assert_eq!(then.read_file(&root, b"/link", 100).unwrap(), b"before");
    assert_eq!(then.read_file(&root, b"/d/big", 1 << 20).unwrap(), vec![7; 300_000]);
    let value = then.xattr(&root, At::Root, b"/link", vfs::Follow::Yes, b"user.a").unwrap();
    assert_eq!(value, b"value");
    assert_eq!(then.list(&root, b"/").unwrap().len(), 2);
    let refused = then.write_file(&root, b"/d/small", b"x").unwrap_err();
    assert_eq!(refused.errno, Errno::ROFS);
    let listed = store.snapshots().unwrap();
    assert_eq!((listed.len(), &listed[0].name[..], listed[0].files), (1, &b"one"[..], 4));
    assert_eq!(errno(&store.save(b"one").unwrap_err()), Some(Errno::EXIST));
    assert_eq!(errno(&store.snapshot(b"two").unwrap_err()), Some(Errno::NOENT));
}

/// A16: what is restored is as it was, counted as it was, and can be changed.
#[test]
fn a_snapshot_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(saved_and_changed(&path));
    let mut store = opened(&path);
    store.save(b"two").unwrap();
    store.restore(b"one").unwrap();
    whole(&store);
    let root = Caller::root();
    let all = files(Arc::new(store));
    assert_eq!(all.read_file(&root, b"/d/small", 100).unwrap(), b"before");
    assert_eq!(all.read_file(&root, b"/new", 100).unwrap_err().errno, Errno::NOENT);
    let space = all.space(&root, At::Root, b"/").unwrap();
    assert_eq!(space.inodes - space.free_inodes, 4);
    all.write_file(&root, b"/d/small", b"again").unwrap();
    drop(all);
    let mut store = opened(&path);
    store.restore(b"two").unwrap();
    whole(&store);
    let all = files(Arc::new(store));
    assert_eq!(all.read_file(&root, b"/d/small", 100).unwrap(), b"after");
    assert_eq!(all.read_file(&root, b"/new", 100).unwrap(), b"new");
}

/// A16: what only a snapshot had goes with it, and nothing else does.
#[test]
fn a_snapshot_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = saved_and_changed(&directory.path().join("store"));
    store.save(b"two").unwrap();
    store.remove_snapshot(b"one").unwrap();
    whole(&store);
    let root = Caller::root();
    let then = files(Arc::new(store.snapshot(b"two").unwrap()));
    assert_eq!(then.read_file(&root, b"/d/small", 100).unwrap(), b"after");
    assert_eq!(errno(&store.remove_snapshot(b"one").unwrap_err()), Some(Errno::NOENT));
}

/// A16: a fork is a store of its own.
#[test]
fn a_snapshot_is_forked() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("store"), directory.path().join("fork"));
    let store = saved_and_changed(&path);
    store.fork(b"one", &other).unwrap();
    assert!(matches!(store.fork(b"one", &other), Err(StoreError::Exists(_))));
    assert_eq!(
        errno(&store.fork(b"x", &directory.path().join("x")).unwrap_err()),
        Some(Errno::NOENT)
    );
    let forked = opened(&other);
    whole(&forked);
    let root = Caller::root();
    let (forked, now) = (files(Arc::new(forked)), files(store));
    forked.write_file(&root, b"/d/small", b"forked").unwrap();
    assert_eq!(forked.read_file(&root, b"/d/big", 1 << 20).unwrap(), vec![7; 300_000]);
    assert_eq!(now.read_file(&root, b"/d/small", 100).unwrap(), b"after");
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert!(left <= 6, "{left} files: two stores with their logs");
}

/// A16: one that was begun and not finished is nothing, also after a crash.
#[test]
fn an_unfinished_snapshot_is_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = saved_and_changed(&path);
    let unfinished = store.begin_snapshot(b"two").unwrap();
    let name = vfs::Name::new(b"f").unwrap();
    let engine = unfinished.engine().unwrap();
    engine.make(&Caller::root(), engine.root(), name, New::File, 0o600).unwrap();
    assert_eq!(store.snapshots().unwrap().len(), 1);
    // As a process that is killed leaves it.
    let copy = directory.path().join("copy");
    for end in ["", "-wal"] {
        let of = |path: &Path| format!("{}{end}", path.display());
        std::fs::copy(of(&path), of(&copy)).unwrap();
    }
    drop(unfinished);
    whole(&store);
    store.begin_snapshot(b"two").unwrap().finish().unwrap();
    assert_eq!(store.snapshots().unwrap().len(), 2);
    let copied = opened(&copy);
    whole(&copied);
    assert_eq!(copied.snapshots().unwrap().len(), 1);
    copied.save(b"two").unwrap();
}
