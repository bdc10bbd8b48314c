//! Every known escape as a function, with the twin that shows it works uncaged.
//!
//! An [`Attack`] runs in a process of its own, inside a cage or outside, and is the same code in
//! both. A [`Siege`] works on a cage from the host: it starts one in an unusual way. Both play in an
//! [`Arena`]: bait, listeners and a victim on the host, of which nothing may be read, changed or
//! reached. An attack counts as held off only if its twin, the same attack uncaged, went through,
//! so a broken attack cannot pass for a strong wall.
//!
//! This crate builds no cage and knows no policy: [`prove`] is told how to start one. Its attacks
//! never do what they could where nothing confines them: the bait is theirs, and nothing else is
//! touched.
#![forbid(unsafe_code)]

mod arena;
mod attack;
mod catalog;
mod configuration;
mod files;
mod inside;
mod ipc;
mod kernel;
mod processes;
mod prove;
mod report;
mod siege;
mod sieges;

pub use arena::{Access, Arena, ArenaError, Bait, HostArena, Rule, Services, SetUp};
pub use attack::{Attack, Outcome, Profiles, Proof, Refused, Scene, Tries, Twin};
pub use catalog::{all, named, sieges};
pub use inside::child_main;
pub use prove::{
    CageRequest, Cages, CommandLineCages, Profile, ProveError, Settings, prove, twins,
};
pub use report::{InCage, Judgement, Report, Row};
pub use siege::{Siege, SiegeScene};
