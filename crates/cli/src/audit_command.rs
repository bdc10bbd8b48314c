//! `stockade audit`: shows, follows, verifies, exports and prunes the record of what happened to cages.
//! Only `prune` removes anything; what `export` writes is the head of the log.

mod arguments;
mod export;
mod prune;
mod show;
mod verify;
pub(crate) mod when;

use std::path::PathBuf;

use cage::state::Locations;

use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::print_json;

pub(crate) use arguments::{AuditArguments, RetentionArguments};
use arguments::{AuditCommand, PlaceArguments};

/// The command.
pub(crate) fn audit(arguments: AuditArguments, messages: Messages) -> Result<Exit, Failure> {
    match arguments.command {
        AuditCommand::Show(arguments) => show::show(&arguments, messages),
        AuditCommand::Follow(arguments) => show::follow(&arguments),
        AuditCommand::Verify(arguments) => verify::verify(&arguments),
        AuditCommand::Export(arguments) => export::export(&arguments, messages),
        AuditCommand::Prune(arguments) => prune::prune(&arguments),
        AuditCommand::Schema => {
            print_json(&audit::schema::schema())?;
            Ok(Exit::Success)
        }
    }
}

/// The log that is meant: the one that was named, else the user's own.
fn place(arguments: &PlaceArguments) -> Result<PathBuf, Failure> {
    match &arguments.log {
        Some(path) => Ok(path.clone()),
        None => own_log(),
    }
}

/// The log of this user.
fn own_log() -> Result<PathBuf, Failure> {
    match Locations::of_this_process().state {
        Some(state) => Ok(state.as_path().join("audit")),
        None => Err(Failure::new(Exit::No, "there is no home that a log could be in")
            .help("set HOME or XDG_STATE_HOME, or name the log with `--log`")),
    }
}

/// A log that cannot be read.
fn unreadable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(Exit::No, with_causes(error))
}
