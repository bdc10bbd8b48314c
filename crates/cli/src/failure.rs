//! Why a command did not do what it was asked, as it is told to the caller: the exit code, one
//! message and what to do about it. Every error of the crates below becomes one of these here and
//! nowhere else.

use cage::SpawnError;
use cage::prepare::{Approvals, Definition, PrepareError, SelectionError, WayOutError};
use cage::project::ProjectError;
use cage::resolve::{PathProblem, ResolveError, SurroundingsError};
use plan::{ByteString, HostPath};
use policy::CompileError;

use crate::check::for_shell;
use crate::exit::Exit;
use crate::message::Messages;

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How this process ends.
    pub(crate) exit: Exit,
    /// What went wrong, in one sentence or several lines.
    pub(crate) message: Message,
    /// What to do about it.
    pub(crate) help: Vec<String>,
}

/// The text of a failure.
#[derive(Debug)]
pub(crate) enum Message {
    /// A sentence.
    Sentence(String),
    /// Errors of a policy text, which are drawn.
    Policy(Box<policy::text::Diagnostics>),
}

impl Failure {
    /// A failure with one sentence.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: Message::Sentence(message.into()), help: Vec::new() }
    }

    /// The same with one more line of help.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The failure as plain text, for a program.
    pub(crate) fn text(&self) -> String {
        match &self.message {
            Message::Sentence(text) => text.clone(),
            Message::Policy(diagnostics) => diagnostics.render(policy::text::Style::Plain),
        }
    }

    /// The failure for a program that reads the answer of a command.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        serde_json::json!({
            "exit_code": self.exit.number(),
            "error": { "code": self.exit.code(), "message": self.text(), "help": self.help },
        })
    }

    /// Tells a person.
    pub(crate) fn tell(&self, messages: Messages) {
        match &self.message {
            Message::Sentence(text) => messages.error(text),
            Message::Policy(diagnostics) => {
                messages.drawn(&diagnostics.render(messages.style()));
                messages.error("the policy cannot be used");
            }
        }
        for help in &self.help {
            messages.help(help);
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut text = error.to_string();
    for cause in causes {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    text
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        unreadable_policy(&error)
    }
}

impl From<cage::project::PolicyFileError> for Failure {
    fn from(error: cage::project::PolicyFileError) -> Self {
        unreadable_policy(&error)
    }
}

/// A kernel that lacks a call is no fault of the policy: inside a cage, and on old kernels.
fn unreadable_policy(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let lacks_call = causes.any(|cause| cause.downcast_ref() == Some(&rustix::io::Errno::NOSYS));
    if lacks_call {
        Failure::new(Exit::CannotBuild, with_causes(error))
            .help("`stockade doctor` tells what this kernel lacks")
    } else {
        Failure::new(Exit::BadPolicy, with_causes(error))
    }
}

impl From<policy::text::Diagnostics> for Failure {
    fn from(diagnostics: policy::text::Diagnostics) -> Self {
        let message = Message::Policy(Box::new(diagnostics));
        Self { exit: Exit::BadPolicy, message, help: Vec::new() }
    }
}

/// A shell stays in a directory that somebody removed and goes on showing its name.
impl From<SurroundingsError> for Failure {
    fn from(error: SurroundingsError) -> Self {
        match &error {
            SurroundingsError::WorkingDirectory(cause)
                if cause.kind() == std::io::ErrorKind::NotFound =>
            {
                Self::new(Exit::CannotBuild, "the working directory does not exist any more")
                    .help("go to one that does; if it was made again, `cd .` enters the new one")
            }
            _ => Self::new(Exit::CannotBuild, with_causes(&error)),
        }
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        let sentence = error.to_string();
        match error {
            SelectionError::Surroundings(error) => error.into(),
            SelectionError::Project(error) => error.into(),
            SelectionError::Configuration(error) => error.into(),
            SelectionError::Text(diagnostics) => (*diagnostics).into(),
            SelectionError::Trust(error) => error.into(),
            SelectionError::NotApproved { file, approvals, .. } => {
                not_approved(Self::new(Exit::Refused, sentence), &file, approvals)
            }
            SelectionError::TooBroad(refusal) => {
                Self::new(Exit::Refused, sentence).help(refusal.hint())
            }
            SelectionError::Undefined { what, name, defined } => {
                undefined(Self::new(Exit::BadPolicy, sentence), what, &name, &defined)
            }
            SelectionError::DefinedTwice { .. } => {
                Self::new(Exit::BadPolicy, sentence).help("rename one of them")
            }
            SelectionError::TooManyPorts { .. } => Self::new(Exit::Usage, sentence),
        }
    }
}

fn not_approved(failure: Failure, file: &HostPath, approvals: Approvals) -> Failure {
    let word = for_shell(&ByteString::from(file.as_bytes().to_vec()));
    match approvals {
        Approvals::Possible => failure
            .help(format!("read the file, then approve this very text: `stockade allow {word}`"))
            .help("or raise `[ceiling]` in your own configuration"),
        Approvals::NoPlace => failure.help("approvals need a home directory: set HOME"),
    }
}

fn undefined(failure: Failure, what: Definition, name: &str, defined: &[String]) -> Failure {
    let meant = policy::text::words::meant(name, defined.iter().map(String::as_str));
    match (meant, defined) {
        (Some(meant), _) => failure.help(format!("did you mean `--{what} {meant}`?")),
        (None, []) => failure.help(format!("no policy file defines any {what}")),
        (None, names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            failure.help(format!("there are: {}; pass `--{what} NAME`", names.join(", ")))
        }
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let sentence = error.to_string();
        match error {
            PrepareError::Resolve(error) => error.into(),
            PrepareError::Compile(error) => error.into(),
            PrepareError::BeyondCeiling(_) => Self::new(Exit::Refused, sentence).help(
                "name the real path in the policy, or raise `[ceiling]` in your own configuration",
            ),
            PrepareError::NoRandomBytes(_) => Self::new(Exit::CannotBuild, sentence),
        }
    }
}

impl From<WayOutError> for Failure {
    fn from(error: WayOutError) -> Self {
        Self::new(Exit::BadPolicy, error.to_string())
            .help("your configuration has `proxy = \"environment\"` in `[network]`")
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        let exit = if error.is_policy_fault() { Exit::BadPolicy } else { Exit::CannotBuild };
        let failure = Self::new(exit, with_causes(&error));
        if names_what_is_missing(&error) {
            failure.help(
                "a path must exist before it is granted: correct its spelling, or create it \
                 (`mkdir` for a directory, `touch` for a file)",
            )
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
        let exit = match &error {
            CompileError::Rules(_) => Exit::BadPolicy,
            CompileError::NoProgram | CompileError::NulInArgument => Exit::Usage,
            CompileError::RootWithoutPrivilege { .. }
            | CompileError::NoScratchDirectory
            | CompileError::Bug(_) => Exit::CannotBuild,
        };
        Self::new(exit, with_causes(&error))
    }
}

impl From<cage::trust::TrustError> for Failure {
    fn from(error: cage::trust::TrustError) -> Self {
        Self::new(Exit::Refused, with_causes(&error))
    }
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        let exit = match &error {
            SpawnError::NotFound { .. } => Exit::NotFound,
            SpawnError::NotExecutable { .. } => Exit::NotExecutable,
            SpawnError::Stream { .. } => Exit::Usage,
            SpawnError::Start(_)
            | SpawnError::Supervise(_)
            | SpawnError::Gatekeeper { .. }
            | SpawnError::Published { .. }
            | SpawnError::Helper { .. } => Exit::CannotBuild,
        };
        Self::new(exit, with_causes(&error))
    }
}
