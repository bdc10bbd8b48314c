//! What files in memory take of the process that has them. A program of its own with one test, so that nothing else takes
//! memory meanwhile.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;

use vfs::{Caller, FileSystem, Limits, Memory, OpenFlags};

/// A11, A21: a small file takes at most [`MOST_OF_A_FILE`] beside what is in it, and a file of 20 GiB what was written to it.
#[test]
fn memory_is_bounded_by_what_is_in_it() {
    let files = file_system();
    let root = Caller::root();
    let before = resident_bytes();
    for directory in 0..FILES / 1000 {
        files.make_directories(&root, format!("/{directory}").as_bytes()).unwrap();
        for file in 0..1000 {
            let path = format!("/{directory}/file-{file}.txt");
            files.write_file(&root, path.as_bytes(), &[b'x'; CONTENTS]).unwrap();
        }
    }
    let each = resident_bytes().saturating_sub(before) / FILES;
    println!("{each} bytes for a file of {CONTENTS} bytes");
    assert!(each <= MOST_OF_A_FILE + CONTENTS, "{each} bytes for each file");

    let before = resident_bytes();
    let flags = OpenFlags { read: true, create: true, ..OpenFlags::WRITE };
    let sparse = files.open(&root, vfs::At::Root, b"/sparse", flags, 0o644).unwrap();
    let places = [0, LARGE / 2 + 1, LARGE - 4];
    for place in places {
        assert_eq!(sparse.write_at(&root, place, b"data").unwrap(), 4);
    }
    let mut bytes = vec![1; 1 << 20];
    assert_eq!(sparse.read_at(LARGE / 4, &mut bytes).unwrap(), bytes.len());
    assert!(bytes.iter().all(|byte| *byte == 0));
    for place in places {
        assert_eq!(sparse.read_at(place, &mut bytes).map(|count| count.min(4)), Ok(4));
        assert_eq!(bytes.get(..4).unwrap(), b"data");
    }
    let found = files.stat(&root, vfs::At::Root, b"/sparse", vfs::Follow::Yes).unwrap();
    assert_eq!((found.size, found.blocks), (LARGE, 3 * 4096 / 512));
    let taken = resident_bytes().saturating_sub(before);
    assert!(taken < 4 << 20, "{taken} bytes for a sparse file");
}

fn file_system() -> FileSystem {
    let limits = Limits { max_bytes: 1 << 40, ..Limits::default() };
    FileSystem::new(Arc::new(Memory::new(&Caller::root(), 0o755, limits)), &limits)
}

/// What this process has in memory, by `proc_pid_status(5)`.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

const FILES: usize = 100_000;
/// What is in each of them.
const CONTENTS: usize = 64;
/// What each may take beside that: as `docs/speed.md` says it.
const MOST_OF_A_FILE: usize = 1024;
/// 20 GiB
const LARGE: u64 = 20 << 30;
