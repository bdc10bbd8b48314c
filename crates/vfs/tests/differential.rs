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

use std::sync::Arc;

use conformance::{Guest, Kernel, World, compare, families};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory, Overlay};

/// How many operations each engine gets in the normal suite.
const USUAL: u64 = 18_000;
/// After so many, everything is compared and it begins anew.
const SEQUENCE: u64 = 1_500;

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()))
}

/// A18: the tables say what Linux does.
#[test]
fn tables_hold_for_tmpfs() {
    let Some(world) = World::enter() else { return };
    families::check("tmpfs", &mut || world.empty_kernel());
}

/// A11, A18: memory answers as the kernel's own file system in memory does.
#[test]
fn memory_answers_as_tmpfs() {
    let Some(world) = World::enter() else { return };
    compare_all("memory", &world, &mut |_| memory());
}

/// A18, A19: an upper layer answers as it does by itself. A directory with others below it does not count its
/// directories, so there are none below this one.
#[test]
fn overlay_answers_as_tmpfs() {
    let Some(world) = World::enter() else { return };
    let limits = Limits::default();
    compare_all("overlay", &world, &mut |_| {
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
    compare_all("host", &world, &mut |_| {
        number += 1;
        let name = format!("{number}");
        rustix::fs::mkdirat(&opened, &name, Mode::from_raw_mode(0o755)).unwrap();
        let directory = rustix::fs::openat(&opened, &name, flags, Mode::empty()).unwrap();
        rustix::fs::mkdirat(&directory, "proc", Mode::from_raw_mode(0o755)).unwrap();
        Arc::new(Host::new(directory, HostMode::WritableAsCaller, &Limits::default()).unwrap())
    });
}

/// Compares an engine, made anew for each sequence, with tmpfs. `make` gets the kernel's side, to fill it likewise.
fn compare_all(what: &str, world: &World, make: &mut dyn FnMut(&mut Kernel) -> Arc<dyn Engine>) {
    let first = compare::first_seed();
    for number in 0..compare::operations(USUAL).div_ceil(SEQUENCE) {
        let mut kernel = world.empty_kernel();
        let engine = make(&mut kernel);
        let mut guest = Guest::new(engine, &Limits::default());
        compare::sequence(what, first + number, SEQUENCE, &mut kernel, &mut guest);
    }
}
