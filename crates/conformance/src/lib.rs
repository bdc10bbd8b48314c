//! What every file system of ours must answer, whoever asks it and however: for the tests of each engine, and of what
//! serves one. The measure is the kernel's own tmpfs. Never shipped.
//!
//! - [`families`]: a suite by families of system calls, as tables of operations and what comes of each.
//! - [`random`]: sequences of operations that a seed decides.
//! - [`exerciser`]: one file, read and written in every way, against a copy in memory.
//! - [`Guest`] is an engine in this process, [`Kernel`] whatever is mounted, and [`through`] the way to compare the two.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test fails by panicking, and a table explains itself"
)]

pub mod compare;
pub mod exerciser;
pub mod families;
mod guest;
mod kernel;
pub mod operation;
pub mod random;
mod script;
pub mod through;

pub use guest::Guest;
pub use kernel::{Kernel, World};
pub use operation::{Answer, Call, Operation, Outcome, SLOTS, Stat, System, everything};
