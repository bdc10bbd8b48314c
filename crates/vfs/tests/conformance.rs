//! Every family of system calls, on each engine in this process; the tables themselves are held to tmpfs.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use conformance::exerciser::{self, InProcess};
use conformance::{Guest, World, compare, families};
use rustix::fs::{Mode, OFlags};
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory, Mounts, Overlay};

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()))
}

fn overlay() -> Arc<dyn Engine> {
    Arc::new(Overlay::new(Vec::new(), memory(), &Limits::default()).unwrap())
}

fn check(what: &str, make: fn() -> Arc<dyn Engine>) {
    families::check(what, &mut || Guest::new(make(), &Limits::default()));
}

/// A18: the tables say what Linux does.
#[test]
fn tables_hold_for_tmpfs() {
    let Some(world) = World::enter() else { return };
    families::check("tmpfs", &mut || world.empty_kernel());
}

/// A11, A18
#[test]
fn memory_holds_to_the_tables() {
    check("memory", memory);
}

/// A18, A19
#[test]
fn overlay_holds_to_the_tables() {
    check("overlay", overlay);
}

/// A3, A18
#[test]
fn mounts_hold_to_the_tables() {
    check("mounts", || Mounts::new(memory()));
}

/// A12, A18
#[test]
fn host_holds_to_the_tables() {
    if !testing::is_root() {
        testing::skip("only root can give files to others");
        return;
    }
    let above = tempfile::tempdir_in("/dev/shm").unwrap();
    families::check("host", &mut || {
        let place = tempfile::tempdir_in(above.path()).unwrap().keep();
        rustix::fs::chmod(&place, Mode::from_raw_mode(0o755)).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&place, flags, Mode::empty()).unwrap();
        let host = Host::new(directory, HostMode::WritableAsCaller, &Limits::default()).unwrap();
        Guest::new(Arc::new(host), &Limits::default())
    });
}

/// A18, A20: what is read is what was written, whatever came between. `STOCKADE_VFS_OPERATIONS` makes it a long run.
#[test]
fn contents_are_what_was_written() {
    let operations = compare::operations(3000);
    for (what, engine) in [("memory", memory()), ("overlay", overlay())] {
        let mut file = InProcess::new(engine);
        exerciser::run(what, compare::first_seed(), operations, &mut file);
    }
}
