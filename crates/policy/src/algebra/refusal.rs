//! What was asked for and is not held: one value for each part, with both places where it was
//! written. Only data and its wording; never decides.

use std::fmt;

use plan::network::MODEL_PORT;

use crate::RuleOrigin;
use crate::shown::Shown;

/// One thing that was asked for and is not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which part of a policy it belongs to.
    pub kind: RefusalKind,
    /// The path, name, destination or word.
    pub subject: String,
    /// What was asked for, in the words of the policy language.
    pub asked: String,
    /// What is held instead, in the same words; `nothing` where nothing is.
    pub held: String,
    /// Where it was asked for, if it is known that closely.
    pub asked_at: Option<RuleOrigin>,
    /// The rule that holds less, if there is one.
    pub held_at: Option<RuleOrigin>,
}

/// The parts of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// Access to a path.
    Files,
    /// A path that may lead anywhere, where the holder's stays beneath the project.
    Reach,
    /// A mount.
    Mounts,
    /// A program, or all of them.
    Commands,
    /// A variable.
    Environment,
    /// A destination.
    Network,
    /// A destination that the holder denies and the child does not.
    NetworkDeny,
    /// A port of the host's loopback.
    HostPorts,
    /// A port that is offered on the host's loopback.
    Publish,
    /// The life of `/scratch`.
    State,
    /// The life of the home.
    Home,
    /// The system call profile.
    Seccomp,
    /// A bound.
    Limits,
}

impl RefusalKind {
    /// The word of the policy language that the part is written with.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files | Self::Reach => "fs",
            Self::Mounts => "mounts",
            Self::Commands => "commands",
            Self::Environment => "env",
            Self::Network => "net.allow",
            Self::NetworkDeny => "net.deny",
            Self::HostPorts => "net.host_ports",
            Self::Publish => "net.publish",
            Self::State => "state",
            Self::Home => "home",
            Self::Seccomp => "seccomp",
            Self::Limits => "limits",
        }
    }
}

impl Refusal {
    /// What was asked for, as one line without its reason.
    pub fn request(&self) -> String {
        let (subject, asked) = (Shown(&self.subject), Shown(&self.asked));
        match self.kind {
            RefusalKind::Files => format!("`{asked}` on `{subject}`"),
            RefusalKind::Reach => format!("`{subject}`, followed wherever it leads"),
            RefusalKind::Mounts => format!("`{subject}` mounted {asked}"),
            RefusalKind::Commands => format!("the command `{subject}`"),
            RefusalKind::Environment => format!("the variable `{subject}` ({asked})"),
            RefusalKind::Network => format!("the destination `{subject}`"),
            RefusalKind::NetworkDeny => format!("no `net.deny` entry for `{subject}`"),
            RefusalKind::HostPorts if self.subject == MODEL_PORT.to_string() => {
                "the model service (`model`)".to_owned()
            }
            RefusalKind::HostPorts => format!("port `{subject}` of the host's loopback"),
            RefusalKind::Publish => format!("port `{subject}` offered on the host's loopback"),
            RefusalKind::State | RefusalKind::Home | RefusalKind::Seccomp | RefusalKind::Limits => {
                format!("`{subject} = {asked}`")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.request())?;
        if let Some(origin) = &self.asked_at {
            write!(formatter, " ({origin})")?;
        }
        write!(formatter, ", where {} is held", Shown(&self.held))?;
        if let Some(origin) = &self.held_at {
            write!(formatter, " ({origin})")?;
        }
        Ok(())
    }
}

/// Everything that was asked for and is not held; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// Success if the list is empty.
    pub(super) fn none_of(mut refusals: Vec<Refusal>) -> Result<(), Self> {
        if refusals.is_empty() {
            return Ok(());
        }
        refusals.sort_by(|one, other| (one.kind, &one.subject).cmp(&(other.kind, &other.subject)));
        refusals.dedup();
        Err(Self(refusals))
    }

    /// Each of them, by part and subject.
    pub fn iter(&self) -> std::slice::Iter<'_, Refusal> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Refusals {
    type Item = &'a Refusal;
    type IntoIter = std::slice::Iter<'a, Refusal>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("asks for more than is held: ")?;
        for (position, refusal) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(formatter, "{separator}{refusal}")?;
        }
        Ok(())
    }
}
