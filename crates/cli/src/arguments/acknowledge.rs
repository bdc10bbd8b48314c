//! What can be said to `stockade acknowledge`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct AcknowledgeArguments {
    /// What notes name between backticks: a host, a path, a program; without one all that are acknowledged are listed
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// Have notes about it told again
    #[arg(long, requires = "what")]
    pub(crate) forget: bool,
    /// Of this project, instead of the one that the working directory lies in
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}
