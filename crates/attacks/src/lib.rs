//! Every known escape as a function, with the twin that shows it works uncaged.
//!
//! An [`Attack`] runs in a process of its own, inside a cage or outside, and is the same code in
//! both. It plays in an [`Arena`]: bait, listeners and a victim on the host, of which nothing may be
//! read, changed or reached. Whoever plays it judges it: the `prove` crate.
//!
//! This crate builds no cage and knows no policy. Its attacks never do what they could where nothing
//! confines them: the bait is theirs, and nothing else is touched.
#![forbid(unsafe_code)]

mod arena;
mod attack;
mod catalog;
mod configuration;
mod files;
mod inside;
mod ipc;
mod kernel;
mod network;
mod processes;

pub mod world;

pub use arena::{Access, Arena, ArenaError, Bait, HostArena, Rule, SetUp};
pub use attack::{Attack, Network, Outcome, Profiles, Proof, Refused, Scene, Tries, Twin};
pub use catalog::{all, in_world, named, on_host};
pub use inside::{AttackReport, EXCEEDED, KERNEL_REFUSES, ask, child_main, say};
