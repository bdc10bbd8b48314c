//! The command lines of the daemon and of what talks to it.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::audit_command::RetentionArguments;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve the system, as root: its state is in /var/lib/stockade, its configuration in
    /// /etc/stockade, its socket in /run/stockade
    #[arg(long)]
    pub(crate) system: bool,
    /// The unix socket; without it `daemon.sock` in /run/stockade for root, in
    /// `$XDG_RUNTIME_DIR/stockade` for a user
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Let another user use the socket too, by name or number; that user can then do everything
    /// that the daemon's own user can
    #[arg(long, value_name = "USER")]
    pub(crate) allow_user: Vec<String>,
    /// Listen on TCP as well, for clients that show the token
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The file with the token, which is made if it does not exist; without it `token` in the state
    /// directory
    #[arg(long, value_name = "PATH", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// Listen on an address that is not loopback; everything there is readable on the way
    #[arg(long, requires = "listen")]
    pub(crate) allow_remote: bool,
    /// Most cages at a time
    #[arg(long, value_name = "COUNT", default_value = "4096")]
    pub(crate) most_cages: NonZeroUsize,
    #[command(flatten)]
    pub(crate) retention: RetentionArguments,
    /// Run every program WITHOUT a cage, whatever its policy says
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// As `run --detach` starts it: in a session of its own, until nothing has run for an hour
    #[arg(long, hide = true, conflicts_with = "system")]
    pub(crate) background: bool,
    /// Print a systemd unit that starts the daemon, and do nothing else
    #[arg(long)]
    pub(crate) print_unit: bool,
}

/// Which daemon is asked.
#[derive(Clone, Debug, Args)]
pub(crate) struct SocketArguments {
    /// The daemon's unix socket, if it is not where `stockade serve` puts it
    #[arg(long, value_name = "PATH", conflicts_with = "system")]
    pub(crate) socket: Option<PathBuf>,
    /// Ask the system's daemon
    #[arg(long)]
    pub(crate) system: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PsArguments {
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    /// Also those that have ended and were not closed yet
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print what the daemon answers
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    /// Go on with what the program writes, until it ends
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only the last BYTES of each stream
    #[arg(long, value_name = "BYTES", conflicts_with = "follow")]
    pub(crate) tail: Option<u64>,
    /// The cage, or the beginning of its id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArguments {
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    /// Only what is written from now on, and not what was before
    #[arg(long)]
    pub(crate) from_now: bool,
    /// Only watch: neither keys nor signals go to the program
    #[arg(long)]
    pub(crate) no_stdin: bool,
    /// The cage, or the beginning of its id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct KillArguments {
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    /// The signal, by name or number
    #[arg(long, short, value_name = "SIGNAL", default_value = "TERM", conflicts_with = "close")]
    pub(crate) signal: String,
    /// End it whatever it takes, wait until nothing is left, and forget its output
    #[arg(long)]
    pub(crate) close: bool,
    /// The cages, or the beginnings of their ids
    #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) socket: SocketArguments,
    /// Only print where the daemon's socket is, whether or not somebody serves it
    #[arg(long, conflicts_with = "json")]
    pub(crate) print_socket: bool,
    /// Print what the daemon answers
    #[arg(long)]
    pub(crate) json: bool,
}
