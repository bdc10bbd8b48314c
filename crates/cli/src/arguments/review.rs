//! The flags of the commands that review what sessions changed: `diff`, `apply`, `discard`, `undo`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Which session, and what of it.
#[derive(Debug, Args)]
pub(crate) struct WhichArguments {
    /// The session; without it the one that last ran on the working directory and has something to review
    #[arg(value_name = "SESSION")]
    pub(crate) first: Option<OsString>,
    /// Only what these paths name, and what lies below them
    #[arg(value_name = "PATH")]
    pub(crate) rest: Vec<OsString>,
    /// Paths alone, whatever they are called
    #[arg(value_name = "PATH", last = true)]
    pub(crate) paths: Vec<OsString>,
    /// The session, whatever it is called
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    pub(crate) which: WhichArguments,
    /// A summary by file instead of the text
    #[arg(long, conflicts_with_all = ["name_only", "json"])]
    pub(crate) stat: bool,
    /// The paths alone, quoted as Git does where they have unusual characters
    #[arg(long, conflicts_with = "json")]
    pub(crate) name_only: bool,
    /// Print the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Start no pager
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    #[command(flatten)]
    pub(crate) which: WhichArguments,
    /// Ask about each change, of a text about each hunk
    #[arg(long, short, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) patch: bool,
    /// Where both sides changed a text, merge them if nothing contradicts
    #[arg(long)]
    pub(crate) merge: bool,
    /// Put the cage's version here although the host's was changed since
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Vec<OsString>,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was done as JSON, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiscardArguments {
    #[command(flatten)]
    pub(crate) which: WhichArguments,
    /// Do not ask before everything is thrown away
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print what was thrown away as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The session; without it the one of the working directory whose apply can be taken back
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only in this directory's workspace, where the session has several
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<PathBuf>,
    /// Put back what was there before, although the host's was changed since
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Vec<OsString>,
    /// Print what was taken back as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
