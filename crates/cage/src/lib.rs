//! The life of one cage: resolve, start, supervise, end.
//!
//! What a cage is made from comes from crates below, which can be reached from here: [`prepare`]
//! finds, approves and selects a policy, [`resolve`] opens what it names on the host, [`session`]
//! and [`state`] are what is kept between runs.
//!
//! An [`AttachedRun`] runs a program on this process's own streams. A [`runner`] starts any number of
//! programs from many threads, watches over them and hands out handles; it is the front door for other
//! programs. Both go through the same steps (`start`) to the same end (`end`), in a cage or without one. A
//! cage with a network is held to its rules by a [`Gatekeeper`], which can serve many.
#![forbid(unsafe_code)]

mod attached;
mod direct;
mod egress;
mod end;
mod error;
mod gatekeeper;
mod kept;
mod model_service;
mod mounts;
mod observations;
mod outcome;
mod program;
mod record;
mod start;
mod watchdog;
mod workspaces;

pub mod bwrap;
pub mod runner;

/// The examples of the document, which are run like those of the code.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library {}

pub use {prepare, resolve, session, state, workspace};

pub use aftermath::{Findings, Note};
pub use aftermath::{Swept, SweptKind, record_swept, sweep_groups, sweep_sessions};
pub use attached::{AttachedRun, Attended, LeftBehind, Notice, run_trial};
pub use egress::{Egress, EgressError};
pub use error::RunError;
pub use gatekeeper::{Gatekeeper, Registration};
pub use kept::{KeepError, Purpose, keep};
pub use limits::{Degradation, Degraded, LimitsError, Usage};
pub use model_service::{ModelOrder, ModelService, SERVED as MODEL_IS_SERVED};
pub use mounts::this_program_serves_mounts;
pub use observations::{Observations, PathDenial, PathProblem, broadest_grant};
pub use outcome::{
    ChangeCounts, DeniedCall, EndReason, Ended, NetworkEnd, NetworkOutcome, RecordError,
    SpawnError, WorkspaceOutcome,
};
pub use policy::{Fault, Kind, with_causes};
pub use record::{Labels, Recorder, Recording};
pub use session::GRACE;
pub use start::Backend;
pub use watchdog::{Ring, Watchdog};
