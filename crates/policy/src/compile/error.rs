//! Why a policy does not become a Plan. Problems that lie in the rules are collected and told
//! together; what should be impossible says that it is our mistake.

use std::fmt;

use plan::{GuestPath, HostPath, PlanDefect};

use crate::shown::shown;
use crate::{FsAccess, RuleOrigin};

/// Why a policy does not become a Plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Rules that turned out to contradict each other, or the base layer, once links were resolved.
    #[error("{}", Lines(.0))]
    Rules(Vec<RuleConflict>),
    /// There is no program to start.
    #[error("there is no program to start")]
    NoProgram,
    /// An argument with a NUL byte, where the kernel would end it.
    #[error("an argument has a NUL byte")]
    NulInArgument,
    /// The cage would act as root on the host.
    #[error(
        "a cage never acts as root, but it would have the caller's user id {uid} and group id {gid}"
    )]
    RootWithoutPrivilege {
        /// The caller's user id.
        uid: u32,
        /// The caller's group id.
        gid: u32,
    },
    /// A policy that keeps something where nobody has made a directory for it.
    #[error("the policy keeps {0}, but there is no directory to keep it in")]
    NotKept(&'static str),
    /// Our mistake.
    #[error(
        "a policy that was accepted cannot be compiled; this is a bug in stockade, please report it"
    )]
    Bug(#[source] CompileBug),
}

/// Which of our assumptions does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileBug {
    /// The facts do not fit the policy or each other.
    #[error("{0}")]
    Facts(&'static str),
    /// The result is not a Plan.
    #[error(transparent)]
    Plan(PlanDefect),
}

/// Rules that cannot all hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleConflict {
    /// Two rules lead to the same place and say different things.
    #[error(
        "`{}` is `{}` by {first_origin} and `{}` by {second_origin}, which lead to the same place",
        shown(path), first.word(), second.word()
    )]
    SamePlace {
        /// Where both lead.
        path: HostPath,
        /// What one says.
        first: FsAccess,
        /// Where it was written.
        first_origin: RuleOrigin,
        /// What the other says.
        second: FsAccess,
        /// Where it was written.
        second_origin: RuleOrigin,
    },
    /// A read-write grant of what every cage shows read-only.
    #[error("`{}` is part of the system and cannot be granted read-write ({origin})", shown(path))]
    WritableSystem {
        /// What was asked for.
        path: HostPath,
        /// Where.
        origin: RuleOrigin,
    },
    /// A mount at a place that is not free in the cage's own memory.
    #[error(
        "nothing can be mounted on `{}`: something of the host, of the system or of another mount is there ({origin})",
        shown(at)
    )]
    MountPlace {
        /// Where.
        at: GuestPath,
        /// Which mount.
        origin: RuleOrigin,
    },
    /// A grant inside a view that a process of ours has to show.
    #[error(
        "`{}` cannot be `{}` inside a directory that is copied on write without the kernel's help; grant that directory \
         `ro`, or name only what is beside this ({origin})",
        shown(path), access.word()
    )]
    InsideServed {
        /// What was asked for.
        path: HostPath,
        /// As what.
        access: FsAccess,
        /// Where.
        origin: RuleOrigin,
    },
    /// A grant at a place that every cage has for itself.
    #[error(
        "`{}` is where a cage has its own files, so the host's cannot be shown there ({origin})",
        shown(path)
    )]
    OwnPlace {
        /// What was asked for.
        path: HostPath,
        /// Where.
        origin: RuleOrigin,
    },
}

impl CompileError {
    pub(super) fn bug(what: &'static str) -> Self {
        Self::Bug(CompileBug::Facts(what))
    }
}

impl From<PlanDefect> for CompileError {
    fn from(defect: PlanDefect) -> Self {
        Self::Bug(CompileBug::Plan(defect))
    }
}

struct Lines<'a>(&'a [RuleConflict]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, conflict) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(formatter)?;
            }
            conflict.fmt(formatter)?;
        }
        Ok(())
    }
}
