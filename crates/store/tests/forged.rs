//! A store's file that somebody else wrote: what lies in it may be anything that the tables can hold. No name of it is a
//! path, and no directory leads anybody in a circle.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use store::{Store, StoreError};
use vfs::{At, Caller, Engine, FileSystem, Follow, Limits};

/// A store with `/d/e/f`, changed by somebody who knows its tables.
fn forged(path: &Path, changes: &str) -> (FileSystem, Arc<Store>) {
    let _old = std::fs::remove_file(path);
    let root = Caller::root();
    Store::create(path, &root, 0o755).unwrap();
    let open = || {
        let store = Arc::new(Store::open(path, Limits::default()).unwrap());
        let engine = Arc::clone(&store) as Arc<dyn Engine>;
        (FileSystem::new(engine, &Limits::default()), store)
    };
    let (files, store) = open();
    files.make_directories(&root, b"/d/e").unwrap();
    files.write_file(&root, b"/d/e/f", b"text").unwrap();
    drop((files, store));
    rusqlite::Connection::open(path).unwrap().execute_batch(changes).unwrap();
    open()
}

/// A5, A9, T80: a name that is none is no name of a listing, whoever asks for it.
#[test]
fn names_that_are_paths_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let root = Caller::root();
    for name in ["../../x", "/etc/x", "..", ".", "", "a/b", "a\0b", &"n".repeat(256)] {
        let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("UPDATE name SET name = x'{hex}' WHERE name = CAST('f' AS BLOB)");
        let (files, store) = forged(&path, &text);
        let refused = files.list(&root, b"/d/e").unwrap_err();
        assert_eq!(refused.errno, Errno::IO, "{name}");
        assert!(store.fault().unwrap().text.contains("which is none"), "{name}");
        // What is beside it is there.
        assert_eq!(files.list(&root, b"/d").unwrap().len(), 1);
    }
}

/// A5, T80: a file whose tables are not those of a store is none, whatever they answer.
#[test]
fn tables_of_others_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for changes in [
        "CREATE TRIGGER t AFTER UPDATE ON tree BEGIN DELETE FROM name; END",
        "ALTER TABLE name RENAME TO other;
         CREATE VIEW name AS WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n)
         SELECT 1 AS tree, 1 AS parent, CAST('n' || i AS BLOB) AS name, 2 AS child, 2 AS kind, i AS cookie FROM n",
        "ALTER TABLE name ADD COLUMN more BLOB",
    ] {
        let _old = std::fs::remove_file(&path);
        Store::create(&path, &Caller::root(), 0o755).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(changes).unwrap();
        let refused = Store::open(&path, Limits::default()).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{changes}: {refused}");
    }
}

/// A9, T80: a directory is in one other and below none of its own, and a name leads to what it says.
#[test]
fn directories_lead_nobody_in_a_circle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let root = Caller::root();
    // The numbers of the files: / is 1, d 2, e 3, f 4.
    for (changes, refused) in [
        ("INSERT INTO name VALUES (1, 3, CAST('up' AS BLOB), 2, 2, 900)", "/d/e/up"),
        ("INSERT INTO name VALUES (1, 3, CAST('top' AS BLOB), 1, 2, 900)", "/d/e/top"),
        ("INSERT INTO name VALUES (1, 3, CAST('self' AS BLOB), 3, 2, 900)", "/d/e/self"),
        ("INSERT INTO name VALUES (1, 1, CAST('again' AS BLOB), 3, 2, 900)", "/again"),
        ("UPDATE name SET kind = 2 WHERE child = 4", "/d/e/f"),
        ("UPDATE inode SET parent = 3 WHERE number = 2", "/d"),
        ("INSERT INTO name VALUES (1, 1, CAST('far' AS BLOB), 1 << 41, 1, 900)", "/far"),
    ] {
        let (files, store) = forged(&path, changes);
        let found = files.stat(&root, At::Root, refused.as_bytes(), Follow::No);
        assert_eq!(found.unwrap_err().errno, Errno::IO, "{changes}");
        assert!(store.fault().is_some());
    }
    let (files, _store) = forged(&path, "UPDATE inode SET mode = mode | 8192");
    let found = files.stat(&root, At::Root, b"/d/e/f", Follow::No).unwrap();
    assert_eq!(found.mode, 0o644);
}
