//! JavaScript programs: the same scripts as a real Node.js, over each engine; packages; and programs that mean harm.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::unreachable,
    clippy::panic,
    reason = "tests"
)]

#[path = "suite/javascript/hostile.rs"]
mod hostile;
#[path = "suite/javascript/kinds.rs"]
mod kinds;
#[path = "suite/javascript/node.rs"]
mod node;
#[path = "suite/javascript/packages.rs"]
mod packages;
#[path = "suite/program.rs"]
#[allow(dead_code, reason = "the tests of WASI use the rest")]
mod program;
#[path = "suite/javascript/tools.rs"]
mod tools;

use engines::{End, World};

/// Runs the text of a program over an engine, prepared: how it ended and what it wrote to both streams.
fn run(
    engine: &program::Named,
    source: &str,
    prepare: impl FnOnce(&mut World),
) -> (End, String, String) {
    let (mut world, kept) = program::world(engine);
    world.files.write_file(&crate::program::caller(), b"/work/main.js", source.as_bytes()).unwrap();
    world.working_directory = b"/work".to_vec();
    prepare(&mut world);
    let end = engines::javascript::run(b"main.js", world).unwrap();
    let text = |kept: &engines::Kept| String::from_utf8_lossy(&kept.bytes()).into_owned();
    (end, text(&kept.0), text(&kept.1))
}
