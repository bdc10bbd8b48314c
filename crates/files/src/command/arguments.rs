//! What can be said to `stockade fs` about files. Data alone.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is to be done with files of a session or a source.
#[derive(Debug, Subcommand)]
pub enum FilesCommand {
    /// List a directory of a session or a source, with sizes and modes
    Ls(ListArguments),
    /// Write a file of a session or a source to standard output
    Cat(AddressArgument),
    /// Copy a file or directory of the host into a session or a source
    Put(PutArguments),
    /// Copy a file or directory of a session or a source to the host
    Get(GetArguments),
    /// Remove a file, or a directory that is empty
    Rm(RmArguments),
    /// Make a directory
    Mkdir(MkdirArguments),
    /// Show what is known of a file, or where a link leads
    Stat(ListArguments),
    /// Draw a directory with everything in it
    Tree(TreeArguments),
}

/// Which files.
#[derive(Debug, Args)]
pub struct AddressArgument {
    /// A path of a session, or of a source: `work:/scratch/a`, `s3://BUCKET/PATH`, `gs://…`, `az://…`,
    /// `gdrive:FOLDER:PATH`, `store:FILE:PATH`, `dir:DIRECTORY:PATH`. One of a session without a slash in front is below
    /// its only view of a directory, or below `/scratch`
    #[arg(value_name = "SESSION:PATH")]
    pub at: OsString,
}

/// Which files, and for whom the answer is.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is drawn.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// How many levels
    #[arg(short = 'L', long, value_name = "COUNT")]
    pub levels: Option<usize>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// How something is copied.
#[derive(Debug, Args)]
pub struct CopyArguments {
    /// Copy directories with everything in them
    #[arg(short, long)]
    pub recursive: bool,
    /// Replace files that are there already, and fill directories that are
    #[arg(long)]
    pub overwrite: bool,
    /// Leave out links that lead out of what is copied, which are an error otherwise
    #[arg(long)]
    pub no_links: bool,
    /// Print what was copied as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is copied where.
#[derive(Debug, Args)]
pub struct PutArguments {
    /// A file or directory of the host; `-` is standard input
    #[arg(value_name = "LOCAL")]
    pub local: PathBuf,
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// See there.
    #[command(flatten)]
    pub copy: CopyArguments,
}

/// What is copied where.
#[derive(Debug, Args)]
pub struct GetArguments {
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// A directory of the host, or a name in one; the working directory otherwise; `-` is standard output
    #[arg(value_name = "LOCAL")]
    pub local: Option<PathBuf>,
    /// See there.
    #[command(flatten)]
    pub copy: CopyArguments,
}

/// What is removed.
#[derive(Debug, Args)]
pub struct RmArguments {
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// Remove directories with everything in them
    #[arg(short, long)]
    pub recursive: bool,
}

/// What is made.
#[derive(Debug, Args)]
pub struct MkdirArguments {
    /// See there.
    #[command(flatten)]
    pub address: AddressArgument,
    /// Make those above it that are missing; one that is there is no error
    #[arg(short, long)]
    pub parents: bool,
}

impl FilesCommand {
    /// Whether the answer is for a program.
    pub const fn answers_in_json(&self) -> bool {
        match self {
            Self::Ls(arguments) | Self::Stat(arguments) => arguments.json,
            Self::Tree(arguments) => arguments.json,
            Self::Put(arguments) => arguments.copy.json,
            Self::Get(arguments) => arguments.copy.json,
            Self::Cat(_) | Self::Rm(_) | Self::Mkdir(_) => false,
        }
    }
}
