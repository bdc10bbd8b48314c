//! The tools of agents: reading and changing files, searching, running commands, keeping notes. One trait, one table of
//! them, and the process in a cage that runs them for an agent outside ([`worker`]).
//!
//! Every tool works on a [`Root`], a descriptor that nothing leads out of, and within bounds of size and time. What it
//! answers is written for a model to act on. A tool holds no authority of its own: it can do what the process that runs
//! it can, and that process is in a cage. Never prints, and keeps nothing but the notes of its session.
#![forbid(unsafe_code)]

mod catalog;
mod children;
mod error;
mod exec;
mod files;
mod git;
mod glob;
mod json;
mod notes;
mod parameters;
pub mod protocol;
mod reads;
pub mod reaper;
mod root;
mod spill;
mod tool;
mod traverse;
mod warnings;
mod web;
pub mod worker;

pub use catalog::{NAMES, all, granted};
pub use error::{ErrorKind, ToolError};
pub use exec::Shell;
pub use parameters::{Given, Kind, Parameter};
pub use root::Root;
pub use spill::{Spill, Spilled};
pub use tool::{Call, Needs, Reader, Tool, World};
pub use warnings::{Warning, warnings};
