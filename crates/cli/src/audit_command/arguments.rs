//! The command line of `stockade audit`.

use std::path::PathBuf;

use audit::Retention;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    pub(super) command: AuditCommand,
}

impl AuditArguments {
    /// Whether standard output is for a program to read, which then finds an error there too.
    pub(crate) fn answers_in_json(&self) -> bool {
        match &self.command {
            AuditCommand::Verify(arguments) => arguments.json,
            AuditCommand::Prune(arguments) => arguments.json,
            AuditCommand::Show(_)
            | AuditCommand::Follow(_)
            | AuditCommand::Export(_)
            | AuditCommand::Schema => false,
        }
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
    /// Remove the oldest files of the log; what is left can still be verified
    Prune(PruneArguments),
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

/// What of a log is kept.
#[derive(Debug, Args)]
pub(crate) struct RetentionArguments {
    /// Remove files of the record whose last entry is older than so many days
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<u32>,
    /// Remove the oldest files of the record until the rest has at most this size, such as `500M` or
    /// `2G`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    keep_size: Option<u64>,
}

impl RetentionArguments {
    /// The rules.
    pub(crate) fn rules(&self) -> Retention {
        Retention { days: self.keep_days, bytes: self.keep_size }
    }
}

fn size(given: &str) -> Result<u64, &'static str> {
    Retention::size(given).ok_or("a size is a number of bytes, or one with K, M, G or T behind it")
}

#[derive(Debug, Args)]
pub(super) struct PruneArguments {
    #[command(flatten)]
    pub(super) retention: RetentionArguments,
    /// Only say what would be removed
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The directory of a log; without it your own
    #[arg(long, value_name = "PATH")]
    pub(super) log: Option<PathBuf>,
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
