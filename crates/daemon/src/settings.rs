//! How a daemon was told to work.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use audit::{DaemonMode, Retention};
use plan::HostPath;

use crate::token::Token;

/// How a daemon works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whom it serves.
    pub mode: Mode,
    /// Where its socket is.
    pub socket: PathBuf,
    /// Users beside its own and root who may use the socket, and with it everything that its own
    /// user may do.
    pub allowed_users: Vec<u32>,
    /// Where it listens on TCP, if it does.
    pub listen: Option<Listen>,
    /// Whether programs run without cages, whatever their policies say.
    pub no_sandbox: bool,
    /// What of the record is kept; everything without a rule.
    pub retention: Retention,
    /// Most cages at a time.
    pub most_cages: usize,
    /// Most connections at a time.
    pub most_connections: usize,
    /// Most connections of one user.
    pub most_connections_of_one: usize,
    /// The command line of what serves a model to a cage.
    pub model: Vec<OsString>,
    /// How long it stays without a running program; for good without it.
    pub idle: Option<Duration>,
}

/// Whom a daemon serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One user.
    User,
    /// The system.
    System,
}

impl Mode {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
        }
    }

    pub(crate) fn recorded(self) -> DaemonMode {
        match self {
            Self::User => DaemonMode::User,
            Self::System => DaemonMode::System,
        }
    }
}

/// A place on TCP.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address, which was checked by whoever made this.
    pub address: SocketAddr,
    /// What clients have to show.
    pub token: Token,
    /// Where that can be read, if it is not below the daemon's own state: hidden from every cage.
    pub token_file: Option<HostPath>,
}
