//! The request that a wrapped command carries: the effective authority of one executor as plain data, in
//! one word of a command line. `stockade run --sealed` reads it.
//!
//! The checksum notices a word that was cut or mixed up; it is no secret. Whoever can start `stockade run
//! --sealed` can start `stockade run --rw` as well, so a request is the caller's own word, like a flag.

use std::collections::BTreeMap;

use advice::Failure;
use cage::Labels;
use cage::prepare::{Caller, Confined, PolicyFiles, Selection, SelectionError};
use manifest::Autonomy;
use plan::{ByteString, HostPath};
use policy::net::Destination;
use policy::{
    Commands, EnvironmentRule, FsAccess, FsRule, Home, Kind, Limits, Network, NetworkSettings,
    Place, Policy, Reach, RuleOrigin, Seccomp, State,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::{self, Pinned, hexadecimal};

#[cfg(test)]
mod tests;

/// What a wrapped command asks `stockade` for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The executor's name.
    pub executor: String,
    /// Its version.
    pub version: String,
    /// The level that its authority was narrowed by.
    pub autonomy: Autonomy,
    /// What its cage has.
    pub policy: Policy,
    /// Rules that must not lead out of a tree.
    pub confined: Vec<Confined>,
    /// Files that must be what they were.
    pub files: Vec<Pinned>,
    /// Its code's directory, where it starts.
    pub directory: HostPath,
}

/// Why a request cannot be sealed, or a sealed one not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It is longer than a word of a command line may be.
    #[error("the request is longer than {MOST_BYTES} bytes, the most that fits a command line")]
    TooLong,
    /// It is of another version.
    #[error("the request is sealed by another version of stockade")]
    Version,
    /// It was changed or cut.
    #[error("the sealed request was changed on its way: its checksum is wrong")]
    Checksum,
    /// It does not say what a request says.
    #[error("the sealed request cannot be read: {0}")]
    Malformed(String),
    /// An executor's policy has no such thing.
    #[error("an executor cannot have {0}")]
    NotForExecutors(&'static str),
}

impl Sealed {
    /// The request as one word.
    pub fn encode(&self) -> Result<String, SealError> {
        let wire = Wire::of(self)?;
        let body = serde_json::to_string(&wire);
        let body = body.map_err(|error| SealError::Malformed(error.to_string()))?;
        let text = format!("{VERSION}.{}.{body}", checksum(&body));
        if text.len() > MOST_BYTES { Err(SealError::TooLong) } else { Ok(text) }
    }

    /// Reads such a word.
    pub fn decode(text: &str) -> Result<Self, SealError> {
        if text.len() > MOST_BYTES {
            return Err(SealError::TooLong);
        }
        let malformed = || SealError::Malformed("it is not VERSION.CHECKSUM.REQUEST".to_owned());
        let (version, rest) = text.split_once('.').ok_or_else(malformed)?;
        if version != VERSION {
            return Err(SealError::Version);
        }
        let (sum, body) = rest.split_once('.').ok_or_else(malformed)?;
        if sum != checksum(body) {
            return Err(SealError::Checksum);
        }
        let wire: Wire =
            serde_json::from_str(body).map_err(|error| SealError::Malformed(error.to_string()))?;
        Ok(wire.into_sealed())
    }

    /// Whom its start is recorded for.
    pub fn labels(&self) -> Labels {
        Labels {
            project_id: self.directory.to_string(),
            session_id: None,
            subagent_name: Some(self.executor.clone()),
        }
    }

    /// What the request asks for, if its executor's files are what they were. No file of a project and no
    /// ceiling has a say: whoever has a request could pass flags as well.
    pub fn select(&self, caller: &Caller) -> Result<Selection, Failure> {
        files::verify(&self.files)
            .map_err(|error| Failure::new(Kind::NotApproved, error.to_string()).help(CHANGED))?;
        Ok(self.selection(caller)?)
    }

    /// What `stockade` prepares a cage from. Of the user's configuration only `[network]` counts, and is
    /// read only for a cage that has a network.
    pub fn selection(&self, caller: &Caller) -> Result<Selection, SelectionError> {
        let network = match self.policy.net.asks_for_nothing() {
            true => NetworkSettings::default(),
            false => PolicyFiles::user_network(caller)?,
        };
        let mut surroundings = caller.surroundings(self.directory.clone());
        surroundings.working_directory = self.directory.clone();
        let (home, own_state) = (caller.home(), caller.locations.own_state());
        Ok(Selection {
            policy: self.policy.clone(),
            agent_command: Vec::new(),
            agent: None,
            place: Place { project: self.directory.clone(), home, own_state },
            surroundings,
            ceiling: None,
            confined: self.confined.clone(),
            network,
        })
    }
}

/// The request as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    executor: String,
    version: String,
    autonomy: Autonomy,
    cage: String,
    directory: HostPath,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fs: Vec<WireRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    net: Vec<WireDestination>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    net_deny: Vec<WireDestination>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, Option<ByteString>>,
    #[serde(default)]
    limits: WireLimits,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    confined: Vec<WireConfined>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<Pinned>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRule {
    access: WireAccess,
    path: HostPath,
    origin: WireOrigin,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireAccess {
    Ro,
    Rw,
    Hide,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireDestination {
    to: Destination,
    origin: WireOrigin,
}

/// Where a rule came from. What is built in counts as the caller's.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireOrigin {
    Capability(String),
    Caller(String),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_mb: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_weight: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_millis: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pids: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    walltime_sec: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tmp_mb: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home_mb: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireConfined {
    path: HostPath,
    root: HostPath,
}

impl Wire {
    fn of(sealed: &Sealed) -> Result<Self, SealError> {
        let Sealed { executor, version, autonomy, policy, confined, files, directory } = sealed;
        let Policy { name, fs, mounts, commands, env, net, state, home, seccomp, limits } = policy;
        let Network { allow, deny, reasons: _, host_ports, publish } = net;
        let Limits {
            memory_mb,
            cpu_weight,
            cpu_millis,
            pids,
            walltime_sec,
            tmp_mb,
            home_mb,
            workspace_mb,
        } = *limits;
        for (is_there, what) in [
            (*commands != Commands::Base, "a choice of the system's programs"),
            (*state != State::Ephemeral, "a state that is kept"),
            (*home != Home::Memory || workspace_mb.is_some(), "a home that is kept"),
            (fs.iter().any(|rule| rule.access.is_layered()), "files with a layer above them"),
            (*seccomp != Seccomp::Default, "another system call profile"),
            (!mounts.is_empty(), "mounts"),
            (!host_ports.is_empty() || !publish.is_empty(), "ports of this machine"),
        ] {
            if is_there {
                return Err(SealError::NotForExecutors(what));
            }
        }
        let destinations = |list: &BTreeMap<Destination, RuleOrigin>| {
            let wire = |(to, origin): (&Destination, &RuleOrigin)| WireDestination {
                to: to.clone(),
                origin: origin.into(),
            };
            list.iter().map(wire).collect()
        };
        Ok(Self {
            executor: executor.clone(),
            version: version.clone(),
            autonomy: *autonomy,
            cage: name.clone(),
            directory: directory.clone(),
            fs: fs.iter().filter_map(WireRule::of).collect(),
            net: destinations(allow),
            net_deny: destinations(deny),
            env: env.iter().map(|(name, rule)| (name.clone(), rule.value.clone())).collect(),
            limits: WireLimits {
                memory_mb,
                cpu_weight,
                cpu_millis,
                pids,
                walltime_sec,
                tmp_mb,
                home_mb,
            },
            confined: confined
                .iter()
                .map(|Confined { path, root }| WireConfined {
                    path: path.clone(),
                    root: root.clone(),
                })
                .collect(),
            files: files.clone(),
        })
    }

    fn into_sealed(self) -> Sealed {
        let destinations = |list: Vec<WireDestination>| {
            list.into_iter().map(|WireDestination { to, origin }| (to, origin.into())).collect()
        };
        let WireLimits { memory_mb, cpu_weight, cpu_millis, pids, walltime_sec, tmp_mb, home_mb } =
            self.limits;
        let variable = |(name, value): (String, Option<ByteString>)| {
            let origin = RuleOrigin::Capability(self.executor.clone());
            (name, EnvironmentRule { value, origin })
        };
        let policy = Policy {
            fs: self.fs.into_iter().map(WireRule::into_rule).collect(),
            env: self.env.into_iter().map(variable).collect(),
            net: Network {
                allow: destinations(self.net),
                deny: destinations(self.net_deny),
                ..Network::default()
            },
            limits: Limits {
                memory_mb,
                cpu_weight,
                cpu_millis,
                pids,
                walltime_sec,
                tmp_mb,
                home_mb,
                workspace_mb: None,
            },
            ..Policy::closed(self.cage)
        };
        let confined = self.confined.into_iter();
        Sealed {
            executor: self.executor,
            version: self.version,
            autonomy: self.autonomy,
            policy,
            confined: confined.map(|WireConfined { path, root }| Confined { path, root }).collect(),
            files: self.files,
            directory: self.directory,
        }
    }
}

impl WireRule {
    fn of(rule: &FsRule) -> Option<Self> {
        let access = match rule.access {
            FsAccess::ReadOnly => WireAccess::Ro,
            FsAccess::ReadWrite => WireAccess::Rw,
            FsAccess::Hide => WireAccess::Hide,
            // Refused before.
            FsAccess::Cow | FsAccess::Cache => return None,
        };
        Some(Self { access, path: rule.path.clone(), origin: (&rule.origin).into() })
    }

    fn into_rule(self) -> FsRule {
        let access = match self.access {
            WireAccess::Ro => FsAccess::ReadOnly,
            WireAccess::Rw => FsAccess::ReadWrite,
            WireAccess::Hide => FsAccess::Hide,
        };
        FsRule { access, path: self.path, reach: Reach::Anywhere, origin: self.origin.into() }
    }
}

impl From<&RuleOrigin> for WireOrigin {
    fn from(origin: &RuleOrigin) -> Self {
        match origin {
            RuleOrigin::Capability(word) => Self::Capability(word.clone()),
            RuleOrigin::Flag(_) | RuleOrigin::File { .. } | RuleOrigin::BuiltIn(_) => {
                Self::Caller(origin.to_string())
            }
        }
    }
}

impl From<WireOrigin> for RuleOrigin {
    fn from(origin: WireOrigin) -> Self {
        match origin {
            WireOrigin::Capability(word) => Self::Capability(word),
            WireOrigin::Caller(word) => Self::Flag(word),
        }
    }
}

fn checksum(body: &str) -> String {
    hexadecimal(&Sha256::digest(body))
}

const VERSION: &str = "1";

const CHANGED: &str =
    "if you changed it, write the new digest into a manifest that has one, and wrap it again";

/// Below the kernel's bound for one argument, which is 128 KiB with its end.
const MOST_BYTES: usize = 120 << 10;
