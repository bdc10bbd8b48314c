//! The words of `stockade profile`, `agent-profile` and `init`. Reads words; never looks at a file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The project's directory; the working directory without it
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print the policy and write nothing
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// Name every profile, with what it is for
    List,
    /// Print a built-in profile as it is here: policy text to read, or to copy
    Show {
        /// Which one
        name: String,
        /// The project that it is for; without it the one that `run` would find
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AgentProfileArguments {
    #[command(subcommand)]
    pub(crate) command: AgentProfileCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentProfileCommand {
    /// Name every built-in agent, with where it is installed or how to install it
    List,
    /// Print what a built-in agent has here: policy text to read, or to copy
    Show {
        /// Which one
        name: String,
        /// The project that it is for; without it the one that `run` would find
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
}
