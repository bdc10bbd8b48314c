//! What can be said to `stockade snapshot`. Data alone.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The words after `stockade snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotArguments {
    /// What is to be done.
    #[command(subcommand)]
    pub command: SnapshotCommand,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "what is flattened is explained where it is")]
pub enum SnapshotCommand {
    /// Keep everything that a session has, or that a store has, as it is now
    Save {
        /// The snapshot's name
        name: String,
        #[command(flatten)]
        of: Of,
    },
    /// Make a session or a store as it was when it was saved; nobody may use it meanwhile
    Restore {
        /// Which snapshot
        name: String,
        #[command(flatten)]
        of: Of,
    },
    /// Begin a new session, or make a new store, with what a snapshot has
    Fork {
        /// Which snapshot
        name: String,
        /// The new session
        #[arg(
            long,
            value_name = "ID",
            required_unless_present = "store",
            conflicts_with = "store"
        )]
        session: Option<String>,
        /// The store that has the snapshot
        #[arg(long, value_name = "PATH", requires = "to")]
        store: Option<PathBuf>,
        /// The new store
        #[arg(long, value_name = "PATH", requires = "store")]
        to: Option<PathBuf>,
    },
    /// Show the snapshots that there are
    List {
        #[command(flatten)]
        store: InStore,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a snapshot
    Rm {
        /// Which snapshot
        name: String,
        #[command(flatten)]
        store: InStore,
    },
    /// Write a snapshot as a tar archive
    Export {
        /// Which snapshot
        name: String,
        /// The archive, which must not exist; `-` is standard output
        file: PathBuf,
        #[command(flatten)]
        store: InStore,
    },
    /// Keep what a tar archive has as a snapshot; a session gets it in its `/scratch`
    Import {
        /// The archive; `-` is standard input
        file: PathBuf,
        /// The snapshot's name
        name: String,
        #[command(flatten)]
        store: InStore,
    },
}

/// What is saved or restored.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Of {
    /// A session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// A store, which keeps its snapshots itself
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// Where snapshots are kept.
#[derive(Debug, Args)]
pub struct InStore {
    /// The snapshots of a store instead of those of sessions
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

impl SnapshotArguments {
    /// Whether the answer is for a program.
    pub const fn answers_in_json(&self) -> bool {
        matches!(self.command, SnapshotCommand::List { json: true, .. })
    }
}
