//! What can be said to `stockade quarantine`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct QuarantineArguments {
    #[command(subcommand)]
    pub(crate) command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// Show what was set aside and is still there
    List {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Put something back where it was, by that path or by the one that it has now
    Restore {
        /// Which file or directory; what is there now is set aside instead
        path: PathBuf,
    },
    /// Remove something that was set aside
    Drop {
        /// Which file or directory, by the path that it had or that it has now
        #[arg(required_unless_present = "all")]
        path: Option<PathBuf>,
        /// All that was set aside, in every project
        #[arg(long, conflicts_with = "path")]
        all: bool,
    },
}

impl QuarantineArguments {
    /// Whether the answer is for a program.
    pub(crate) const fn answers_in_json(&self) -> bool {
        matches!(self.command, QuarantineCommand::List { json: true })
    }
}
