//! The flags of `stockade session`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Show every session, who is in it, and what it changed where
    List {
        /// Print the sessions as JSON
        #[arg(long)]
        json: bool,
    },
    /// End a session: end the programs that run in it, and remove what it keeps
    End {
        /// Which session
        id: String,
    },
    /// Remove sessions that nobody uses and that hold nothing, or all that are old
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// All that nobody has used for so long (`90m`, `12h`, `30d`), with the changes that were never applied
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Only say which would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before changes are thrown away
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
