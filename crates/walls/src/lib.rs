//! The walls around a cage, and the one build in which a test can leave one of them out, to see that
//! some test notices. In every other build each wall stands, which the compiler knows: nothing is
//! left of the question. Never decides anything about a cage.
//!
//! `cargo xtask walls` makes that build, and names the wall in a variable that reaches every process
//! of ours and no program in a cage.
#![forbid(unsafe_code)]

mod list;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

pub use list::{Caller, Test, Wall};

#[cfg(all(stockade_leaves_out_walls, not(debug_assertions)))]
compile_error!("a release has all its walls");

/// Whether a wall stands.
#[cfg(not(stockade_leaves_out_walls))]
#[inline(always)]
pub const fn stands(_: Wall) -> bool {
    true
}

/// Whether a wall stands: all do but the one that the environment names.
#[cfg(stockade_leaves_out_walls)]
pub fn stands(wall: Wall) -> bool {
    use std::sync::OnceLock;
    static LEFT_OUT: OnceLock<Option<Wall>> = OnceLock::new();
    let left_out = LEFT_OUT.get_or_init(|| {
        let name = std::env::var(VARIABLE).ok()?;
        let wall = Wall::ALL.iter().find(|wall| wall.name() == name);
        if wall.is_none() {
            eprintln!("`{VARIABLE}` names no wall: `{name}`");
            std::process::abort();
        }
        wall.copied()
    });
    *left_out != Some(wall)
}

/// The variable that a test hands on to a process of ours whose environment it makes anew; none where
/// every wall stands.
pub fn handed_on() -> Option<(&'static str, OsString)> {
    if cfg!(stockade_leaves_out_walls) {
        Some((VARIABLE, std::env::var_os(VARIABLE)?))
    } else {
        None
    }
}

/// What the compiler is told to make a build in which walls can be left out.
pub const BUILD: &str = "stockade_leaves_out_walls";

/// Which wall is left out, in that build.
pub const VARIABLE: &str = "STOCKADE_LEFT_OUT_WALL";
