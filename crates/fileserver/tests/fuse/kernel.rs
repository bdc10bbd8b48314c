//! The suite, and random operations, through FUSE and on tmpfs: every answer and every error is the same.

use std::sync::Arc;

use conformance::compare;
use conformance::exerciser::{self, Mounted};
use conformance::through::{Holes, Task, compare_with_tmpfs};
use fileserver::{Settings, Source};
use vfs::{Engine, Limits};

use crate::served::{Served, alone, can_mount, gathering, host, memory, mounts, overlay, shared};

/// How many random operations each way to serve gets in the normal suite, in sequences.
const USUAL: u64 = 3000;
const SEQUENCE: u64 = 1500;

fn compared(what: &str, engine: Arc<dyn Engine>, settings: Settings) {
    let served = Served::new(engine, settings);
    let holes = if settings.gather_writes { Holes::Untold } else { Holes::Told };
    compare_with_tmpfs(what, served.path(), Task::Families, holes);
    let sequences = compare::operations(USUAL).div_ceil(SEQUENCE);
    let first_seed = compare::first_seed();
    let task = Task::Random { first_seed, sequences, length: SEQUENCE, holes };
    compare_with_tmpfs(what, served.path(), task, holes);
    let file = served.path().join("exercised");
    let operations = compare::operations(2000);
    exerciser::run(what, compare::first_seed(), operations, &mut Mounted::new(&file));
}

/// A11, A18, A20, A24
#[test]
fn memory_alone() {
    if can_mount() {
        compared("memory, alone", memory(), alone());
    }
}

/// A11, A18, A20
#[test]
fn memory_gathering_writes() {
    if can_mount() {
        compared("memory, gathering writes", memory(), gathering());
    }
}

/// A11, A18, A20
#[test]
fn memory_shared() {
    if can_mount() {
        compared("memory, shared", memory(), shared());
    }
}

/// A18, A19, A20
#[test]
fn overlay_alone() {
    if can_mount() {
        compared("overlay, alone", overlay(), alone());
    }
}

/// A12, A18, A19, A20
#[test]
fn overlay_on_a_directory() {
    if can_mount() {
        let place = tempfile::tempdir().unwrap();
        let upper = Some(place.path().to_owned());
        let source = Source::Overlay { lowers: Vec::new(), upper };
        let engine = source.open(&Limits::default()).unwrap();
        compared("overlay on a directory", engine, alone());
    }
}

/// A3, A18, A20
#[test]
fn mounts_alone() {
    if can_mount() {
        compared("mounts, alone", mounts(), alone());
    }
}

/// A12, A18, A20
#[test]
fn host_shared() {
    if can_mount() {
        let (_place, engine) = host();
        compared("host, shared", engine, shared());
    }
}

/// A12, A18, A20
#[test]
fn host_alone() {
    if can_mount() {
        let (_place, engine) = host();
        compared("host, alone", engine, alone());
    }
}
