//! The flags of `stockade fs`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct FsArguments {
    #[command(subcommand)]
    pub(crate) command: FsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    #[command(flatten)]
    Files(files::command::FilesCommand),
    /// Mount a file system on a directory and serve it until it is unmounted or this command is interrupted
    Mount(FsMountArguments),
    /// Serve a file system over 9P until this command is interrupted
    Serve(FsServeArguments),
}

/// What is served, and how.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// `memory:`, `dir:PATH`, `store:FILE`, `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, `gdrive:FOLDER`, or
    /// `overlay:LOWER:UPPER` with several lower layers if wanted, the uppermost first; `overlay:LOWER` keeps what is
    /// written in memory. A colon in a path is written `\:`
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,
    /// Refuse every change
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The room for files in memory, in megabytes
    #[arg(long, value_name = "MEGABYTES", default_value_t = 1024)]
    pub(crate) size: u64,
}

impl FsArguments {
    /// Whether the answer is for a program.
    pub(crate) const fn answers_in_json(&self) -> bool {
        match &self.command {
            FsCommand::Files(command) => command.answers_in_json(),
            FsCommand::Mount(_) | FsCommand::Serve(_) => false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FsMountArguments {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    /// The directory to mount on
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// Nobody changes the source's directories but through this mount: the kernel keeps what it has seen of them
    #[arg(long, conflicts_with = "shared")]
    pub(crate) alone: bool,
    /// Others change the source's directories too: the kernel asks every time. So it is for `dir:`
    #[arg(long)]
    pub(crate) shared: bool,
    /// Let the kernel gather writes and hand them over later: faster for many small ones; a full file system is then told
    /// by `close`
    #[arg(long, conflicts_with = "shared")]
    pub(crate) gather_writes: bool,
    /// How many requests are served at once
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: u16,
    /// A program to run instead of waiting: the mount ends with it, and unless root mounts, it alone sees the mount
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct FsServeArguments {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    /// Where to listen: the path of a unix socket, or `IP:PORT`. Clients of a socket are who the kernel says they are; on
    /// TCP everybody is you
    #[arg(long = "9p", value_name = "ADDRESS", required = true)]
    pub(crate) ninep: String,
    /// Listen on an address that is not loopback: whoever reaches it can do all that you can, and nothing is encrypted
    #[arg(long)]
    pub(crate) allow_remote: bool,
}
