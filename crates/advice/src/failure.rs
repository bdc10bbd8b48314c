//! Why something was not done, as it is told to whoever asked: whose fault it is, one message and
//! what to do about it. Every error of the crates below becomes one of these here and nowhere else.

use std::fmt;

use cage::prepare::agents::NotAvailable;
use cage::prepare::project::ProjectError;
use cage::prepare::{Approvals, Definition, PrepareError, SelectionError};
use cage::resolve::{PathProblem, ResolveError, SurroundingsError};
use cage::state::StateError;
use cage::{EgressError, Kind, SpawnError};
use plan::render::for_shell;
use plan::{ByteString, HostPath};
use policy::CompileError;
use rustix::io::Errno;

use crate::hints::MORE_DESCRIPTORS;

pub use cage::with_causes;

/// Something that was not done.
#[derive(Debug)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: Kind,
    /// What went wrong, in one sentence or several lines.
    pub message: Message,
    /// What to do about it.
    pub help: Vec<String>,
}

/// The text of a failure.
#[derive(Debug)]
pub enum Message {
    /// A sentence.
    Sentence(String),
    /// Errors of a policy text, which are drawn.
    Policy(Box<policy::text::Diagnostics>),
}

impl Failure {
    /// A failure with one sentence.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: Message::Sentence(message.into()), help: Vec::new() }
    }

    /// The same with one more line of help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The failure as plain text, for a program.
    pub fn text(&self) -> String {
        self.message.to_string()
    }
}

impl Message {
    /// The errors of a policy text one by one, for a program that shows them in their places.
    pub fn diagnostics(&self) -> Option<&policy::text::Diagnostics> {
        match self {
            Self::Sentence(_) => None,
            Self::Policy(diagnostics) => Some(diagnostics),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sentence(text) => formatter.write_str(text),
            Self::Policy(diagnostics) => {
                formatter.write_str(&diagnostics.render(policy::text::Style::Plain))
            }
        }
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        unreadable_policy(&error)
    }
}

impl From<cage::prepare::project::PolicyFileError> for Failure {
    fn from(error: cage::prepare::project::PolicyFileError) -> Self {
        unreadable_policy(&error)
    }
}

/// A kernel that lacks a call is no fault of the policy: inside a cage, and on old kernels.
fn unreadable_policy(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let lacks_call = causes.any(|cause| cause.downcast_ref() == Some(&Errno::NOSYS));
    if lacks_call {
        Failure::new(Kind::CannotBuild, with_causes(error)).help(
            "if this is a cage already: there is none inside another; else \
                 `stockade doctor` tells what this kernel lacks",
        )
    } else {
        Failure::new(Kind::PolicyInvalid, with_causes(error))
    }
}

impl From<policy::text::Diagnostics> for Failure {
    fn from(diagnostics: policy::text::Diagnostics) -> Self {
        let message = Message::Policy(Box::new(diagnostics));
        Self { kind: Kind::PolicySyntax, message, help: Vec::new() }
    }
}

/// A shell stays in a directory that somebody removed and goes on showing its name.
impl From<SurroundingsError> for Failure {
    fn from(error: SurroundingsError) -> Self {
        match &error {
            SurroundingsError::WorkingDirectory(cause)
                if cause.kind() == std::io::ErrorKind::NotFound =>
            {
                Self::new(Kind::CannotBuild, "the working directory does not exist any more")
                    .help("go to one that does; if it was made again, `cd .` enters the new one")
            }
            _ => Self::new(Kind::CannotBuild, with_causes(&error)),
        }
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        let (kind, sentence) = (error.kind(), error.to_string());
        match error {
            SelectionError::Surroundings(error) => error.into(),
            SelectionError::Project(error) => error.into(),
            SelectionError::Configuration(error) => error.into(),
            SelectionError::Text(diagnostics) => (*diagnostics).into(),
            SelectionError::Trust(error) => error.into(),
            SelectionError::NotApproved { file, approvals, .. } => {
                not_approved(Self::new(kind, sentence), &file, approvals)
            }
            SelectionError::TooBroad(refusal) => Self::new(kind, sentence).help(refusal.hint()),
            SelectionError::Undefined { what, name, defined } => {
                undefined(Self::new(kind, sentence), what, &name, &defined)
            }
            SelectionError::DefinedTwice { .. } => {
                Self::new(kind, sentence).help("rename one of them")
            }
            SelectionError::Agent(NotAvailable::NotInstalled { install, .. }) => {
                Self::new(kind, sentence)
                    .help(format!("install it: `{install}`"))
                    .help("if it is installed elsewhere, put its directory on your `PATH`")
            }
            SelectionError::Agent(NotAvailable::NoPlace { .. }) => {
                Self::new(kind, sentence).help("set HOME")
            }
            SelectionError::ProfileCycle { .. } => Self::new(kind, sentence)
                .help("leave `from` out of one of them, or name a built-in profile there"),
            SelectionError::Capabilities(_) => Self::new(kind, sentence),
            SelectionError::PluginBeyondCeiling(_) => Self::new(kind, sentence)
                .help("raise `[ceiling]` in your own configuration to let plugins have it"),
            SelectionError::PluginWithoutCage => Self::new(kind, sentence),
            SelectionError::NeedsCage { .. } => {
                Self::new(kind, sentence).help("leave it out, or let the program have a cage")
            }
            SelectionError::TooManyPorts { .. } => Self::new(kind, sentence),
        }
    }
}

fn not_approved(failure: Failure, file: &HostPath, approvals: Approvals) -> Failure {
    let word = for_shell(&ByteString::from(file.as_bytes()));
    match approvals {
        Approvals::Possible => failure
            .help(format!("read the file, then approve this very text: `stockade allow {word}`"))
            .help("or raise `[ceiling]` in your own configuration"),
        Approvals::OnceWritten => failure
            .help(format!(
                "write the text to that file, read it there and approve it: `stockade allow {word}`"
            ))
            .help("or raise `[ceiling]` in your own configuration"),
        Approvals::NoPlace => failure.help("approvals need a home directory: set HOME"),
    }
}

fn undefined(failure: Failure, what: Definition, name: &str, defined: &[String]) -> Failure {
    let listed = || {
        let names: Vec<String> = defined.iter().map(|name| format!("`{name}`")).collect();
        format!("there are: {}; pass `--{what} NAME`", names.join(", "))
    };
    let meant = policy::text::words::meant(name, defined.iter().map(String::as_str));
    match (meant, defined) {
        (Some(meant), _) if what == Definition::Profile => {
            failure.help(format!("did you mean `--{what} {meant}`?")).help(listed())
        }
        (Some(meant), _) => failure.help(format!("did you mean `--{what} {meant}`?")),
        (None, []) => failure.help(format!("no policy file defines any {what}")),
        (None, _) => failure.help(listed()),
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let (kind, sentence) = (error.kind(), error.to_string());
        match error {
            PrepareError::Resolve(error) => error.into(),
            PrepareError::Compile(error) => Self::new(kind, with_causes(&error)),
            PrepareError::BeyondCeiling(_) => Self::new(kind, sentence).help(
                "name the real path in the policy, or raise `[ceiling]` in your own configuration",
            ),
            PrepareError::TokenGone(_) => Self::new(kind, sentence).help(
                "the program could put one of its own there: end the daemon and start it again, \
                 which makes a new one",
            ),
            PrepareError::LeadsOut { .. } => {
                Self::new(kind, sentence).help("give the real path, inside the tree")
            }
            PrepareError::ThroughLink { .. } => Self::new(kind, sentence).help(
                "name the real path in the manifest, or give it yourself, with `--ro` or `--rw`",
            ),
            PrepareError::LeadsTo { .. } => {
                Self::new(kind, sentence).help("name the real path, and grant it by name")
            }
            PrepareError::NoRandomBytes(_) | PrepareError::AgentSettings { .. } => {
                Self::new(kind, sentence)
            }
        }
    }
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        Self::new(Kind::PolicyInvalid, error.to_string())
            .help("your configuration has `proxy = \"environment\"` in `[network]`")
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        let failure = Self::new(error.kind(), with_causes(&error));
        if names_what_is_missing(&error) {
            failure.help(
                "a path must exist before it is granted: correct its spelling, or create it \
                 (`mkdir` for a directory, `touch` for a file)",
            )
        } else if matches!(error, ResolveError::Kernel { source: Errno::MFILE, .. }) {
            failure.help(MORE_DESCRIPTORS)
        } else {
            failure
        }
    }
}

fn names_what_is_missing(error: &ResolveError) -> bool {
    let ResolveError::Rules(problems) = error else { return false };
    problems.iter().any(|rule| matches!(rule.problem, PathProblem::Missing { .. }))
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Self {
        PrepareError::from(error).into()
    }
}

impl From<cage::prepare::trust::TrustError> for Failure {
    fn from(error: cage::prepare::trust::TrustError) -> Self {
        Self::new(Kind::NotApproved, with_causes(&error))
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let failure = Self::new(Kind::CannotBuild, with_causes(&error));
        match error {
            StateError::NoPlace => failure.help("set HOME or XDG_STATE_HOME"),
            StateError::Kernel { .. } | StateError::Untrustworthy { .. } => failure,
        }
    }
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        Self::new(error.kind(), with_causes(&error))
    }
}
