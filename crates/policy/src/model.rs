//! The one type that every front end parses into. Holds what was asked for and where it was asked;
//! never what the host looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use plan::network::MOST_PORTS;
use plan::{Access, ByteString, GuestPath, HostPath, MountedFrom};

use crate::net::Destination;
use crate::shown::Shown;

/// A cage as a policy file may define it.
#[expect(clippy::large_enum_variant, reason = "a file has few cages, and nearly all are enabled")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cage {
    /// `cage.NAME = "disabled"`: the operator's opt-out, which keeps the time limit alone.
    Disabled {
        /// Limits live outside the choice between enabled and disabled.
        limits: Limits,
        /// Where it was written.
        origin: RuleOrigin,
    },
    /// The normal case.
    Enabled(Policy),
}

/// What one cage may see, reach and use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The cage's name: letters, digits, `-` and `_`, at most 64 bytes.
    pub name: String,
    /// Rules on host paths. Order does not matter: the most specific path wins.
    pub fs: Vec<FsRule>,
    /// Files at places of the cage's own. A directory of the host has a rule of `fs` besides, which is what gives it.
    pub mounts: BTreeMap<GuestPath, Mount>,
    /// Which programs of the system exist inside.
    pub commands: Commands,
    /// Variables that the program gets beyond the fixed ones (`HOME`, `PATH`, `USER`, ...).
    pub env: BTreeMap<String, EnvironmentRule>,
    /// Destinations on the network.
    pub net: Network,
    /// Whether `/scratch` outlives a run.
    pub state: State,
    /// Whether the cage's own home outlives a run.
    pub home: Home,
    /// Which system call profile.
    pub seccomp: Seccomp,
    /// Bounds; an absent one is unbounded.
    pub limits: Limits,
}

/// One rule on a host path and all that lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsRule {
    /// What the rule gives or takes.
    pub access: FsAccess,
    /// The path, absolute and lexically normal; symlinks are not resolved yet.
    pub path: HostPath,
    /// How far the path may lead when it is resolved.
    pub reach: Reach,
    /// Where the rule was written.
    pub origin: RuleOrigin,
}

/// Files at a place of the cage's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where they come from.
    pub from: MountedFrom,
    /// Whether they can be changed; what is in memory always can.
    pub access: Access,
    /// How far the path of a directory or a store may lead.
    pub reach: Reach,
    /// Where it was written.
    pub origin: RuleOrigin,
}

/// What a rule on a path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FsAccess {
    /// Nothing below exists, unless a deeper rule grants it.
    Hide,
    /// Read and start programs.
    ReadOnly,
    /// As [`FsAccess::Cow`], in a layer that the project keeps and that is never brought to the host.
    Cache,
    /// Make and change files in a layer of the session's own, which somebody reviews before it is the host's.
    Cow,
    /// Make and change files as well.
    ReadWrite,
}

/// How far a path may lead when symlinks are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Never out of the project: every step is taken beneath its root.
    BeneathProject,
    /// Anywhere that is not ungrantable: the user's own configuration or flag named it.
    Anywhere,
}

/// Where a rule came from, for `why` and for errors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleOrigin {
    /// A line of a policy file.
    File {
        /// The file as the user knows it. Shared: every rule of a file says it.
        file: Arc<str>,
        /// Counted from 1.
        line: u32,
        /// Counted from 1, in characters.
        column: u32,
    },
    /// A command-line flag, as it was given.
    Flag(String),
    /// A capability of a plugin, as it was given.
    Capability(String),
    /// What holds without any policy.
    BuiltIn(&'static str),
}

/// Which programs of the system exist inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands {
    /// All of `/usr`.
    Base,
    /// None: no shell, no program but one that a grant shows.
    None,
    /// The shell and these, with the libraries they need; names without a slash.
    Listed(BTreeSet<String>),
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRule {
    /// The value, or none to take the caller's where it has one.
    pub value: Option<ByteString>,
    /// Where it was written.
    pub origin: RuleOrigin,
}

/// What a cage may reach, and what reaches it. A [`Destination`] prints in its normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Allowed destinations.
    pub allow: BTreeMap<Destination, RuleOrigin>,
    /// Denied destinations; they win over allowed ones.
    pub deny: BTreeMap<Destination, RuleOrigin>,
    /// Sentences about hosts that are refused. Text for a reader: they give and take nothing.
    pub reasons: BTreeMap<Destination, String>,
    /// Ports of the host's loopback that the cage's own loopback leads to.
    pub host_ports: BTreeMap<u16, RuleOrigin>,
    /// Ports of the cage's loopback that the host's loopback leads to.
    pub publish: BTreeMap<u16, RuleOrigin>,
}

/// Whether `/scratch` outlives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Gone when the program ends.
    Ephemeral,
    /// Kept for the next run of the same session.
    Scratch,
}

/// Whether the cage's own home outlives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// Memory, gone when the program ends.
    Memory,
    /// A private directory, kept for the next run in the same project.
    Kept,
}

/// The system call profile. There is no way to name a single call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seccomp {
    /// The default profile.
    Default,
    /// For debuggers and profilers; audited as reduced isolation.
    Relaxed,
}

/// Bounds, in the units of the policy language. The parser has checked every range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// At least 16.
    pub memory_mb: Option<u64>,
    /// 1 to 10000; `cpu_shares` (2 to 262144) is converted to this on parsing.
    pub cpu_weight: Option<u32>,
    /// Thousandths of a processor, at least 10.
    pub cpu_millis: Option<u32>,
    /// At least 1.
    pub pids: Option<u32>,
    /// At least 1.
    pub walltime_sec: Option<u64>,
    /// Room for files in memory at `/tmp` and `/scratch`, in MiB; at least 1.
    pub tmp_mb: Option<u64>,
    /// The same at the cage's home.
    pub home_mb: Option<u64>,
    /// Of layers and of a home that is kept; at least 1. An absent one is [`Limits::WORKSPACE_MB`].
    pub workspace_mb: Option<u64>,
}

impl Limits {
    /// Most that layers may take where nothing else is said, in MiB: 10 GiB.
    pub const WORKSPACE_MB: u64 = 10 << 10;
}

impl Policy {
    /// A cage that sees no host file beyond the base layer and reaches nothing.
    pub fn closed(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            fs: Vec::new(),
            mounts: BTreeMap::new(),
            commands: Commands::Base,
            env: BTreeMap::new(),
            net: Network::default(),
            state: State::Ephemeral,
            home: Home::Memory,
            seccomp: Seccomp::Default,
            limits: Limits::default(),
        }
    }
}

impl Policy {
    /// Gives the directories of the host that are mounted, where no rule says already what is given of them.
    pub(crate) fn grant_mounted_directories(&mut self) {
        for Mount { from, access, reach, origin } in self.mounts.values() {
            let MountedFrom::Directory(path) = from else { continue };
            if self.fs.iter().all(|rule| rule.path != *path) {
                let access = match access {
                    Access::ReadOnly => FsAccess::ReadOnly,
                    Access::ReadWrite => FsAccess::ReadWrite,
                };
                let (path, origin) = (path.clone(), origin.clone());
                self.fs.push(FsRule { access, path, reach: *reach, origin });
            }
        }
    }

    /// Whether a run writes to directories of the user's own that are there after it.
    pub fn keeps_something(&self) -> bool {
        let has_layers = self.fs.iter().any(|rule| rule.access.is_layered());
        has_layers || self.state == State::Scratch || self.home == Home::Kept
    }
}

impl Network {
    /// Whether nothing is to be reached in either direction: the cage then has its loopback alone.
    pub fn asks_for_nothing(&self) -> bool {
        self.allow.is_empty() && self.host_ports.is_empty() && self.publish.is_empty()
    }

    /// Takes away all that is to be reached, in both directions.
    pub fn disconnect(&mut self) {
        self.allow.clear();
        self.host_ports.clear();
        self.publish.clear();
    }

    /// Ports that both lists name. Such a port would lead to itself: from the host's loopback to
    /// the cage's, and from there to the host's again.
    pub fn contradictory_ports(&self) -> impl Iterator<Item = u16> {
        self.host_ports.keys().filter(|port| self.publish.contains_key(port)).copied()
    }

    /// The list that has more ports than a cage can be given, by its word.
    pub fn list_with_too_many_ports(&self) -> Option<&'static str> {
        let lists = [("net.host_ports", &self.host_ports), ("net.publish", &self.publish)];
        lists.into_iter().find(|(_, ports)| ports.len() > MOST_PORTS).map(|(word, _)| word)
    }

    /// How many entries all lists have together.
    pub fn entries(&self) -> usize {
        let Self { allow, deny, reasons, host_ports, publish } = self;
        allow.len() + deny.len() + reasons.len() + host_ports.len() + publish.len()
    }
}

impl FsAccess {
    /// Whether what the program changes goes to a layer above the host's files.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::Cache | Self::Cow)
    }

    /// Whether what the program changes is, or may after a review become, the host's.
    pub fn may_change_host(self) -> bool {
        matches!(self, Self::Cow | Self::ReadWrite)
    }

    /// The word of the policy language.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hide => "hide",
            Self::ReadOnly => "ro",
            Self::Cache => "cache",
            Self::Cow => "cow",
            Self::ReadWrite => "rw",
        }
    }
}

impl Home {
    /// The word of the policy language.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Kept => "kept",
        }
    }
}

impl State {
    /// The word of the policy language.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ephemeral => "ephemeral",
            Self::Scratch => "scratch",
        }
    }
}

impl Seccomp {
    /// The word of the policy language.
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Relaxed => "relaxed",
        }
    }
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, .. } => write!(formatter, "{}:{line}", Shown(file)),
            Self::Flag(flag) => write!(formatter, "{}", Shown(flag)),
            Self::Capability(word) => write!(formatter, "capability `{}`", Shown(word)),
            Self::BuiltIn(what) => write!(formatter, "built in: {what}"),
        }
    }
}
