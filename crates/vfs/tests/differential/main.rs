//! Random sequences of operations, against the kernel's tmpfs and against each engine: every answer and every errno is
//! the same, and so is what is there in the end. A18
//!
//! `STOCKADE_VFS_OPERATIONS=10000000` makes it a long run.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "tests"
)]

mod guest;
mod kernel;
mod operation;

use std::sync::Arc;

use guest::Guest;
use kernel::{Kernel, World};
use operation::{Operation, Outcome, Random, System};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory, Overlay};

/// How many operations each engine gets in the normal suite.
const USUAL: u64 = 18_000;
/// After so many, everything is compared and it begins anew.
const SEQUENCE: u64 = 1_500;

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()))
}

/// A11, A18: memory answers as the kernel's own file system in memory does.
#[test]
fn memory_answers_as_tmpfs() {
    let Some(world) = World::enter() else { return };
    compare("memory", &world, &mut |_| memory());
}

/// A18, A19: an upper layer answers as it does by itself. A directory with others below it does not count its
/// directories, so there are none below this one.
#[test]
fn overlay_answers_as_tmpfs() {
    let Some(world) = World::enter() else { return };
    let limits = Limits::default();
    compare("overlay", &world, &mut |_| {
        Arc::new(Overlay::new(Vec::new(), memory(), &limits).unwrap())
    });
}

/// A12, A18: a directory of the host answers as it does to whoever is in it.
#[test]
fn host_answers_as_tmpfs() {
    // Opened before the process has another root.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory.path(), flags, Mode::empty()).unwrap();
    let Some(world) = World::enter_with_proc("host_answers_as_tmpfs") else { return };
    let mut number = 0;
    compare("host", &world, &mut |_| {
        number += 1;
        let name = format!("{number}");
        rustix::fs::mkdirat(&opened, &name, Mode::from_raw_mode(0o755)).unwrap();
        let directory = rustix::fs::openat(&opened, &name, flags, Mode::empty()).unwrap();
        rustix::fs::mkdirat(&directory, "proc", Mode::from_raw_mode(0o755)).unwrap();
        Arc::new(Host::new(directory, HostMode::WritableAsCaller, &Limits::default()).unwrap())
    });
}

/// Compares an engine, made anew for each sequence, with tmpfs. `make` gets the kernel's side, to fill it likewise.
fn compare(what: &str, world: &World, make: &mut dyn FnMut(&mut Kernel) -> Arc<dyn Engine>) {
    let operations = std::env::var("STOCKADE_VFS_OPERATIONS")
        .map_or(USUAL, |text| text.parse().expect("STOCKADE_VFS_OPERATIONS is a number"));
    let first_seed: u64 =
        std::env::var("STOCKADE_VFS_SEED").map_or(1, |text| text.parse().unwrap());
    for number in 0..operations.div_ceil(SEQUENCE) {
        let seed = first_seed + number;
        let mut kernel = world.empty_kernel();
        let engine = make(&mut kernel);
        let mut guest = Guest::new(engine, &Limits::default());
        let mut random = Random::new(seed);
        let mut history: Vec<(Operation, Outcome)> = Vec::new();
        for _ in 0..SEQUENCE {
            let operation = Operation::random(&mut random);
            let expected = kernel.run(&operation);
            let found = guest.run(&operation);
            if expected != found {
                tell(&history);
                panic!(
                    "{what}, seed {seed}: {operation:?}\n  tmpfs {expected:?}\n  ours  {found:?}"
                );
            }
            history.push((operation, expected));
        }
        let (expected, found) =
            (operation::everything(&mut kernel), operation::everything(&mut guest));
        for (one, other) in expected.iter().zip(&found) {
            if one != other {
                tell(&history);
                panic!("{what}, seed {seed}, in the end:\n  tmpfs {one:?}\n  ours  {other:?}");
            }
        }
        assert_eq!(expected.len(), found.len(), "{what}, seed {seed}");
    }
}

fn tell(history: &[(Operation, Outcome)]) {
    let last: usize =
        std::env::var("STOCKADE_VFS_HISTORY").map_or(25, |text| text.parse().unwrap());
    for (operation, outcome) in &history[history.len().saturating_sub(last)..] {
        eprintln!("{operation:?} -> {outcome:?}");
    }
}
