//! Files that a process inside of the cage serves: calls of tools, and of services of the host that the cage reaches
//! anyway. That process is our own program, which the cage shows, and has what the cage has.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::MountedFromError;

/// A tree of calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// Of what.
    pub calls: Calls,
    /// Which of them, ascending and each once; empty for all.
    pub names: Vec<String>,
}

/// What files call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// `tools:NAME,NAME`: what agents have.
    Tools,
    /// `services:NAME,NAME`: what the operator has configured outside.
    Services,
}

/// Where the cage shows the program that serves them.
pub const INSIDE_PROGRAM: &str = "/run/stockade/stockade";

impl Calls {
    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Services => "services",
        }
    }
}

impl Inside {
    /// Reads names with commas between them.
    pub(super) fn parse(calls: Calls, text: &str) -> Result<Self, MountedFromError> {
        let mut names: Vec<String> =
            text.split(',').filter(|_| !text.is_empty()).map(str::to_owned).collect();
        let plain = |name: &String| {
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"-_".contains(&byte);
            (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(is_plain)
        };
        if names.len() > MOST_NAMES || !names.iter().all(plain) {
            return Err(MountedFromError::Calls);
        }
        names.sort();
        names.dedup();
        Ok(Self { calls, names })
    }

    /// Whether its names are as [`Self::parse`] gives them.
    pub(crate) fn is_plain(&self) -> bool {
        Self::parse(self.calls, &self.names.join(",")).as_ref() == Ok(self)
    }

    /// Whether it has all that another one has.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let has_all = || other.names.iter().all(|name| self.names.contains(name));
        let is_some = !other.names.is_empty();
        self.calls == other.calls && (self.names.is_empty() || is_some && has_all())
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.calls.word(), self.names.join(","))
    }
}

const MOST_NAME: usize = 32;
const MOST_NAMES: usize = 32;
