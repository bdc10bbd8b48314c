//! What a manifest says, read and checked: names that exist, hints of the right shape, conditions
//! that can be judged. Holds no path of a host: `~` is expanded when a call is derived.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::Autonomy;
use crate::autonomy::{Effect, Registered, Verdict, registered};
use plan::HostPath;
use policy::net::Destination;
use serde_json::Value;

/// An executor as its manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Letters, digits, `-` and `_`, at most 64 bytes; the stem of the code's file where the manifest
    /// names none.
    pub name: String,
    /// `0` where the manifest names none.
    pub version: String,
    /// One line for people; empty where there is none.
    pub summary: String,
    /// The entry: absolute, or relative to the manifest's directory. Has no `..`.
    pub code: String,
    /// What is put before the code's path; empty where the file itself is started.
    pub interpreter: Vec<String>,
    /// Files that must be what they were; relative to the manifest's directory, without `..`.
    pub files: Vec<CodeFile>,
    /// Typed arguments; none where the manifest says nothing about them.
    pub arguments: Option<BTreeMap<String, Argument>>,
    /// Arguments that are paths although nothing else says so.
    pub path_args: BTreeSet<String>,
    /// What it declares, in the order of the text.
    pub capabilities: Vec<Capability>,
    /// Bounds of one call.
    pub limits: Limits,
    /// What builds its cage.
    pub backend: Backend,
}

/// A file of the executor with its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Relative to the manifest's directory, or absolute; has no `..`.
    pub path: String,
    /// 64 hexadecimal digits in lower case.
    pub sha256: String,
}

/// What builds the cage of an executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Stockade itself.
    #[default]
    Native,
    /// bubblewrap.
    Bwrap,
}

/// Bounds of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// 1 to 86400.
    pub timeout_sec: u64,
    /// The most bytes of each of the two outputs, 1 to 64 MiB.
    pub max_output: u64,
    /// As in a policy.
    pub memory_mb: Option<u64>,
    /// As in a policy.
    pub pids: Option<u32>,
    /// Thousandths of a processor.
    pub cpu_millis: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_sec: DEFAULT_TIMEOUT_SEC,
            max_output: DEFAULT_OUTPUT,
            memory_mb: None,
            pids: None,
            cpu_millis: None,
        }
    }
}

/// One declared capability.
#[derive(Clone, Debug, PartialEq)]
pub struct Capability {
    /// Which one.
    pub registered: &'static Registered,
    /// What it is limited to; without any, a file capability gives nothing.
    pub hints: Vec<Hint>,
    /// Hints that say nothing, one sentence each.
    pub ignored: Vec<String>,
    /// In which calls it is there; in all of them where none.
    pub when: Option<When>,
}

/// What a capability is limited to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A directory or file and everything below.
    Path(PathHint),
    /// Hosts with their ports.
    Hosts {
        /// As it was written.
        written: String,
        /// One or, for two ports, two.
        destinations: Vec<Destination>,
    },
    /// `arg:NAME`: only the value that this argument has in a call.
    Argument(String),
}

/// A hint that names a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathHint {
    /// As it was written.
    pub written: String,
    /// Where its path starts.
    pub start: Start,
    /// The rest, without glob, `.`, `..` and doubled slashes; may be empty.
    pub below: String,
    /// Whether it ended in a glob or a slash, and so means a directory.
    pub directory: bool,
}

/// Where the path of a hint starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// `/`.
    Root,
    /// `~`.
    Home,
    /// `host:/…`: the host's own, also below `/tmp`.
    HostRoot,
}

/// A condition on the arguments of a call. One on an argument that is absent is false.
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// Which argument.
    pub argument: String,
    /// What must hold for it.
    pub test: Test,
}

/// What must hold for an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is one of these.
    In(Vec<Value>),
    /// It is neither null, false, nor an empty text, list or object.
    NonEmpty,
    /// It is a list, and some item is an object with this key and a value other than null.
    AnyHas(String),
}

/// A typed argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// What its value is.
    pub kind: ArgumentType,
    /// Whether a call without it is refused.
    pub required: bool,
    /// The only values; any where empty.
    pub one_of: Vec<Value>,
    /// What the items of a list are.
    pub items: Option<ArgumentType>,
}

/// What the value of an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentType {
    /// A short text, which the filter looks at.
    Text,
    /// Free text: never looked at and never a path.
    Content,
    /// A path of the host.
    Path,
    /// A URL, or `host:port`.
    Url,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Manifest {
    /// The command that starts the executor: its interpreter and the path of its code.
    pub fn command(&self, code: &HostPath) -> Vec<String> {
        let path = code.as_path().to_string_lossy().into_owned();
        self.interpreter.iter().cloned().chain([path]).collect()
    }

    /// What the texts in the value of this argument are; plain text where the manifest does not say.
    pub fn text_type_of(&self, name: &str) -> ArgumentType {
        if self.path_args.contains(name) {
            return ArgumentType::Path;
        }
        let argument = self.arguments.as_ref().and_then(|arguments| arguments.get(name));
        match argument.map(|argument| (argument.kind, argument.items)) {
            Some((ArgumentType::List, Some(items))) => items,
            Some((kind, _)) => kind,
            None => ArgumentType::Text,
        }
    }
}

impl Capability {
    /// What it is about, such as `fs`.
    pub fn family(&self) -> &'static str {
        self.registered.family
    }

    /// What is done to it, such as `read`.
    pub fn mode(&self) -> &'static str {
        self.registered.mode
    }

    /// Whether it asks for the whole network: a network capability that names no host.
    pub fn is_whole_network(&self) -> bool {
        let is_network = self.registered.effect == Effect::Network;
        is_network && self.hints.is_empty() && self.ignored.is_empty()
    }

    /// What a level says about it. Hosts that are named are held by the gatekeeper; the whole network
    /// is judged as `network:*`, however it is written, and so is what calls itself that.
    pub fn verdict(&self, autonomy: Autonomy) -> Verdict {
        let judged_as = match self.registered.effect {
            Effect::Network if self.is_whole_network() || self.mode() == "*" => {
                registered("network:*")
            }
            Effect::Network => registered("network:tcp"),
            Effect::Read | Effect::Write | Effect::Nothing => Some(self.registered),
        };
        judged_as.map_or(Verdict::Denied, |entry| entry.verdict(autonomy))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registered.fmt(formatter)
    }
}

impl Backend {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bwrap => "bwrap",
        }
    }
}

impl ArgumentType {
    /// Every type.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Content,
        Self::Path,
        Self::Url,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::List,
        Self::Object,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Content => "content",
            Self::Path => "path",
            Self::Url => "url",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

/// The time that a call has where the manifest says nothing.
pub const DEFAULT_TIMEOUT_SEC: u64 = 30;

/// The most bytes of an output where the manifest says nothing.
pub const DEFAULT_OUTPUT: u64 = 1024 * 1024;

/// The longest time that a manifest may ask for: a day.
pub const MAX_TIMEOUT_SEC: u64 = 86_400;

/// The most bytes of an output that a manifest may ask for.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
