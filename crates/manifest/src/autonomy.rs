//! What executors may declare, and what each level of autonomy makes of it: one table, closed. Only
//! narrows: no level gives what a manifest did not declare. Decides nothing about paths and hosts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much a caller leaves to its executors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub enum Autonomy {
    /// Looks at things and changes none.
    ReadOnly,
    /// Does ordinary things, and asks before others.
    #[default]
    Supervised,
    /// Asks only before what cannot be taken back.
    Full,
}

/// What a level says about a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is given.
    Allowed,
    /// It is given if somebody agrees.
    ApprovalRequired(Ask),
    /// It is taken away, or the call is refused where nothing in the cage could take it away.
    Denied,
}

/// How often somebody has to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// An answer may be stored and used again.
    Storable,
    /// Every time anew.
    Always,
}

/// What a capability means for the cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Its roots can be read.
    Read,
    /// Its roots can be written to.
    Write,
    /// Hosts can be reached.
    Network,
    /// Nothing: the program's own service holds it, so the cage cannot take it away.
    Nothing,
}

/// One capability that exists.
#[derive(Debug, PartialEq, Eq)]
pub struct Registered {
    /// What it is about, such as `fs`.
    pub family: &'static str,
    /// What is done to it, such as `read`.
    pub mode: &'static str,
    /// What it means for the cage.
    pub effect: Effect,
    /// By level, in their order.
    verdicts: [Verdict; 3],
}

impl Registered {
    /// What a level says about it.
    pub fn verdict(&self, autonomy: Autonomy) -> Verdict {
        let [read_only, supervised, full] = self.verdicts;
        match autonomy {
            Autonomy::ReadOnly => read_only,
            Autonomy::Supervised => supervised,
            Autonomy::Full => full,
        }
    }
}

impl fmt::Display for Registered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.family, self.mode)
    }
}

/// The capability of this name, such as `fs:read`.
pub fn registered(name: &str) -> Option<&'static Registered> {
    let (family, mode) = name.split_once(':')?;
    TABLE.iter().find(|entry| entry.family == family && entry.mode == mode)
}

/// Every capability that exists.
pub fn table() -> &'static [Registered] {
    TABLE
}

impl Autonomy {
    /// Every level, the least first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Supervised, Self::Full];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Supervised => "supervised",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Autonomy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// A word that is no level of autonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the levels of autonomy are `read_only`, `supervised` and `full`")]
pub struct UnknownAutonomy;

impl FromStr for Autonomy {
    type Err = UnknownAutonomy;

    fn from_str(word: &str) -> Result<Self, UnknownAutonomy> {
        match word {
            "read_only" | "readonly" | "ReadOnly" => Ok(Self::ReadOnly),
            "supervised" | "Supervised" => Ok(Self::Supervised),
            "full" | "Full" => Ok(Self::Full),
            _ => Err(UnknownAutonomy),
        }
    }
}

impl TryFrom<String> for Autonomy {
    type Error = UnknownAutonomy;

    fn try_from(word: String) -> Result<Self, UnknownAutonomy> {
        word.parse()
    }
}

impl From<Autonomy> for String {
    fn from(autonomy: Autonomy) -> Self {
        autonomy.word().to_owned()
    }
}

const fn entry(
    family: &'static str,
    mode: &'static str,
    effect: Effect,
    verdicts: [Verdict; 3],
) -> Registered {
    Registered { family, mode, effect, verdicts }
}

const ALLOWED: Verdict = Verdict::Allowed;
const DENIED: Verdict = Verdict::Denied;
const ONCE: Verdict = Verdict::ApprovalRequired(Ask::Storable);
const EACH_TIME: Verdict = Verdict::ApprovalRequired(Ask::Always);

/// Looked at and left as it is.
const LOOKS: [Verdict; 3] = [ALLOWED, ALLOWED, ALLOWED];
/// Held by the cage to what the manifest names.
const HELD: [Verdict; 3] = [DENIED, ALLOWED, ALLOWED];
/// Changes something of the user's that the cage does not hold.
const CHANGES: [Verdict; 3] = [DENIED, ONCE, ALLOWED];
/// Leaves the machine or cannot be taken back.
const LEAVES: [Verdict; 3] = [DENIED, EACH_TIME, EACH_TIME];

const TABLE: &[Registered] = &[
    entry("fs", "read", Effect::Read, LOOKS),
    entry("fs", "write", Effect::Write, HELD),
    entry("network", "http", Effect::Network, HELD),
    entry("network", "https", Effect::Network, HELD),
    entry("network", "tcp", Effect::Network, HELD),
    entry("network", "*", Effect::Network, LEAVES),
    entry("code", "exec", Effect::Nothing, CHANGES),
    entry("time", "read", Effect::Nothing, LOOKS),
    entry("calendar", "read", Effect::Nothing, LOOKS),
    entry("contacts", "read", Effect::Nothing, LOOKS),
    entry("mail", "read", Effect::Nothing, LOOKS),
    entry("messages", "read", Effect::Nothing, LOOKS),
    entry("memory", "read", Effect::Nothing, LOOKS),
    entry("clipboard", "read", Effect::Nothing, LOOKS),
    entry("calendar", "write", Effect::Nothing, CHANGES),
    entry("contacts", "write", Effect::Nothing, CHANGES),
    entry("memory", "write", Effect::Nothing, CHANGES),
    entry("clipboard", "write", Effect::Nothing, CHANGES),
    entry("notify", "send", Effect::Nothing, CHANGES),
    entry("schedule", "write", Effect::Nothing, CHANGES),
    entry("mail", "send", Effect::Nothing, LEAVES),
    entry("messages", "send", Effect::Nothing, LEAVES),
    entry("payment", "send", Effect::Nothing, LEAVES),
    entry("secret", "read", Effect::Nothing, LEAVES),
    entry("device", "control", Effect::Nothing, LEAVES),
];

#[cfg(test)]
mod tests;
