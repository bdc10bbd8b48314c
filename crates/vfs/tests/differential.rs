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

use conformance::{
    Answer, Call, Guest, Kernel, Operation, Outcome, SLOTS, Stat, System, World, compare, families,
};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, Engine, Host, HostMode, Kind, Limits, Memory, Overlay, ReadOnly};

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

/// A18, A19: an overlay over a lower layer that has something answers as tmpfs does that has the same.
#[test]
fn overlay_over_something_answers_as_tmpfs() {
    let Some(world) = World::enter() else { return };
    let (limits, first) = (Limits::default(), compare::first_seed());
    for number in 0..compare::operations(USUAL).div_ceil(SEQUENCE) {
        let (mut kernel, lower) = (world.empty_kernel(), memory());
        let mut fill = Guest::new(Arc::clone(&lower), &limits);
        let seed = first + number + 100_000;
        let (mut one, mut other) = (Unlinked(&mut kernel), Unlinked(&mut fill));
        compare::sequence("lower layer", seed, SEQUENCE / 4, &mut one, &mut other);
        // The root of both is the upper layer's own, and nothing is open there.
        let root = b"/".to_vec();
        let xattrs = [&b"user.a"[..], b"user.b", b"trusted.a"];
        let mut calls = vec![
            Call::SetMode(root.clone(), 0o755),
            Call::SetOwner(root.clone(), Some(0), Some(0), true),
            Call::TouchNow(root.clone()),
        ];
        calls.extend(xattrs.map(|name| Call::RemoveXattr(root.clone(), name.to_vec())));
        calls.extend((0..SLOTS).map(Call::Close));
        for call in calls {
            let _none = kernel.run(&Operation { who: 0, call: call.clone() });
            let _none = fill.run(&Operation { who: 0, call });
        }
        drop(fill);
        let upper = memory();
        let below: Arc<dyn Engine> = Arc::new(ReadOnly::new(lower));
        let overlay = Overlay::new(vec![below], upper, &limits).unwrap();
        let mut guest = Guest::new(Arc::new(overlay), &limits);
        let (mut expected, mut found) = (Uncounted(&mut kernel), Uncounted(&mut guest));
        compare::sequence("overlay", first + number, SEQUENCE, &mut expected, &mut found);
    }
}

/// Without further names: a copy of a file that has lost its last name, while a lower layer still has another one, is
/// moved by that only as between file systems (`EXDEV`).
struct Unlinked<'a>(&'a mut dyn System);

impl System for Unlinked<'_> {
    fn run(&mut self, operation: &Operation) -> Outcome {
        match operation.call {
            Call::Link(..) => Ok(Answer::Nothing),
            _ => self.0.run(operation),
        }
    }
}

/// Without what an overlay does not tell: how many directories are in one that lies in several layers, and which bytes of
/// a copy were never written.
struct Uncounted<'a>(&'a mut dyn System);

impl System for Uncounted<'_> {
    fn run(&mut self, operation: &Operation) -> Outcome {
        if matches!(operation.call, Call::Seek { .. }) {
            return Ok(Answer::Nothing);
        }
        self.0.run(operation).map(|answer| match answer {
            Answer::Stat(stat) => {
                let links = if stat.kind == Kind::Directory { 1 } else { stat.links };
                Answer::Stat(Stat { links, blocks: 0, ..stat })
            }
            answer => answer,
        })
    }
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
