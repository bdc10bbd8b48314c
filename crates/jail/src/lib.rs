//! Puts a process under a Plan.
//!
//! [`start`] starts a cage: it forks once into new namespaces, builds the tree, drops every
//! privilege, verifies the result and waits behind a gate until [`Child::open_gate`]. One file holds
//! one mechanism, in the order in which they happen.
//!
//! This crate decides nothing: it carries out a Plan or refuses it, and undoes what it began.
#![forbid(unsafe_code)]

mod attributes;
mod bare_mounts;
mod control;
mod departure;
mod descriptor_limit;
mod error;
mod first_process;
mod identity;
mod idmap;
mod init;
mod journal;
mod landlock;
mod leftovers;
mod namespaces;
mod network;
mod observer;
mod oom_order;
mod privileges;
mod program;
mod seccomp;
mod servers;
mod start;
mod streams;
mod terminal;
mod tree;
mod verify;

pub mod helper_process;
pub mod launcher;
pub mod restrict;
pub mod within;

pub use control::{
    Denial, End, HandOver, LandlockState, Layers, Lookup, NetworkState, NotifyState, Observation,
    Observed, Report,
};
pub use error::{SetupFailure, StartError, Step};
pub use journal::{Refused, RefusedKind};
pub use namespaces::Premade;
pub use network::{NetworkProbe, probe_network};
pub use privileges::refuse_core_dumps;
pub use servers::INSIDE_WORD;
pub use start::{Child, LimitsHolder, start};
pub use streams::{ProgramStreams, Stream};
