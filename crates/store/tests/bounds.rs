//! What a process has in memory of a store: a part that does not grow with the store. A program of its own with one test,
//! so that nothing else takes memory meanwhile.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use store::Store;
use vfs::{At, Caller, FileSystem, Limits, OpenFlags};

/// A11, A21: memory does not grow with the files that a store has, nor with the length of one that is nearly all hole.
#[test]
fn memory_does_not_grow_with_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let (root, limits) = (Caller::root(), Limits { max_bytes: 1 << 40, ..Limits::default() });
    Store::create(&path, &root, 0o755).unwrap();
    let files = FileSystem::new(Arc::new(Store::open(&path, limits).unwrap()), &limits);
    // The first ones fill what is kept.
    make(&files, 0..FILES / 4);
    let before = resident_bytes();
    make(&files, FILES / 4..FILES);
    let grown = resident_bytes().saturating_sub(before);
    println!("{grown} bytes for {FILES} files");
    assert!(grown <= MOST, "{grown} bytes");

    let before = resident_bytes();
    let flags = OpenFlags { read: true, create: true, ..OpenFlags::WRITE };
    let sparse = files.open(&root, At::Root, b"/sparse", flags, 0o644).unwrap();
    for place in [0, LARGE / 2 + 1, LARGE - 4] {
        assert_eq!(sparse.write_at(&root, place, b"data").unwrap(), 4);
    }
    let mut bytes = vec![1; 1 << 20];
    assert_eq!(sparse.read_at(LARGE / 4, &mut bytes).unwrap(), bytes.len());
    assert!(bytes.iter().all(|byte| *byte == 0));
    let size = std::fs::metadata(&path).unwrap().len();
    drop(sparse);
    let grown = resident_bytes().saturating_sub(before);
    println!("{grown} bytes for a sparse file, in a store of {size} bytes");
    assert!(grown <= MOST, "{grown} bytes");
    assert!(size < 1 << 30, "{size} bytes on the disk");
}

fn make(files: &FileSystem, numbers: std::ops::Range<usize>) {
    let root = Caller::root();
    for number in numbers {
        if number % 1000 == 0 {
            files.make_directories(&root, format!("/{}", number / 1000).as_bytes()).unwrap();
        }
        let path = format!("/{}/file-{number}.txt", number / 1000);
        files.write_file(&root, path.as_bytes(), format!("{number} is in it").as_bytes()).unwrap();
    }
}

/// What this process has in memory, by `proc_pid_status(5)`.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

const FILES: usize = 20_000;
/// As `docs/speed.md` says it.
const MOST: usize = 32 << 20;
/// 20 GiB
const LARGE: u64 = 20 << 30;
