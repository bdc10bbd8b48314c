//! Flags whose value is one of a few words.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Stockade's own launcher
    #[default]
    Native,
    /// Bubblewrap, where it is installed; weaker, for comparison
    Bwrap,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For a person
    #[default]
    Person,
    /// The whole plan as data
    Json,
    /// As a bubblewrap command line
    Bwrap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommandSet {
    /// All of /usr
    Base,
    /// None: no shell, no program but one that a grant shows
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Seccomp {
    /// The default profile
    Default,
    /// For debuggers and profilers; reduced isolation
    Relaxed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// Gone when the program ends
    Ephemeral,
    /// Kept until the session ends
    Scratch,
}

impl Seccomp {
    /// The word of the policy language.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Relaxed => "relaxed",
        }
    }
}

impl State {
    /// The word of the policy language.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ephemeral => "ephemeral",
            Self::Scratch => "scratch",
        }
    }
}

/// Flags of `run` whose meaning ends with a process at a terminal, or that the daemon's own user decides.
pub(super) const NOT_DETACHED: [&str; 6] =
    ["no_sandbox", "sealed", "result_fd", "backend", "json", "narrow"];
