//! What can go wrong while a cage is built, as data: the step, its subject and the kernel's answer.
//! Never carries anything that the caged program said.

use std::fmt;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Why a cage did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The Plan asks for something that this enforcer does not hold.
    #[error("{0}")]
    Unsupported(String),
    /// A step on the outside of the cage failed.
    #[error(transparent)]
    Setup(#[from] SetupFailure),
    /// The control channel to the cage broke.
    #[error("the cage's first process ended without saying why")]
    Vanished,
    /// The launcher ended, and every cage that it started with it.
    #[error("the launcher process is gone")]
    LauncherGone,
}

/// One step that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct SetupFailure {
    /// Which step.
    pub step: Step,
    /// What it worked on: a path, a name, a setting.
    pub subject: String,
    /// The kernel's answer, where it was the kernel that refused.
    pub errno: Option<i32>,
    /// What was wrong, where it was not the kernel that refused.
    pub detail: Option<String>,
}

impl SetupFailure {
    /// A step that the kernel refused.
    pub fn kernel(step: Step, subject: impl Into<String>, errno: Errno) -> Self {
        let (subject, errno) = (bounded(subject.into()), Some(errno.raw_os_error()));
        Self { step, subject, errno, detail: None }
    }

    /// A step that found something wrong.
    pub fn found(step: Step, subject: impl Into<String>, detail: impl Into<String>) -> Self {
        let (subject, detail) = (bounded(subject.into()), Some(bounded(detail.into())));
        Self { step, subject, errno: None, detail }
    }

    /// The kernel's answer as a type.
    pub fn errno(&self) -> Option<Errno> {
        self.errno.map(Errno::from_raw_os_error)
    }

    /// Whether a host path, which is the subject, was not any more what it had been a moment before.
    pub fn is_of_changed_path(&self) -> bool {
        let is_gone = |errno: Errno| {
            matches!(
                errno,
                Errno::NOENT
                    | Errno::NOTDIR
                    | Errno::LOOP
                    | Errno::XDEV
                    | Errno::STALE
                    | Errno::INVAL
            )
        };
        match self.step {
            Step::Mount | Step::Idmap => {
                self.detail.as_deref() == Some(REPLACED) || self.errno().is_some_and(is_gone)
            }
            Step::Verify => self.detail.as_deref() == Some(NOT_MOUNTED),
            _ => false,
        }
    }
}

/// A failure has to fit into one packet, and a program's name can be as long as its caller likes.
fn bounded(mut text: String) -> String {
    if text.len() > MOST_TEXT {
        text.truncate(text.floor_char_boundary(MOST_TEXT));
        text.push('…');
    }
    text
}

const MOST_TEXT: usize = 1024;

/// What is wrong with a source that leads to another object than was resolved.
pub(crate) const REPLACED: &str =
    "it was replaced by another file while the cage was being built; try again";

/// What is wrong with a mount that was made and is gone: who removes what it lies on removes it too.
pub(crate) const NOT_MOUNTED: &str = "it is not in the mount table";

impl fmt::Display for SetupFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot {} `{}`", self.step, self.subject)?;
        if let Some(detail) = &self.detail {
            write!(formatter, ": {detail}")?;
        }
        if let Some(errno) = self.errno() {
            write!(formatter, ": {}", std::io::Error::from(errno))?;
        }
        Ok(())
    }
}

/// The steps of building a cage, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Forking into new namespaces.
    Namespaces,
    /// Mapping user and group ids.
    Identity,
    /// Making an idmapped mount.
    Idmap,
    /// Making a directory, file or link in a memory file system.
    Name,
    /// Mounting.
    Mount,
    /// Making a view of a directory with a layer above it.
    Overlay,
    /// Mounting what a process outside serves.
    Serve,
    /// Changing the root.
    Pivot,
    /// Closing the network and making the sockets that lead to the gatekeeper.
    Network,
    /// Turning nested user namespaces off, setting the host name, limits of the process.
    Settings,
    /// Making a terminal.
    Terminal,
    /// Comparing the finished view with the Plan.
    Verify,
    /// Dropping capabilities.
    Privileges,
    /// Entering the landlock domain.
    Landlock,
    /// Installing the system call filter.
    Seccomp,
    /// Entering the working directory.
    WorkingDirectory,
    /// Starting the program.
    Execute,
    /// Talking to the supervisor.
    Control,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Namespaces => "make namespaces for",
            Self::Identity => "map ids for",
            Self::Idmap => "map the owner of",
            Self::Name => "make",
            Self::Mount => "mount",
            Self::Overlay => "lay a layer over",
            Self::Serve => "mount through FUSE",
            Self::Pivot => "change the root to",
            Self::Network => "seal the network with",
            Self::Settings => "set",
            Self::Terminal => "make a terminal for",
            Self::Verify => "verify",
            Self::Privileges => "drop",
            Self::Landlock => "restrict with landlock",
            Self::Seccomp => "install the filter for",
            Self::WorkingDirectory => "enter",
            Self::Execute => "start",
            Self::Control => "talk to",
        })
    }
}
