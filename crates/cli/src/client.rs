//! Where the daemon is, and what its refusals mean on a command line.

use std::path::PathBuf;

use cage::state::Locations;
use daemon::client::{Client, ClientError};
use policy::shown::shown;

use crate::arguments::daemon::SocketArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::runs;

/// The daemon that a command line means.
pub(crate) fn client(arguments: &SocketArguments) -> Result<Client, Failure> {
    Ok(Client::at(&socket(arguments.socket.as_ref(), arguments.system)?))
}

/// Where a daemon's socket is.
pub(crate) fn socket(given: Option<&PathBuf>, system: bool) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return std::path::absolute(path)
            .map_err(|error| Failure::new(Exit::Usage, format!("`--socket`: {error}")));
    }
    if system {
        return Ok(PathBuf::from(SYSTEM_SOCKET));
    }
    let locations = Locations::of_this_process();
    let directory = locations.runtime.or(locations.state).ok_or_else(|| {
        Failure::new(Exit::CannotBuild, "there is no place for the daemon's socket")
            .help("set XDG_RUNTIME_DIR or HOME, or pass `--socket PATH`")
    })?;
    Ok(directory.as_path().join(SOCKET_NAME))
}

/// A program of `stockade run` is not the daemon's: its output and its keys are where it was started.
pub(crate) fn refuse_runs(arguments: &SocketArguments, id: &str) -> Result<(), Failure> {
    if arguments.socket.is_some() || arguments.system {
        return Ok(());
    }
    match runs::find(&Locations::of_this_process(), id)? {
        None => Ok(()),
        Some(run) => {
            let id = shown(&run.id);
            let message =
                format!("`{id}` was started by `stockade run`: what it writes goes there");
            Err(Failure::new(Exit::No, message)
                .help("`stockade run --detach` starts programs that are attached to later"))
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::NotServed { .. } => Self::new(Exit::No, with_causes(&error))
                .help("start one: `stockade serve`, or the unit of `stockade serve --print-unit`"),
            ClientError::Refused { code, message, help } => {
                let exit = match code.as_str() {
                    "bad_request" => Exit::Usage,
                    "bad_policy" => Exit::BadPolicy,
                    "refused" | "wrong_peer" => Exit::Refused,
                    "cannot_build" => Exit::CannotBuild,
                    "program_not_found" => Exit::NotFound,
                    "program_not_executable" => Exit::NotExecutable,
                    _ => Exit::No,
                };
                let help = help.iter().map(shown);
                help.fold(Self::new(exit, shown(message)), Self::help)
            }
            ClientError::Broken(_) | ClientError::Malformed(_) => {
                Self::new(Exit::No, with_causes(&error))
            }
        }
    }
}

const SOCKET_NAME: &str = "daemon.sock";
const SYSTEM_SOCKET: &str = "/run/stockade/daemon.sock";
