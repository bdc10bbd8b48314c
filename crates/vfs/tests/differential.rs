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

/// A18, A19: whether what is hidden is noted beside names or in their places, as the kernel's overlayfs has it, is nothing
/// to a guest: over a lower layer that has something, both forms answer alike.
#[test]
fn both_forms_of_notes_answer_alike() {
    if !testing::is_root() {
        return testing::skip("only root can give files to others");
    }
    let above = tempfile::tempdir_in("/dev/shm").unwrap();
    let (limits, first) = (Limits::default(), compare::first_seed());
    for number in 0..compare::operations(USUAL).div_ceil(SEQUENCE) {
        let (one, other) = (memory(), memory());
        // The same is in both.
        let mut fill = [&one, &other].map(|lower| Guest::new(Arc::clone(lower), &limits));
        let [filled, alike] = &mut fill;
        compare::sequence("lower layers", first + number + 100_000, SEQUENCE / 4, filled, alike);
        drop(fill);
        let place = tempfile::tempdir_in(above.path()).unwrap();
        for name in ["upper", "work"] {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        // Whoever makes the kernel's layers gives the upper one the mode of what lies below it.
        let mode = one.attributes(&Caller::root(), one.root()).unwrap().mode;
        rustix::fs::chmod(place.path().join("upper"), Mode::from_raw_mode(mode)).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
        let host = Host::new(opened, HostMode::WritableAsCaller, &limits).unwrap();
        let upper: Arc<dyn Engine> = Arc::new(host.with_marks_of_kernel());
        let as_the_kernel = match Overlay::as_the_kernel(vec![one], upper, &limits) {
            Ok(overlay) => overlay,
            Err(error) => {
                return testing::skip(format!("no notes can be made in `/dev/shm`: {error}"));
            }
        };
        let beside = Overlay::new(vec![other], memory(), &limits).unwrap();
        let mut expected = Guest::new(Arc::new(beside), &limits);
        let mut found = Guest::new(Arc::new(as_the_kernel), &limits);
        compare::sequence("notes", first + number, SEQUENCE, &mut expected, &mut found);
    }
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
