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
mod mounted;
mod path;
mod room;
#[cfg(test)]
mod sample;
mod summary;
mod view;

pub mod destination;
pub mod inward;
pub mod kind;
pub mod network;
pub mod render;
pub mod seccomp;
pub mod shown;

pub use bytes::ByteString;
pub use canonical::PlanHash;
pub use check::{MAX_TMPFS_BYTES, PlanDefect};
pub use decode::{DecodeError, MAX_PLAN_BYTES, decode, encode};
pub use environment::EnvironmentVariable;
pub use identity::{HostIds, Identity, IdentityMap};
pub use landlock::{LandlockPlan, LandlockRule};
pub use limits::LimitsPlan;
pub use mount::{
    Access, Bind, BindPurpose, DENIALS, Entry, Execution, FileKind, Mapping, MountOp, Overlay,
    OverlayPurpose, SCRATCH, Source, SourceIndex, TmpfsPurpose, TmpfsSize, UPPER_LAYER,
    WORK_DIRECTORY,
};
pub use mounted::{
    Calls, INSIDE_PROGRAM, Inside, MOST_SERVED, MountedFrom, MountedFromError, RemoteStore, Served,
    ServedFrom, WrittenFrom,
};
pub use network::{GatekeeperPlan, NetworkPlan};
pub use path::{GuestPath, HostPath, MAX_PATH_BYTES, PathError};
pub use room::Room;
pub use seccomp::SeccompPlan;
pub use view::{NotByKernel, ServedLayers, View};

use seccomp::Watch;
use serde::{Deserialize, Serialize};

/// The version of the Plan's shape. An enforcer refuses any other.
pub const PLAN_VERSION: u32 = 4;

/// One compiled cage: what every start of it has, and what one start adds.
///
/// Holding a `Plan` proves nothing about its origin: an enforcer that took one over a socket calls
/// [`decode`], which checks every invariant that the enforcer relies on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`PLAN_VERSION`] in a plan that [`decode`] accepted.
    pub version: u32,
    /// What is hashed.
    pub walls: Walls,
    /// What is not.
    pub start: Start,
}

/// What a cage is: the same for every start with the same policy on the same host. All of it is in
/// the hash, so a field that differs from start to start belongs into [`Start`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walls {
    /// The cage's name in its policy file, `default` where none was given.
    pub cage: String,
    /// Who the program is, inside and on the host.
    pub identity: Identity,
    /// Host objects that the mounts refer to by index; those of [`Start::sources`] come after them.
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
    /// What weakens this cage compared with the default, one sentence each.
    pub reduced_isolation: Vec<String>,
}

/// What one start adds to a cage. Nothing of it widens what the program may see, reach or use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Unique per start (a ULID).
    pub invocation: String,
    /// Host name inside; ends in a prefix of the invocation.
    pub hostname: String,
    /// Who the cage of a privileged caller is on the host ([`IdentityMap::Unowned`]).
    pub unowned: HostIds,
    /// Directories of ours that are used by this start: for [`BindPurpose::Scratch`], for [`BindPurpose::Home`] and
    /// as areas of overlays, and nothing else. The launcher gets one file descriptor for each source, those of the
    /// walls first.
    pub sources: Vec<Source>,
    /// The program and its arguments; never empty.
    pub argv: Vec<ByteString>,
    /// The cage in one line ([`Plan::one_line`]).
    pub summary: String,
    /// What of the program's calls is noted for its user. It changes no answer.
    #[serde(default, skip_serializing_if = "Watch::is_nothing")]
    pub watch: Watch,
}

impl Plan {
    /// The host object behind an index.
    pub fn source(&self, index: SourceIndex) -> Option<&Source> {
        self.sources().nth(index.position())
    }

    /// All host objects, in the order of their indices.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.walls.sources.iter().chain(&self.start.sources)
    }

    /// The contents of a [`MountOp::Hosts`]: what every start has, and the cage's own name at its loopback, as
    /// hosts(5) has it. Without that line a program that asks for its own host has no address.
    pub fn hosts(&self, contents: &ByteString) -> ByteString {
        let mut whole = contents.as_bytes().to_vec();
        whole.extend_from_slice(format!("127.0.0.1 {}\n", self.start.hostname).as_bytes());
        ByteString::from(whole)
    }

    /// What the cage's group is held to. The thread that watches is a task of ours.
    pub fn limits_of_group(&self) -> LimitsPlan {
        let own = u32::from(!self.start.watch.is_nothing());
        let pids = self.walls.limits.pids.map(|pids| pids.saturating_add(own));
        LimitsPlan { pids, ..self.walls.limits }
    }

    /// The ids that the program acts with on the host.
    pub fn host_ids(&self) -> HostIds {
        match self.walls.identity.map {
            IdentityMap::Caller(ids) => ids,
            IdentityMap::Unowned => self.start.unowned,
        }
    }
}
