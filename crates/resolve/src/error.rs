//! Why a policy cannot be resolved on this host: every problem that was found, each with the rule
//! that asked for it. Says whose fault it is; never suggests to weaken a cage.

use std::fmt;

use plan::{ByteString, HostPath, NotByKernel};
use policy::shown::shown;
use policy::{FsAccess, Kind, RuleOrigin};
use rustix::io::Errno;

use super::open::OpenFailure;

/// Why a policy cannot be resolved on this host.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The project's root cannot be opened as a directory.
    #[error("the project `{}` cannot be used: {problem}", shown(.path))]
    Project {
        /// The root.
        path: HostPath,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// Rules name paths that cannot be granted or hidden; all of them.
    #[error("{}", Lines(.0))]
    Rules(Vec<RuleProblem>),
    /// Listed commands cannot be provided; all of them.
    #[error("{}", Lines(.0))]
    Commands(Vec<CommandProblem>),
    /// A secret or protected file could be reached past its cover.
    #[error("{}", Lines(.0))]
    Uncoverable(Vec<Uncoverable>),
    /// Directories of our own that do not exist, in the cage's reach: what it made there would decide
    /// about later cages.
    #[error("{}", Lines(.0))]
    OwnMissing(Vec<OwnMissing>),
    /// A directory of the user's own that outlives the run cannot be used.
    #[error("the directory `{}`, which is kept, cannot be used: {problem}", shown(.path))]
    Kept {
        /// Which one.
        path: HostPath,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// A device node of the base layer is not what it must be.
    #[error("the device `{path}` cannot be used: {why}")]
    Device {
        /// Which node.
        path: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Root without the powers that keep a cage from acting as root.
    #[error("this process is root but {why}; start it as an ordinary user")]
    RootWithoutPower {
        /// What it lacks.
        why: &'static str,
    },
    /// More objects than a Plan can number.
    #[error("the policy names more objects than a cage can hold")]
    TooManyObjects,
    /// The kernel refused a step that has nothing to do with the policy.
    #[error("{call} `{subject}`")]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// On what.
        subject: String,
        /// The kernel's answer.
        source: Errno,
    },
}

impl ResolveError {
    pub(super) fn kernel(call: &'static str, subject: &str, source: Errno) -> Self {
        Self::Kernel { call, subject: subject.to_owned(), source }
    }

    /// Whether somebody moved something away while it was looked at.
    pub fn is_of_moved_path(&self) -> bool {
        match self {
            Self::Project { problem, .. } => *problem == PathProblem::Moved,
            Self::Rules(problems) => problems.iter().any(|one| one.problem == PathProblem::Moved),
            Self::Uncoverable(problems) => {
                problems.iter().any(|one| one.problem == PathProblem::Moved)
            }
            _ => false,
        }
    }

    /// Whether the policy is at fault, and not the machine.
    pub fn is_policy_fault(&self) -> bool {
        match self {
            Self::Project { .. } | Self::Rules(_) | Self::Commands(_) | Self::Uncoverable(_) => {
                !self.is_of_moved_path()
            }
            Self::OwnMissing(_)
            | Self::Kept { .. }
            | Self::Device { .. }
            | Self::RootWithoutPower { .. }
            | Self::TooManyObjects
            | Self::Kernel { .. } => false,
        }
    }
}

/// One rule that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    /// The rule's path as it was written, made absolute.
    pub path: HostPath,
    /// What the rule says about it.
    pub access: FsAccess,
    /// Where the rule was written.
    pub origin: RuleOrigin,
    /// What is wrong.
    pub problem: PathProblem,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, access, origin, problem } = self;
        write!(formatter, "{origin}: {} `{}`: {problem}", access.word(), shown(path))
    }
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathProblem {
    /// It does not exist. K184
    Missing {
        /// A name beside it that looks alike.
        similar: Option<ByteString>,
    },
    /// It leads out of the project, by a symlink or by `..`. K32
    LeavesProject,
    /// It leads through a link of `/proc`.
    MagicLink,
    /// A step on the way, or a path that must be one, is not a directory.
    NotADirectory,
    /// The caller may not reach it.
    PermissionDenied,
    /// Its symlinks lead in a circle.
    SymlinkLoop,
    /// It is longer than the kernel takes.
    TooLong,
    /// It was renamed or removed while it was looked at.
    Moved,
    /// It leads to a path that no cage may be given.
    Ungrantable {
        /// Where it really leads.
        real: HostPath,
        /// Why that is not granted.
        reason: String,
    },
    /// It is a socket, a device or a FIFO.
    WrongKind {
        /// Which of them.
        kind: &'static str,
    },
    /// It is a file, and only a directory can have a layer above it.
    FileWithLayer,
    /// For root, it lies neither in the project nor in the home, where alone files are the cage's own.
    LayerOutside,
    /// The kernel cannot lay a layer over it, and there is no device by which a process of ours could show one.
    OnlyServed {
        /// Why the kernel cannot.
        why: NotByKernel,
        /// What is wrong with the device.
        device: &'static str,
    },
    /// Something is mounted below it, which a view with a layer would not show.
    MountedBelow {
        /// Where.
        place: HostPath,
    },
    /// A project's file asks to write what runs code on the host. K227
    Protected {
        /// What runs it.
        runs_by: &'static str,
    },
    /// A link on its way lies where the cage may write, which could lead it elsewhere.
    LooseLink {
        /// Where the link lies.
        link: HostPath,
        /// Where the path leads now.
        leads_to: HostPath,
    },
    /// It is a hidden file that has other names.
    HardLinks {
        /// How many names it has.
        links: u64,
    },
    /// It lies in a covered directory and has another name that the cover does not reach.
    SecondName {
        /// That name.
        other: HostPath,
    },
    /// It lies in a covered directory and has other names, and there is too much to look for them in.
    NamesNotFound {
        /// How many names it has.
        links: u64,
    },
    /// It is a covered directory with too many files to look for other names of.
    TooManyFiles,
    /// The kernel refused for another reason.
    Kernel {
        /// What was tried.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
}

impl fmt::Display for PathProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { similar: None } => formatter.write_str("it does not exist"),
            Self::Missing { similar: Some(similar) } => {
                write!(formatter, "it does not exist; did you mean `{}`?", shown(similar))
            }
            Self::LeavesProject => formatter.write_str(
                "it leads out of the project; name the real path in your own configuration or by \
                 a flag",
            ),
            Self::MagicLink => formatter.write_str(
                "it leads through a link of `/proc`, which stands for an object and not for a path",
            ),
            Self::NotADirectory => formatter.write_str("a part of the path is not a directory"),
            Self::PermissionDenied => formatter.write_str("you may not reach it"),
            Self::SymlinkLoop => formatter.write_str("its symlinks lead in a circle"),
            Self::TooLong => formatter.write_str("the path is too long"),
            Self::Moved => formatter.write_str(
                "it was renamed or removed while it was looked at; another program, perhaps in a cage, \
                 changes all the time what lies there: end that, or try again",
            ),
            Self::Ungrantable { real, reason } => {
                let real = shown(real);
                write!(formatter, "it leads to `{real}`, which cannot be granted: {reason}")
            }
            Self::WrongKind { kind } => {
                write!(formatter, "it is {kind}; only files and directories are granted")
            }
            Self::FileWithLayer => formatter.write_str(
                "it is a file, and only a directory can be copied on write; name the directory that it \
                 lies in",
            ),
            Self::LayerOutside => formatter.write_str(
                "for root only the project and what lies in the home can have a layer; grant it `ro`, or \
                 start the cage as the user whom it belongs to",
            ),
            Self::OnlyServed { why, device } => write!(
                formatter,
                "{}, and a process of ours needs `/dev/fuse` to show the changes: {device}; or grant it `ro`",
                why.reason()
            ),
            Self::MountedBelow { place } => write!(
                formatter,
                "a file system is mounted on `{}`, which a view that is copied on write would not show; \
                 name the directories beside it, or grant it `ro` or `rw`",
                shown(place)
            ),
            Self::Protected { runs_by } => write!(
                formatter,
                "a project's file cannot make it writable, because it is run by {runs_by}; name it \
                 in your own configuration or by a flag"
            ),
            Self::LooseLink { link, leads_to } => write!(
                formatter,
                "the link `{}` is on its way and lies where the program may write, which could lead \
                 it elsewhere for the next run; use `{}` itself, or do not grant the link's \
                 directory read-write",
                shown(link),
                shown(leads_to)
            ),
            Self::HardLinks { links } => write!(
                formatter,
                "it has {links} names (hard links), and covering one would leave the others; give \
                 it a copy of its own: `cp -p FILE FILE.new && mv FILE.new FILE`"
            ),
            Self::SecondName { other } => write!(
                formatter,
                "it has another name (hard link), `{}`, by which the program could reach it; remove that, or \
                 give the file a copy of its own: `cp -p FILE FILE.new && mv FILE.new FILE`",
                shown(other)
            ),
            Self::NamesNotFound { links } => write!(
                formatter,
                "it has {links} names (hard links), and the grants hold too many files to look for the \
                 others; give it a copy of its own: `cp -p FILE FILE.new && mv FILE.new FILE`, or grant less"
            ),
            Self::TooManyFiles => formatter.write_str(
                "it holds too many files to look for other names (hard links) of, by which the program could \
                 reach them; grant what lies beside it, and not the directory above it",
            ),
            Self::Kernel { call, errno } => write!(formatter, "{call} failed: {errno}"),
        }
    }
}

impl From<OpenFailure> for PathProblem {
    fn from(failure: OpenFailure) -> Self {
        match failure {
            OpenFailure::Missing => Self::Missing { similar: None },
            OpenFailure::Leaves => Self::LeavesProject,
            OpenFailure::MagicLink => Self::MagicLink,
            OpenFailure::NotADirectory => Self::NotADirectory,
            OpenFailure::Denied => Self::PermissionDenied,
            OpenFailure::Loop => Self::SymlinkLoop,
            OpenFailure::TooLong => Self::TooLong,
            OpenFailure::Moved => Self::Moved,
            OpenFailure::Kernel { call, errno } => Self::Kernel { call, errno },
        }
    }
}

/// A listed command that cannot be provided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandProblem {
    /// Its name.
    pub command: String,
    /// What is wrong.
    pub reason: CommandReason,
}

impl fmt::Display for CommandProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "command `{}`: {}", shown(&self.command), self.reason)
    }
}

/// Why a listed command cannot be provided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandReason {
    /// No standard directory has it.
    NotFound {
        /// A command that looks alike.
        similar: Option<String>,
    },
    /// A file that it needs cannot be used.
    Unusable {
        /// Which one.
        path: HostPath,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// A file that it needs is neither a script nor a program of this machine.
    NotAProgram {
        /// Which one.
        path: HostPath,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A library that it needs is not where the loader looks.
    LibraryMissing {
        /// What needs it.
        needed_by: HostPath,
        /// Its name.
        library: ByteString,
    },
    /// It needs more files than any program does.
    TooManyFiles,
}

impl fmt::Display for CommandReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { similar } => {
                formatter.write_str("no directory for programs has it")?;
                match similar {
                    Some(similar) => write!(formatter, "; did you mean `{}`?", shown(similar)),
                    None => Ok(()),
                }
            }
            Self::Unusable { path, problem } => write!(formatter, "`{}`: {problem}", shown(path)),
            Self::NotAProgram { path, why } => write!(formatter, "`{}`: {why}", shown(path)),
            Self::LibraryMissing { needed_by, library } => {
                let (needed_by, library) = (shown(needed_by), shown(library));
                write!(formatter, "`{needed_by}` needs the library `{library}`, which is not found")
            }
            Self::TooManyFiles => formatter.write_str("it needs too many files"),
        }
    }
}

/// A secret or protected file that has names which a cover would not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncoverable {
    /// The file.
    pub path: HostPath,
    /// What it is known as.
    pub known_as: &'static str,
    /// What is wrong with it.
    pub problem: PathProblem,
}

impl fmt::Display for Uncoverable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, known_as, problem } = self;
        let path = shown(path);
        write!(formatter, "`{path}` ({known_as}) cannot be kept from the cage: {problem}")
    }
}

/// A directory of our own that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnMissing {
    /// Where it should be.
    pub path: HostPath,
}

impl fmt::Display for OwnMissing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        write!(
            formatter,
            "`{path}` does not exist, and the program could make it; make it yourself"
        )
    }
}

/// One problem a line.
struct Lines<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, line) in self.0.iter().enumerate() {
            if position > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{line}")?;
        }
        Ok(())
    }
}

impl ResolveError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        let is_missing = |rule: &RuleProblem| matches!(rule.problem, PathProblem::Missing { .. });
        match self {
            // A kernel that lacks a call, as inside a cage, is no fault of the policy.
            Self::Project { problem: PathProblem::Kernel { errno: Errno::NOSYS, .. }, .. } => {
                Kind::CannotBuild
            }
            Self::Rules(problems) if problems.iter().any(is_missing) => Kind::PathMissing,
            error if error.is_policy_fault() => Kind::PolicyInvalid,
            _ => Kind::CannotBuild,
        }
    }
}
