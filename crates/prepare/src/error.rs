//! Why there is no cage to build: which file, name or approval is missing, or what of the policy
//! does not hold on this host. What to do about it is said by whoever talks to the person.

use plan::HostPath;
use policy::capabilities::CapabilityErrors;
use policy::ceiling::Excess;
use policy::shown::shown;
use policy::{CompileError, Kind, built_in};
use profiles::agents::NotAvailable;
use resolve::{ResolveError, SurroundingsError};
use rustix::io::Errno;

use crate::project::{PolicyFileError, ProjectError};
use crate::trust::TrustError;

/// Why no policy holds.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// The caller's surroundings cannot be told.
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    /// There is no such project, or its file cannot be used.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The user's configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] PolicyFileError),
    /// A policy text is wrong.
    #[error("the policy cannot be used")]
    Text(#[source] Box<policy::text::Diagnostics>),
    /// The user's approvals cannot be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A project's file asks for more than the ceiling, and nobody has approved it.
    #[error("`{}` is not approved; {excess}", shown(.file))]
    NotApproved {
        /// The project's file.
        file: HostPath,
        /// What it asks for.
        excess: Excess,
        /// Whether this user can approve anything.
        approvals: Approvals,
    },
    /// Without a policy the directory would be granted, and it is too broad for that.
    #[error(transparent)]
    TooBroad(#[from] built_in::TooBroad),
    /// Nobody defined what was asked for.
    #[error("there is no {what} `{}`", shown(.name))]
    Undefined {
        /// What was asked for.
        what: Definition,
        /// By this name.
        name: String,
        /// What there is instead.
        defined: Vec<String>,
    },
    /// The project and the user defined what was asked for.
    #[error("{what} `{}` is defined by the project's file and by your configuration", shown(.name))]
    DefinedTwice {
        /// What was asked for.
        what: Definition,
        /// By this name.
        name: String,
    },
    /// A built-in agent cannot be had here.
    #[error(transparent)]
    Agent(#[from] NotAvailable),
    /// A profile adds to itself.
    #[error("profile `{}` adds to itself, by way of its `from`", shown(.name))]
    ProfileCycle {
        /// One of those that do.
        name: String,
    },
    /// What a plugin was given cannot be read.
    #[error(transparent)]
    Capabilities(#[from] CapabilityErrors),
    /// What a plugin was given is more than the user's ceiling, which no approval lifts.
    #[error("a plugin cannot have this: {0}")]
    PluginBeyondCeiling(Excess),
    /// A plugin is always caged. K209
    #[error("a plugin is always caged, and programs run without a cage here")]
    PluginWithoutCage,
    /// A flag asks for what only a cage can hold, and there is none.
    #[error("`{}` means nothing for a program without a cage, of which only the time is limited", shown(.flag))]
    NeedsCage {
        /// The flag, as it was given.
        flag: String,
    },
    /// With the caller's own rules there are more ports than a cage can be given.
    #[error(
        "with these flags the cage has more than {} ports in `{list}`",
        plan::network::MOST_PORTS
    )]
    TooManyPorts {
        /// The list, by its word.
        list: &'static str,
    },
}

impl From<policy::text::Diagnostics> for SelectionError {
    fn from(diagnostics: policy::text::Diagnostics) -> Self {
        Self::Text(Box::new(diagnostics))
    }
}

/// Whether a user can approve a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approvals {
    /// They can be given.
    Possible,
    /// They can be given once the text is in its file: it came without one.
    OnceWritten,
    /// There is no home to keep them in.
    NoPlace,
}

/// What a policy file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// What a program may see, reach and use.
    Cage,
    /// A program and its cage.
    Agent,
    /// A policy for any project.
    Profile,
}

impl std::fmt::Display for Definition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Cage => "cage",
            Self::Agent => "agent",
            Self::Profile => "profile",
        })
    }
}

/// Why a policy that holds makes no cage here.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// What the policy names is not there, or must not be granted.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The policy and what was found make no Plan.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A link of the project leads beyond the user's ceiling.
    #[error("through links, {0}")]
    BeyondCeiling(Excess),
    /// A link leads what an argument of an executor names out of its tree.
    #[error("what an argument names leads out of `{}`, through a link", shown(.root))]
    LeadsOut {
        /// The tree. The path is not told: it is the argument's value.
        root: HostPath,
    },
    /// An executor's capability is written with a link in it.
    #[error("`{}` goes through a link", shown(.path))]
    ThroughLink {
        /// The path of the rule.
        path: HostPath,
    },
    /// A link leads an executor's capability to what it does not name.
    #[error("a path in `{}` leads to {what}, through a link", shown(.root))]
    LeadsTo {
        /// The path of the rule, or the tree that an argument's must stay in.
        root: HostPath,
        /// What it leads to.
        what: &'static str,
    },
    /// The daemon's token is gone from a directory that the program could write, who could put another
    /// there for the daemon's next start.
    #[error("the file with the daemon's token is gone: `{}`", shown(.0))]
    TokenGone(HostPath),
    /// The directory of a built-in agent's settings cannot be made.
    #[error("the settings of the agent cannot be made: `{}`: {source}", shown(.path))]
    AgentSettings {
        /// What was to be made.
        path: HostPath,
        /// Why it was not.
        source: std::io::Error,
    },
    /// A start cannot be named.
    #[error("the kernel gives no random bytes: {}", std::io::Error::from(*.0))]
    NoRandomBytes(Errno),
}

impl SelectionError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Surroundings(_) => Kind::CannotBuild,
            Self::Project(_) | Self::Configuration(_) => Kind::PolicyInvalid,
            Self::Text(_) => Kind::PolicySyntax,
            Self::Trust(_) | Self::NotApproved { .. } => Kind::NotApproved,
            Self::TooBroad(_) => Kind::TooBroad,
            Self::Undefined { .. }
            | Self::DefinedTwice { .. }
            | Self::ProfileCycle { .. }
            | Self::Capabilities(_) => Kind::PolicyInvalid,
            Self::Agent(NotAvailable::NotInstalled { .. }) => Kind::ProgramNotFound,
            Self::Agent(NotAvailable::NoPlace { .. }) => Kind::CannotBuild,
            Self::PluginBeyondCeiling(_) => Kind::BeyondCeiling,
            Self::PluginWithoutCage => Kind::UncagedNotAllowed,
            Self::NeedsCage { .. } | Self::TooManyPorts { .. } => Kind::Usage,
        }
    }
}

impl PrepareError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Resolve(error) => error.kind(),
            Self::Compile(error) => of_compile(error),
            Self::BeyondCeiling(_) | Self::LeadsOut { .. } | Self::ThroughLink { .. } => {
                Kind::BeyondCeiling
            }
            Self::LeadsTo { .. } => Kind::TooBroad,
            Self::TokenGone(_) | Self::NoRandomBytes(_) | Self::AgentSettings { .. } => {
                Kind::CannotBuild
            }
        }
    }
}

fn of_compile(error: &CompileError) -> Kind {
    match error {
        CompileError::Rules(_) => Kind::PolicyInvalid,
        CompileError::NoProgram | CompileError::NulInArgument => Kind::Usage,
        CompileError::RootWithoutPrivilege { .. }
        | CompileError::NotKept(_)
        | CompileError::Bug(_) => Kind::CannotBuild,
    }
}
