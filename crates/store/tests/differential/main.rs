//! Random sequences of operations on a store, against the kernel's tmpfs: every answer and every errno is the same, and
//! so is what is there in the end, also after the store was closed and opened again. A15, A18
//!
//! `STOCKADE_VFS_OPERATIONS=10000000` makes it a long run.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests"
)]
use std::sync::Arc;

use conformance::random::Random;
use conformance::{Guest, Operation, Outcome, System as _, compare, everything};
use rustix::fs::{Mode, OFlags};
use store::Store;
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory};

/// How many operations there are in the normal suite.
const USUAL: u64 = 9_000;
/// After so many, everything is compared and it begins anew.
const SEQUENCE: u64 = 1_500;

/// A15, A18: a store answers as a directory of the kernel's own file system in memory does.
#[test]
fn store_answers_as_tmpfs() {
    if !rustix::process::geteuid().is_root() {
        return testing::skip("only root can let a directory of the host belong to several users");
    }
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    compare_with(|number| {
        let path = directory.path().join(number.to_string());
        std::fs::create_dir(&path).unwrap();
        let opened = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        Arc::new(Host::new(opened, HostMode::WritableAsCaller, &Limits::default()).unwrap())
    });
}

/// A15, A18: and as memory does, for whoever is not root.
#[test]
fn store_answers_as_memory() {
    compare_with(|_| Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default())));
}

fn compare_with(mut other: impl FnMut(u64) -> Arc<dyn Engine>) {
    let (operations, first_seed) = (compare::operations(USUAL), compare::first_seed());
    let limits = Limits::default();
    let directory = tempfile::tempdir().unwrap();
    for number in 0..operations.div_ceil(SEQUENCE) {
        let seed = first_seed + number;
        let mut kernel = Guest::new(other(number), &limits);
        let path = directory.path().join(format!("{number}.store"));
        Store::create(&path, &Caller::root(), 0o755).unwrap();
        let mut guest = Guest::new(Arc::new(Store::open(&path, limits).unwrap()), &limits);
        let mut random = Random::new(seed);
        let mut history: Vec<(Operation, Outcome)> = Vec::new();
        for _ in 0..SEQUENCE {
            let operation = Operation::random(&mut random);
            let expected = kernel.run(&operation);
            let found = guest.run(&operation);
            if expected != found {
                compare::tell(&history);
                panic!("seed {seed}: {operation:?}\n  expected {expected:?}\n  found  {found:?}");
            }
            history.push((operation, expected));
        }
        let expected = everything(&mut kernel);
        for when in ["in the end", "after it was opened again"] {
            let found = everything(&mut guest);
            for (one, other) in expected.iter().zip(&found) {
                if one != other {
                    compare::tell(&history);
                    panic!("seed {seed}, {when}:\n  expected {one:?}\n  found {other:?}");
                }
            }
            assert_eq!(expected.len(), found.len(), "seed {seed}, {when}");
            drop(guest);
            let store = Store::open(&path, limits).unwrap();
            assert_eq!(store.check().unwrap(), Vec::<String>::new(), "seed {seed}, {when}");
            guest = Guest::new(Arc::new(store), &limits);
        }
        drop(guest);
        std::fs::remove_file(&path).unwrap();
    }
}
