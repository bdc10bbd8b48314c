//! The compiled cage as plain data.
//!
//! A [`Plan`] says, step by step and without any choice left open, how a cage is built: which
//! mounts in which order, which identity, environment, system call filter and limits. The policy
//! compiler makes one, enforcers carry it out, renderers turn it into a bubblewrap command line.
//!
//! This crate never does I/O, never looks at the host and never decides what a cage may do.
#![forbid(unsafe_code)]

mod bytes;
mod canonical;
mod check;
mod decode;
mod environment;
mod identity;
mod landlock;
mod limits;
mod mount;
mod path;
#[cfg(test)]
mod sample;
mod summary;

pub mod destination;
pub mod inward;
pub mod network;
pub mod render;
pub mod seccomp;

pub use bytes::ByteString;
pub use canonical::PlanHash;
pub use check::PlanDefect;
pub use decode::{DecodeError, MAX_PLAN_BYTES, decode, encode};
pub use environment::EnvironmentVariable;
pub use identity::{HostIds, Identity, IdentityMap};
pub use landlock::{LandlockPlan, LandlockRule};
pub use limits::LimitsPlan;
pub use mount::{
    Access, BindPurpose, Execution, FileKind, Mapping, MountOp, Source, SourceIndex, TmpfsSize,
};
pub use network::{GatekeeperPlan, NetworkPlan};
pub use path::{GuestPath, HostPath, MAX_PATH_BYTES, PathError};
pub use seccomp::SeccompPlan;
pub use summary::{FsMount, Summary};

use serde::{Deserialize, Serialize};

/// The version of the Plan's shape. An enforcer refuses any other.
pub const PLAN_VERSION: u32 = 1;

/// One compiled cage.
///
/// Holding a `Plan` proves nothing about its origin: an enforcer that took one over a socket calls
/// [`decode`], which checks every invariant that the enforcer relies on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`PLAN_VERSION`] in a plan that [`decode`] accepted.
    pub version: u32,
    /// The cage's name in its policy file, `default` where none was given.
    pub cage: String,
    /// Unique per start (a ULID); not part of the canonical hash.
    pub invocation: String,
    /// Who the program is, inside and on the host.
    pub identity: Identity,
    /// Host objects that the mounts refer to by index; the launcher gets one file descriptor for
    /// each, in this order.
    pub sources: Vec<Source>,
    /// Ordered parent first: no operation needs a later one.
    pub mounts: Vec<MountOp>,
    /// What the cage's network namespace is connected to.
    pub network: NetworkPlan,
    /// The system call filter.
    pub seccomp: SeccompPlan,
    /// The second wall around files, where the kernel has landlock.
    pub landlock: LandlockPlan,
    /// Memory, processor, process and time limits.
    pub limits: LimitsPlan,
    /// The complete environment of the program, sorted by name, names unique.
    pub environment: Vec<EnvironmentVariable>,
    /// The program and its arguments; never empty.
    pub argv: Vec<ByteString>,
    /// Where the program starts.
    pub working_directory: GuestPath,
    /// File mode creation mask of the program.
    pub umask: u32,
    /// Paths that `verify` must find inside before the program starts.
    pub must_exist: Vec<GuestPath>,
    /// Paths that `verify` must not find inside.
    pub must_not_exist: Vec<GuestPath>,
    /// Host directories granted read-write, in which files that run code on the host must not
    /// appear; scanned when the cage has ended.
    pub watched: Vec<HostPath>,
    /// What a person reads.
    pub summary: Summary,
}
