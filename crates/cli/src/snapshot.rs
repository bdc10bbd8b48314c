//! `stockade snapshot`: hands the words to the crate of that name, and its answer to the caller.

use cage::state::{Directory, Locations, StateError};
use snapshot::command::{CommandError, SnapshotArguments};

use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::output::print;

/// The command.
pub(crate) fn snapshot(arguments: &SnapshotArguments) -> Result<Exit, Failure> {
    let locations = Locations::of_this_process();
    let state = Directory::open(locations.state.as_ref().ok_or(StateError::NoPlace)?)?;
    let answer = snapshot::command::run(arguments, state.path()).map_err(failed)?;
    print(&answer)?;
    Ok(Exit::Success)
}

fn failed(error: CommandError) -> Failure {
    let exit = match () {
        () if error.is_usage() => Exit::Usage,
        () if error.is_missing() => Exit::No,
        () if error.is_refusal() => Exit::Refused,
        () => Exit::CannotBuild,
    };
    let failure = Failure::new(exit, with_causes(&error));
    error.help().into_iter().fold(failure, Failure::help)
}
