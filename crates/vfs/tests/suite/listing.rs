//! How the work of a listing grows with what is listed.

use std::sync::Arc;

use vfs::{Caller, Engine, FileSystem, Limits, Overlay, ReadOnly};

use crate::engines;

/// A11: a directory of ten times as many names is listed with ten times the work, and not a hundred times.
#[test]
fn listing_is_linear() {
    for (name, layered) in [("memory", false), ("overlay", true)] {
        let work = |names: usize| {
            let files = if layered { overlay(names) } else { filled(names) };
            let files = FileSystem::new(files, &Limits::default());
            // Of the processor's time, which other programs do not lengthen; the least of some turns.
            let turns = (0..5).map(|_| {
                let begin = processor_time();
                assert_eq!(files.list(&Caller::root(), b"/").unwrap().len(), names);
                processor_time() - begin
            });
            turns.min().unwrap()
        };
        let (few, many) = (work(10_000), work(100_000));
        assert!(many < few * 40, "{name}: {few} ns for 10,000 names, {many} ns for 100,000");
    }
}

fn filled(names: usize) -> Arc<dyn Engine> {
    let (root, limits) = (Caller::root(), Limits::default());
    let memory = engines::memory(limits);
    let files = FileSystem::new(Arc::clone(&memory), &limits);
    for number in 0..names {
        files.write_file(&root, format!("/{number}").as_bytes(), b"").unwrap();
    }
    memory
}

/// Half of the names are in each layer.
fn overlay(names: usize) -> Arc<dyn Engine> {
    let (root, limits) = (Caller::root(), Limits::default());
    let lower = Arc::new(ReadOnly::new(filled(names / 2)));
    let overlay = Arc::new(Overlay::new(vec![lower], filled(0), &limits).unwrap());
    let files = FileSystem::new(overlay.clone(), &limits);
    for number in names / 2..names {
        files.write_file(&root, format!("/{number}").as_bytes(), b"").unwrap();
    }
    overlay
}

/// Nanoseconds that this thread has had of a processor.
fn processor_time() -> i128 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}
