//! The words of the commands that are about executors with manifests.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Backend;

/// Flags that mean nothing beside a manifest or a sealed request, which bring their own policy. Paths to show
/// beside a manifest are the caller's own.
pub(super) const NOT_WITH_MANIFEST: &[&str] = &[
    "project",
    "cage",
    "agent",
    "profile",
    "capability",
    "hide",
    "env",
    "listed",
    "commands",
    "seccomp",
    "state",
    "memory",
    "pids",
    "cpus",
    "time",
    "tmp_size",
    "home_size",
    "net",
    "no_net",
    "host_port",
    "publish",
];

/// Flags of `run` that would add to a sealed request, beside those.
pub(super) const NOT_WITH_SEALED: &[&str] =
    &["ro", "rw", "mount", "degraded_limits", "session", "no_sandbox", "backend", "narrow"];

#[derive(Debug, Args)]
pub(crate) struct WrapArguments {
    /// The executor's manifest
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    #[command(flatten)]
    pub(crate) call: CallArguments,
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// Print the command line as JSON, with what is around the program
    #[arg(long)]
    pub(crate) json: bool,
    /// The command to wrap; without it the one that the manifest describes
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct InvokeArguments {
    /// The executor's manifest
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    #[command(flatten)]
    pub(crate) call: CallArguments,
    #[command(flatten)]
    pub(crate) cage: CageArguments,
    /// Longest life in seconds, in place of the manifest's
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
}

/// What a call is, and how much of it is allowed.
#[derive(Debug, Default, Args)]
pub(crate) struct CallArguments {
    /// How much is left to the executor: `read_only`, `supervised` (without this flag) or `full`
    #[arg(long, value_name = "LEVEL", help_heading = "Executor", requires = "manifest")]
    pub(crate) autonomy: Option<manifest::Autonomy>,
    /// The arguments of the call, one JSON object
    #[arg(long, value_name = "JSON", help_heading = "Executor", requires = "manifest")]
    pub(crate) args: Option<String>,
    /// Give this and nothing else that the manifest declares: `fs:read:PATH`, `fs:write:PATH`,
    /// `network:HOST`, `network:*`, `code:exec` and the like, or `declared` for everything ordinary
    #[arg(long, value_name = "GRANT", help_heading = "Executor", requires = "manifest")]
    pub(crate) grant: Vec<String>,
}

/// What is around the executor, beside what its manifest says.
#[derive(Debug, Args)]
pub(crate) struct CageArguments {
    /// What builds the cage, in place of what the manifest says
    #[arg(long, value_enum)]
    pub(crate) backend: Option<Backend>,
    /// Show a path of your own choice read-only as well
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) ro: Vec<PathBuf>,
    /// Let the executor change a path of your own choice as well
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) rw: Vec<PathBuf>,
    /// Where no cage can be built, run it WITHOUT ANY CAGE
    #[arg(long)]
    pub(crate) allow_unsandboxed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArguments {
    #[command(subcommand)]
    pub(crate) command: GrantsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// Show every answer that was stored
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take stored answers back
    #[command(group(clap::ArgGroup::new("which").required(true).args(["id", "all"])))]
    Revoke {
        /// Which one
        id: Option<String>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

impl GrantsArguments {
    /// Whether the answer is for a program.
    pub(crate) const fn answers_in_json(&self) -> bool {
        matches!(self.command, GrantsCommand::List { json: true })
    }
}
