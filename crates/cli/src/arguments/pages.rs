//! The words of small commands: approvals of a policy file, and what `stockade` prints about itself.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// The schema of the user's own configuration instead
    #[arg(long)]
    pub(crate) user: bool,
    /// The schema of an executor's manifest instead
    #[arg(long, conflicts_with = "user")]
    pub(crate) manifest: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// A command of `stockade`
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AllowArguments {
    /// The policy file, or its directory; without it the one that `run` would find
    pub(crate) file: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArguments {
    /// The policy file, or its directory; without it the one that `run` would find
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Only build the cage, and look at nothing else
    #[arg(long)]
    pub(crate) only_cage: bool,
}
