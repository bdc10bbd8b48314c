//! Why something about files of a session or a source was not done: what, why and what helps. For a person and for a
//! program, which tells the kinds apart.

use std::path::PathBuf;

use plan::{HostPath, MountedFromError};
use policy::shown::shown;
use session::SessionError;
use store::StoreError;
use workspace::WorkspaceError;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A word that names no files.
    #[error(
        "`{0}` names no files: write SESSION:PATH, or a source as `s3://BUCKET/PATH`, `gs://…`, `az://…`, \
         `gdrive:FOLDER:PATH`, `store:FILE:PATH` or `dir:DIRECTORY:PATH`"
    )]
    Address(String),
    /// A source whose files are gone when nobody uses it, or that is made of others.
    #[error("`{0}` cannot be opened by itself: nothing of it is kept but where it is mounted")]
    NotKept(String),
    /// A source that is none.
    #[error("`{text}`: {why}")]
    Source {
        /// As it is written.
        text: String,
        /// What is wrong with it.
        why: MountedFromError,
    },
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A session, or an area of it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An apply that was interrupted could not be finished.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A directory of the host is not where it was.
    #[error("`{}` cannot be opened", shown(path.display()))]
    Host {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A store in a file cannot be opened.
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    /// A store far away cannot be had.
    #[error("{tree}: {why}")]
    FarAway {
        /// Which.
        tree: String,
        /// Why not, without a credential.
        why: String,
    },
    /// There is no such file.
    #[error("{tree} has no `{path}`")]
    Missing {
        /// Where.
        tree: String,
        /// Which.
        path: String,
        /// What the tree begins with, if the path lies elsewhere.
        begins: Vec<String>,
    },
    /// Something is there already.
    #[error("{tree} has `{path}` already")]
    Exists {
        /// Where.
        tree: String,
        /// Which.
        path: String,
    },
    /// Something is there already, and is of another kind than what is to take its place.
    #[error("{tree} has a {there} `{path}`, which a {wanted} cannot replace")]
    OtherKind {
        /// Where.
        tree: String,
        /// Which.
        path: String,
        /// What is there.
        there: &'static str,
        /// What was to be there.
        wanted: &'static str,
    },
    /// It is a directory, and one file was meant.
    #[error("`{path}` of {tree} is a directory")]
    Directory {
        /// Where.
        tree: String,
        /// Which.
        path: String,
    },
    /// It is no directory, and one was meant.
    #[error("`{path}` of {tree} is no directory")]
    NotADirectory {
        /// Where.
        tree: String,
        /// Which.
        path: String,
    },
    /// A link leads out of what is copied.
    #[error("`{path}` of {tree} is a link to `{target}`, which is not in what is copied")]
    LinkOut {
        /// Where.
        tree: String,
        /// Which.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// A cage uses the view at the moment.
    #[error(
        "`{area}` of session `{session}` is in use{}: what a cage has mounted is not written to from outside",
        by(.processes)
    )]
    InUse {
        /// Whose.
        session: String,
        /// The view.
        area: HostPath,
        /// Who uses the session.
        processes: Vec<i32>,
    },
    /// The tree cannot be changed there.
    #[error("{tree} cannot be written to at `{path}`")]
    ReadOnly {
        /// Where.
        tree: String,
        /// Which.
        path: String,
        /// What the tree begins with, if the path lies elsewhere.
        begins: Vec<String>,
    },
    /// More than is taken at once.
    #[error("`{path}` of {tree} is larger than {most} bytes")]
    TooLarge {
        /// Where.
        tree: String,
        /// Which.
        path: String,
        /// How much may be.
        most: u64,
    },
    /// Anything else that the file system says.
    #[error("cannot {action} `{path}` of {tree}: {}", said(.source, .fault))]
    Failed {
        /// What was tried.
        action: &'static str,
        /// Where.
        tree: String,
        /// On which file.
        path: String,
        /// What the file system says.
        source: vfs::Error,
        /// What a store says about it.
        fault: Option<String>,
    },
    /// What is printed could not be.
    #[error("cannot write to standard output")]
    Output(#[source] std::io::Error),
    /// What comes could not be read.
    #[error("cannot read standard input")]
    Input(#[source] std::io::Error),
}

impl FilesError {
    /// What a person can do about it.
    pub fn help(&self) -> Vec<String> {
        match self {
            Self::Exists { .. } => vec!["`--overwrite` replaces files".to_owned()],
            Self::Directory { .. } => vec!["`-r` takes directories with everything in them".to_owned()],
            Self::Session(SessionError::NotFound(_)) => {
                vec!["`stockade session list` shows those that there are".to_owned()]
            }
            Self::InUse { session, .. } => vec![
                "wait until its programs have ended, or write to its `/scratch`, which may be written at any time"
                    .to_owned(),
                format!("`stockade session end {session}` ends them, and removes the session"),
            ],
            Self::Missing { begins, .. } | Self::ReadOnly { begins, .. } if !begins.is_empty() => {
                let quoted: Vec<String> = begins.iter().map(|one| format!("`{one}`")).collect();
                vec![format!("its files are in {}", quoted.join(", "))]
            }
            Self::LinkOut { .. } => {
                vec!["copy what it leads to, or leave the link out with `--no-links`".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

fn by(processes: &[i32]) -> String {
    let listed: Vec<String> = processes.iter().map(ToString::to_string).collect();
    match listed.as_slice() {
        [] => String::new(),
        [one] => format!(" by process {one}"),
        several => format!(" by processes {}", several.join(", ")),
    }
}

fn said(error: &vfs::Error, fault: &Option<String>) -> String {
    match fault {
        Some(fault) => fault.clone(),
        None => error.to_string(),
    }
}
