//! A Plan as bytes, for the socket between a caller and its launcher: first what it has in common with
//! every start of the same cage, then what belongs to this one. What [`decode`] returns has passed
//! every check that an enforcer relies on; it never repairs or guesses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::check::PlanDefect;
use crate::latest::Latest;
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
    finish(walls.to_json(), &start)
}

/// Reads and checks a Plan.
pub fn decode(bytes: &[u8]) -> Result<Plan, DecodeError> {
    let (walls, start) = lines(bytes)?;
    let plan = join(parse_walls(walls)?, parse_start(start)?);
    plan.check()?;
    Ok(plan)
}

/// Writes Plans, of which many are for the same cage: what the last few have in common with other
/// starts is not written out again.
#[derive(Debug, Default)]
pub struct Encoder {
    known: Latest<(Walls<'static>, Vec<u8>)>,
}

impl Encoder {
    /// The same bytes as [`encode`].
    pub fn encode(&mut self, plan: &Plan) -> Vec<u8> {
        let (walls, start) = split(plan);
        let known = self.known.take(|(known, _)| *known == walls);
        let (walls, text) = known.unwrap_or_else(|| {
            let text = walls.to_json();
            (walls.into_owned(), text)
        });
        let bytes = finish(text.clone(), &start);
        // One that is too heavy is written out each time.
        let _kept = self.known.put(text.len(), (walls, text));
        bytes
    }
}

/// Reads Plans, of which many are for the same cage: the walls of the last few are remembered, byte for
/// byte, and not parsed again.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The text of walls and a Plan that has them.
    known: Latest<(Vec<u8>, Plan)>,
}

impl Decoder {
    /// Reads and checks a Plan, whole and anew whatever is known of its walls.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Cow<'_, Plan>, DecodeError> {
        let (walls, start) = lines(bytes)?;
        let start = parse_start(start)?;
        let (text, plan) = match self.known.take(|(text, _)| text == walls) {
            Some((text, mut plan)) => {
                start.replace_in(&mut plan);
                (text, plan)
            }
            None => (walls.to_vec(), join(parse_walls(walls)?, start)),
        };
        plan.check()?;
        Ok(match self.known.put(text.len(), (text, plan)) {
            Ok((_, plan)) => Cow::Borrowed(plan),
            Err((_, plan)) => Cow::Owned(plan),
        })
    }

    /// Keeps nothing of the last Plan but its walls. Variables and arguments can be secret, and whoever
    /// forks hands its memory on.
    pub fn forget_start(&mut self) {
        if let Some((_, plan)) = self.known.last_put() {
            plan.environment = Vec::new();
            plan.argv = Vec::new();
        }
    }
}

/// The two texts. No JSON that this module writes has a line break in it.
fn lines(bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(DecodeError::TooLarge { bytes: bytes.len() });
    }
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    Ok(bytes.split_at(end))
}

/// Writes what belongs to one start behind the walls.
fn finish(mut walls: Vec<u8>, start: &Start<'_>) -> Vec<u8> {
    walls.push(b'\n');
    // Writing numbers, strings and lists into memory cannot fail.
    let _written = serde_json::to_writer(&mut walls, start);
    walls
}

fn parse_start(text: &[u8]) -> Result<Start<'static>, DecodeError> {
    serde_json::from_slice(text).map_err(DecodeError::Malformed)
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
#[derive(Debug, PartialEq, Serialize, Deserialize)]
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

impl Walls<'_> {
    fn to_json(&self) -> Vec<u8> {
        // Writing numbers, strings and lists into memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn into_owned(self) -> Walls<'static> {
        fn own<T: ToOwned + ?Sized>(value: Cow<'_, T>) -> Cow<'static, T> {
            Cow::Owned(value.into_owned())
        }
        Walls {
            version: self.version,
            cage: own(self.cage),
            sources: own(self.sources),
            mounts: own(self.mounts),
            network: own(self.network),
            seccomp: own(self.seccomp),
            landlock: own(self.landlock),
            limits: own(self.limits),
            must_exist: own(self.must_exist),
            must_not_exist: own(self.must_not_exist),
            watched: own(self.watched),
        }
    }
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

impl Start<'_> {
    /// Makes a Plan one for this start.
    fn replace_in(self, plan: &mut Plan) {
        // Names every field, so that a new one cannot be forgotten here.
        let Self { invocation, identity, environment, argv, working_directory, umask, summary } =
            self;
        plan.invocation = invocation.into_owned();
        plan.identity = identity.into_owned();
        plan.environment = environment.into_owned();
        plan.argv = argv.into_owned();
        plan.working_directory = working_directory.into_owned();
        plan.umask = umask;
        plan.summary = summary.into_owned();
    }
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

#[cfg(test)]
mod tests;
