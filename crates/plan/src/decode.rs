//! A Plan as bytes, for the socket between a caller and its launcher: first what it has in common with
//! every start of the same cage, then what belongs to this one. What [`decode`] returns has passed
//! every check that an enforcer relies on; it never repairs or guesses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::check::PlanDefect;
use crate::{
    ByteString, EnvironmentVariable, GuestPath, HostPath, Identity, LandlockPlan, LimitsPlan,
    MountOp, NetworkPlan, PLAN_VERSION, Plan, SeccompPlan, Source, Summary,
};

/// The most bytes that [`decode`] looks at: room for some thirty thousand grants.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Why bytes are not a Plan that can be carried out.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// More bytes than any real Plan has.
    #[error("the plan has {bytes} bytes, more than {MAX_PLAN_BYTES}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
    },
    /// Not JSON, or not the shape of a Plan.
    #[error("the plan is malformed")]
    Malformed(#[source] serde_json::Error),
    /// Made by another release.
    #[error("the plan has version {found}, this program takes {PLAN_VERSION}")]
    Version {
        /// The version it says it has.
        found: u32,
    },
    /// Well formed, and no cage could be built from it safely.
    #[error("the plan cannot be carried out")]
    Defect(#[from] PlanDefect),
}

/// The bytes of a Plan: two lines of JSON.
pub fn encode(plan: &Plan) -> Vec<u8> {
    let (walls, start) = split(plan);
    // Writing numbers, strings and lists into memory cannot fail.
    let mut bytes = serde_json::to_vec(&walls).unwrap_or_default();
    bytes.push(b'\n');
    let _written = serde_json::to_writer(&mut bytes, &start);
    bytes
}

/// Reads and checks a Plan.
pub fn decode(bytes: &[u8]) -> Result<Plan, DecodeError> {
    Decoder::default().decode(bytes)
}

/// Reads Plans, of which many are for the same cage: the walls of the last few are remembered, byte for
/// byte, and not parsed again.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The latest first.
    known: Vec<(Vec<u8>, Walls<'static>)>,
}

impl Decoder {
    /// Reads and checks a Plan, whole and anew whatever is known of its walls.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Plan, DecodeError> {
        if bytes.len() > MAX_PLAN_BYTES {
            return Err(DecodeError::TooLarge { bytes: bytes.len() });
        }
        // No JSON text that this module writes has a line break in it.
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (first, second) = bytes.split_at(end);
        let walls = self.walls(first)?;
        let start: Start<'_> = serde_json::from_slice(second).map_err(DecodeError::Malformed)?;
        let plan = join(walls, start);
        plan.check()?;
        Ok(plan)
    }

    fn walls(&mut self, text: &[u8]) -> Result<Walls<'static>, DecodeError> {
        let (text, walls) = match self.known.iter().position(|(known, _)| known == text) {
            Some(position) => self.known.remove(position),
            None => (text.to_vec(), parse_walls(text)?),
        };
        let copy = walls.clone();
        if text.len() <= MOST_REMEMBERED_BYTES {
            self.known.truncate(MOST_REMEMBERED - 1);
            while self.remembered_bytes() + text.len() > MOST_REMEMBERED_BYTES {
                self.known.pop();
            }
            self.known.insert(0, (text, walls));
        }
        Ok(copy)
    }

    fn remembered_bytes(&self) -> usize {
        self.known.iter().map(|(text, _)| text.len()).sum()
    }
}

fn parse_walls(text: &[u8]) -> Result<Walls<'static>, DecodeError> {
    let walls: Walls<'static> = serde_json::from_slice(text).map_err(|error| {
        // Another version has another shape; that it is another one says more than what differs.
        match serde_json::from_slice::<VersionOnly>(text) {
            Ok(VersionOnly { version }) if version != PLAN_VERSION => {
                DecodeError::Version { found: version }
            }
            _ => DecodeError::Malformed(error),
        }
    })?;
    match walls.version {
        PLAN_VERSION => Ok(walls),
        found => Err(DecodeError::Version { found }),
    }
}

/// What a Plan has in common with every start of the same cage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Walls<'plan> {
    version: u32,
    cage: Cow<'plan, str>,
    sources: Cow<'plan, [Source]>,
    mounts: Cow<'plan, [MountOp]>,
    network: Cow<'plan, NetworkPlan>,
    seccomp: Cow<'plan, SeccompPlan>,
    landlock: Cow<'plan, LandlockPlan>,
    limits: Cow<'plan, LimitsPlan>,
    must_exist: Cow<'plan, [GuestPath]>,
    must_not_exist: Cow<'plan, [GuestPath]>,
    watched: Cow<'plan, [HostPath]>,
}

/// What belongs to one start.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start<'plan> {
    invocation: Cow<'plan, str>,
    identity: Cow<'plan, Identity>,
    environment: Cow<'plan, [EnvironmentVariable]>,
    argv: Cow<'plan, [ByteString]>,
    working_directory: Cow<'plan, GuestPath>,
    umask: u32,
    summary: Cow<'plan, Summary>,
}

/// Names every field, so that a new one cannot be forgotten here.
fn split(plan: &Plan) -> (Walls<'_>, Start<'_>) {
    let Plan {
        version,
        cage,
        invocation,
        identity,
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
        summary,
    } = plan;
    let walls = Walls {
        version: *version,
        cage: cage.into(),
        sources: sources.into(),
        mounts: mounts.into(),
        network: Cow::Borrowed(network),
        seccomp: Cow::Borrowed(seccomp),
        landlock: Cow::Borrowed(landlock),
        limits: Cow::Borrowed(limits),
        must_exist: must_exist.into(),
        must_not_exist: must_not_exist.into(),
        watched: watched.into(),
    };
    let start = Start {
        invocation: invocation.into(),
        identity: Cow::Borrowed(identity),
        environment: environment.into(),
        argv: argv.into(),
        working_directory: Cow::Borrowed(working_directory),
        umask: *umask,
        summary: Cow::Borrowed(summary),
    };
    (walls, start)
}

fn join(walls: Walls<'_>, start: Start<'_>) -> Plan {
    Plan {
        version: walls.version,
        cage: walls.cage.into_owned(),
        invocation: start.invocation.into_owned(),
        identity: start.identity.into_owned(),
        sources: walls.sources.into_owned(),
        mounts: walls.mounts.into_owned(),
        network: walls.network.into_owned(),
        seccomp: walls.seccomp.into_owned(),
        landlock: walls.landlock.into_owned(),
        limits: walls.limits.into_owned(),
        environment: start.environment.into_owned(),
        argv: start.argv.into_owned(),
        working_directory: start.working_directory.into_owned(),
        umask: start.umask,
        must_exist: walls.must_exist.into_owned(),
        must_not_exist: walls.must_not_exist.into_owned(),
        watched: walls.watched.into_owned(),
        summary: start.summary.into_owned(),
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// How many walls a [`Decoder`] remembers.
const MOST_REMEMBERED: usize = 4;

/// Of how many bytes at most, all together: room for some three thousand grants.
const MOST_REMEMBERED_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
