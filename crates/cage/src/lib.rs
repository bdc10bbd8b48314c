//! The life of one cage: resolve, spawn, handle, close.
//!
//! What a cage is made from comes from crates below, which can be reached from here: [`prepare`]
//! finds, approves and selects a policy, [`resolve`] opens what it names on the host, [`session`]
//! and [`state`] are what is kept between runs.
//!
//! An [`AttachedRun`] runs a compiled Plan on this process's own streams. A [`runner`] starts any
//! number of cages from many threads, watches over them and hands out handles; it is the front door
//! for other programs. Below both, [`spawn`] hands back a [`Running`] cage, and a [`Launcher`] does
//! the same for processes with many threads. A cage with a network is held to its rules by a
//! [`Gatekeeper`], which can serve many.
#![forbid(unsafe_code)]

mod attached;
mod bounds;
mod captured;
mod gatekeeper;
mod launcher;
mod outcome;
mod record;
mod spawn;
mod watchdog;
mod way_out;

pub mod bwrap;
pub mod runner;

/// The examples of the document, which are run like those of the code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library {}

pub use {prepare, resolve, session, state};

pub use aftermath::{Swept, SweptKind, record_swept, sweep_groups, sweep_sessions};
pub use attached::{AttachedRun, Attended, UncagedOutcome, UncagedRun};
pub use bounds::Bounds;
pub use captured::{Captured, run_captured};
pub use gatekeeper::{Gatekeeper, Registration};
pub use launcher::Launcher;
pub use limits::{Degradation, Degraded, LimitsError, Usage};
pub use outcome::{
    DeniedCall, EndReason, NetworkEnd, NetworkOutcome, Outcome, RecordError, SpawnError,
};
pub use policy::{Fault, Kind, with_causes};
pub use record::{Labels, RecordedEnd, Recorder, Recording};
pub use session::GRACE;
pub use spawn::{Event, Running, spawn, spawn_through};
pub use watchdog::{Ring, Watchdog};
pub use way_out::{WayOut, WayOutError};
