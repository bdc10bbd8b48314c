//! The canonical form of a Plan and its hash: what two starts of the same cage have in common.
//! Leaves out what differs from start to start, and nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha512_256};

use crate::seccomp::hexadecimal;
use crate::{
    BindPurpose, ByteString, EnvironmentVariable, GuestPath, HostIds, HostPath, Identity,
    IdentityMap, LandlockPlan, LimitsPlan, MountOp, NetworkPlan, Plan, SeccompPlan, Source,
    Summary,
};

#[cfg(test)]
mod tests;

/// SHA-512/256 of a Plan's canonical form, as 64 hexadecimal digits. Not SHA-256: a processor without
/// instructions of its own for that takes twice as long, and a cage of a thousand grants has a long text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanHash(String);

impl PlanHash {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Plan {
    /// JSON without white space, fields in the order in which [`Plan`] declares them, and without
    /// what belongs to one start alone: the invocation, the host name and the summary line that
    /// carry its prefix, the ids of a privileged caller's cage, which are derived from it, and which
    /// session's directory it is that `/scratch` shows.
    ///
    /// The order is that of the type and not of any text that a Plan was read from, so it needs no
    /// sorting, which would cost more than the rest together.
    pub fn canonical_json(&self) -> Vec<u8> {
        // Writing numbers, strings and lists into memory cannot fail.
        serde_json::to_vec(&CanonicalPlan::of(self)).unwrap_or_default()
    }

    /// The hash that names this cage in the audit log.
    pub fn hash(&self) -> PlanHash {
        PlanHash(hexadecimal(&Sha512_256::digest(self.canonical_json())))
    }
}

/// A [`Plan`] without what belongs to one start.
#[derive(Serialize)]
struct CanonicalPlan<'plan> {
    version: u32,
    cage: &'plan str,
    identity: CanonicalIdentity<'plan>,
    sources: Vec<CanonicalSource<'plan>>,
    mounts: &'plan [MountOp],
    network: &'plan NetworkPlan,
    seccomp: &'plan SeccompPlan,
    landlock: &'plan LandlockPlan,
    limits: &'plan LimitsPlan,
    environment: &'plan [EnvironmentVariable],
    argv: &'plan [ByteString],
    working_directory: &'plan GuestPath,
    umask: u32,
    must_exist: &'plan [GuestPath],
    must_not_exist: &'plan [GuestPath],
    watched: &'plan [HostPath],
    summary: CanonicalSummary<'plan>,
}

/// A [`Source`] without what belongs to one start.
#[derive(Serialize)]
#[serde(untagged)]
enum CanonicalSource<'plan> {
    Source(&'plan Source),
    Session,
}

/// An [`Identity`] without what belongs to one start.
#[derive(Serialize)]
struct CanonicalIdentity<'plan> {
    uid: u32,
    gid: u32,
    user: &'plan str,
    home: &'plan GuestPath,
    map: CanonicalMap,
}

/// An [`IdentityMap`] without what belongs to one start.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CanonicalMap {
    Caller(HostIds),
    Unowned,
}

/// A [`Summary`] without what belongs to one start.
#[derive(Serialize)]
struct CanonicalSummary<'plan> {
    reduced_isolation: &'plan [String],
}

impl<'plan> CanonicalPlan<'plan> {
    /// Names every field of each type, so that a new one cannot be forgotten here.
    fn of(plan: &'plan Plan) -> Self {
        let Plan {
            version,
            cage,
            invocation: _,
            identity: Identity { uid, gid, user, home, hostname: _, map },
            sources,
            mounts,
            network,
            seccomp,
            landlock,
            limits,
            environment,
            argv,
            working_directory,
            umask,
            must_exist,
            must_not_exist,
            watched,
            summary: Summary { line: _, reduced_isolation },
        } = plan;
        let map = match map {
            IdentityMap::Caller(ids) => CanonicalMap::Caller(*ids),
            IdentityMap::Unowned(_) => CanonicalMap::Unowned,
        };
        let session = mounts.iter().find_map(session_source);
        let canonical = |(index, source)| match session {
            Some(session) if session == index => CanonicalSource::Session,
            _ => CanonicalSource::Source(source),
        };
        Self {
            version: *version,
            cage,
            identity: CanonicalIdentity { uid: *uid, gid: *gid, user, home, map },
            sources: sources.iter().enumerate().map(canonical).collect(),
            mounts,
            network,
            seccomp,
            landlock,
            limits,
            environment,
            argv,
            working_directory,
            umask: *umask,
            must_exist,
            must_not_exist,
            watched,
            summary: CanonicalSummary { reduced_isolation },
        }
    }
}

/// Which source is the directory of a session, if this operation shows one.
fn session_source(operation: &MountOp) -> Option<usize> {
    match operation {
        MountOp::Bind { source, at, purpose: BindPurpose::Base, .. }
            if at.as_bytes() == b"/scratch" =>
        {
            usize::try_from(source.0).ok()
        }
        _ => None,
    }
}
