//! The command line of `stockade audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(super) command: AuditCommand,
}

impl AuditArguments {
    /// Whether standard output is for a program to read, which then finds an error there too.
    pub(crate) fn answers_in_json(&self) -> bool {
        matches!(&self.command, AuditCommand::Verify(arguments) if arguments.json)
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Print records, oldest first
    Show(ShowArguments),
    /// Print records as they come
    Follow(FollowArguments),
    /// Say whether the log is what was written, and if not, which record is not
    Verify(VerifyArguments),
    /// Write the log into one file that can be verified elsewhere, without the key that signs it
    Export(ExportArguments),
    /// Print the JSON schema of a record
    Schema,
}

/// Which log.
#[derive(Debug, Args)]
pub(super) struct PlaceArguments {
    /// The directory of a log, or an exported one; without it your own
    #[arg(long, value_name = "PATH")]
    pub(super) log: Option<PathBuf>,
}

/// Which records.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which records")]
pub(super) struct FilterArguments {
    /// Of starts of this cage
    #[arg(long, value_name = "NAME")]
    pub(super) cage: Option<String>,
    /// Of starts whose id begins so
    #[arg(long, value_name = "ID")]
    pub(super) invocation: Option<String>,
    /// Of this session
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Of this event, or of all below it: `gatekeeper` stands for all of the gatekeeper's
    #[arg(long, value_name = "NAME")]
    pub(super) event: Option<String>,
    /// Not before: `90s`, `10m`, `2h` or `3d` ago, or a date such as `2026-01-31` or
    /// `2026-01-31T10:20:30`, in UTC
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// Not after
    #[arg(long, value_name = "WHEN")]
    pub(super) until: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    #[command(flatten)]
    pub(super) filter: FilterArguments,
    /// Only the last so many
    #[arg(long, value_name = "COUNT")]
    pub(super) last: Option<usize>,
    /// Print the lines of the log as they are
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct FollowArguments {
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    #[command(flatten)]
    pub(super) filter: FilterArguments,
    /// Begin with the first record instead of the next one
    #[arg(long)]
    pub(super) from_start: bool,
    /// Print the lines of the log as they are
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// An exported log, or a log's directory; without it your own
    #[arg(value_name = "PATH", conflicts_with = "log")]
    pub(super) path: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    /// The key that must have signed it, in hexadecimal digits
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// A head that was exported before, and whose record must be there
    #[arg(long, value_name = "FILE")]
    pub(super) anchor: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    /// Only the head, for `verify --anchor` to compare the log with later
    #[arg(long)]
    pub(super) head: bool,
    /// The file to write, which must not exist; `-` for standard output
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
}
