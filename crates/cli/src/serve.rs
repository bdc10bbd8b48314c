//! `stockade serve`: the daemon, for a user or for the system.

use std::path::Path;
use std::time::Duration;

use cage::state::{Directory, Locations};
use daemon::instance::InstanceError;
use daemon::token::Token;
use daemon::{Listen, Mode, ServeError, Settings, Stopped};
use plan::HostPath;
use policy::shown::shown;

use crate::arguments::daemon::ServeArguments;
use crate::client::socket;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::output::print;

/// The command.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let mode = if arguments.system { Mode::System } else { Mode::User };
    if arguments.print_unit {
        let program = advice::doctor::own_executable()?;
        print(&daemon::unit::unit(mode, program.as_path()))?;
        return Ok(Exit::Success);
    }
    if mode == Mode::System && !rustix::process::geteuid().is_root() {
        return Err(Failure::new(Exit::Refused, "only root can serve the system")
            .help("leave out `--system` to serve yourself"));
    }
    // What the launchers are forked from has no key.
    harness::Models::of_this_process(&Locations::of_this_process())?.set_aside()?;
    let settings = Settings {
        mode,
        socket: socket(arguments.socket.as_ref(), arguments.system)?,
        allowed_users: allowed_users(&arguments.allow_user)?,
        listen: listen(arguments)?,
        no_sandbox: arguments.no_sandbox,
        retention: arguments.retention.rules(),
        most_cages: arguments.most_cages.get(),
        most_connections: MOST_CONNECTIONS,
        most_connections_of_one: MOST_CONNECTIONS_OF_ONE,
        model: harness::model_service::command(),
        idle: arguments.background.then_some(LONGEST_IDLE),
    };
    if arguments.background {
        // The end of the terminal that it was started from is none of its.
        rustix::process::setsid().map_err(|errno| {
            let error = std::io::Error::from(errno);
            Failure::new(Exit::CannotBuild, format!("cannot begin a session: {error}"))
        })?;
    }
    match daemon::serve(settings) {
        Ok(Stopped::Asked) => Ok(Exit::Success),
        Ok(Stopped::Failed) => Err(Failure::new(
            Exit::CannotBuild,
            "the launcher process ended, and every cage with it",
        )),
        Err(error) => Err(not_served(&error)),
    }
}

/// Where to listen on TCP, with the token.
fn listen(arguments: &ServeArguments) -> Result<Option<Listen>, Failure> {
    let Some(address) = arguments.listen else { return Ok(None) };
    if !address.ip().is_loopback() && !arguments.allow_remote {
        return Err(Failure::new(
            Exit::Refused,
            format!("`{address}` can be reached from other machines, and nothing is encrypted"),
        )
        .help("listen on 127.0.0.1 behind something that encrypts, or pass `--allow-remote`"));
    }
    let failed = |error: &dyn std::error::Error| {
        Failure::new(Exit::CannotBuild, format!("no token: {}", with_causes(error)))
    };
    let Some(file) = &arguments.token_file else {
        let state = Directory::of_this_process().map_err(|error| failed(&error))?;
        let file = state.path().as_path().join(TOKEN_NAME);
        let token = Token::read_or_make(&file).map_err(|error| failed(&error))?;
        return Ok(Some(Listen { address, token, token_file: None }));
    };
    let token = Token::read_or_make(file).map_err(|error| failed(&error))?;
    let place = std::fs::canonicalize(file).map_err(|error| failed(&error))?;
    let place = HostPath::new(place.into_os_string()).map_err(|error| failed(&error))?;
    Ok(Some(Listen { address, token, token_file: Some(place) }))
}

fn allowed_users(given: &[String]) -> Result<Vec<u32>, Failure> {
    given.iter().map(|user| uid_of(user, Path::new("/etc/passwd"))).collect()
}

/// The number of a user, who is named or numbered.
fn uid_of(user: &str, accounts: &Path) -> Result<u32, Failure> {
    if let Ok(number) = user.parse() {
        return Ok(number);
    }
    let accounts = std::fs::read_to_string(accounts).unwrap_or_default();
    let mut fields = accounts.lines().map(|line| line.split(':'));
    let found = fields.find_map(|mut fields| {
        let name = fields.next()?;
        (name == user).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| {
        let user = shown(user);
        Failure::new(Exit::Usage, format!("there is no user `{user}` in `/etc/passwd`"))
            .help("give the user's number")
    })
}

fn not_served(error: &ServeError) -> Failure {
    let message = with_causes(error);
    match error {
        ServeError::Instance(InstanceError::AlreadyServed { .. }) => {
            Failure::new(Exit::No, message)
                .help("`stockade status` asks it; `stockade serve --socket PATH` is another one")
        }
        ServeError::Configuration(failure) => {
            let help = failure.help.iter();
            help.fold(Failure::new(Exit::BadPolicy, message), Failure::help)
        }
        _ => Failure::new(Exit::CannotBuild, message),
    }
}

const TOKEN_NAME: &str = "token";
const LONGEST_IDLE: Duration = Duration::from_secs(3600);
const MOST_CONNECTIONS: usize = 1024;
const MOST_CONNECTIONS_OF_ONE: usize = 768;

#[cfg(test)]
mod tests;
