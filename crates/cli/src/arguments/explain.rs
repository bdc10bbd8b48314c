//! What of a program's calls is noted, so that the end of a run can say what it did not get.

use std::io::IsTerminal as _;

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use plan::seccomp::Watch;

use super::{ChoiceArguments, FileArguments, NetworkArguments};

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Note what the program looks for and does not find because nothing grants it, and say at the end which
    /// flag would: `lookups`, which slows calls that name a file; `writes` alone, as at a terminal; or `nothing`
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "lookups")]
    explain: Option<Explain>,
}

/// What `learn` is given.
#[derive(Debug, Args)]
pub(crate) struct LearnArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// Write what is proposed to the project's `stockade.toml`, unless somebody else has written that
    #[arg(long)]
    pub(crate) write: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// How much is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Explain {
    /// Look-ups and writes.
    Lookups,
    /// Writes that fail.
    Writes,
    /// Nothing.
    Nothing,
    /// All that is used, for `stockade learn`.
    #[value(hide = true)]
    Uses,
}

impl ExplainArguments {
    /// Refused writes are noted for somebody who is there to read it.
    pub(crate) fn watch(&self) -> Watch {
        match self.explain {
            Some(Explain::Lookups) => Watch::Lookups,
            Some(Explain::Writes) => Watch::Writes,
            Some(Explain::Nothing) => Watch::Nothing,
            Some(Explain::Uses) => Watch::Uses,
            None if std::io::stderr().is_terminal() => Watch::Writes,
            None => Watch::Nothing,
        }
    }
}
