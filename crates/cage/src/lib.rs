//! The life of one cage: resolve, spawn, handle, close.
//!
//! [`resolve`] is the only step between a policy and a cage that looks at the host; around it lie
//! what finds and approves a project's policy file ([`project`], [`trust`]), what tells whether a
//! cage can be built here ([`probe`]), and what looks after one that has ended ([`quarantine`]).
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
mod kind;
mod launcher;
mod outcome;
mod record;
mod spawn;
mod sweep;
mod watchdog;

pub mod bwrap;
pub mod prepare;
pub mod probe;
pub mod project;
pub mod quarantine;
pub mod resolve;
pub mod runner;
pub mod session;
pub mod state;
pub mod trust;

mod protected_names;

/// The examples of the document, which are run like those of the code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library {}

pub use attached::{AttachedRun, Attended, UncagedOutcome, UncagedRun, filter as terminal_filter};
pub use bounds::Bounds;
pub use captured::{Captured, run_captured};
pub use gatekeeper::{Gatekeeper, NetworkEnd, NetworkOutcome, Registration};
pub use kind::{Fault, Kind, with_causes};
pub use launcher::Launcher;
pub use limits::{Degradation, Degraded, LimitsError, Usage};
pub use outcome::{DeniedCall, EndReason, Outcome, SpawnError};
#[doc(hidden)]
pub use protected_names::git_index;
pub use record::{Labels, RecordError, RecordedEnd, Recorder, Recording};
pub use spawn::{Event, Running, spawn, spawn_through};
pub use sweep::{Swept, SweptKind, record_swept, sweep_groups, sweep_sessions};
pub use watchdog::{GRACE, Ring, Watchdog};
