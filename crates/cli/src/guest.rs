//! Guests of `stockade run`: `stockade js` and `stockade wasm` spelled out, and the command that becomes of a guest. What
//! is a guest is decided in `prepare`.

use std::ffi::OsString;

use cage::prepare::guest::{self, GuestError};

use crate::arguments::{Guest, RUN, RunArguments};
use crate::exit::Exit;
use crate::failure::Failure;

/// `stockade js …` is `stockade run --guest=js …`.
pub(crate) fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    let language = words.get(1).and_then(|word| word.to_str());
    if let Some(language) = language.filter(|word| matches!(*word, "js" | "wasm")) {
        let flag = format!("--guest={language}");
        words.splice(1..2, [OsString::from(RUN), OsString::from(flag)]);
    }
    words
}

/// Has the program started by what runs guests, if it is one, which the cage then shows.
pub(crate) fn dispatch(arguments: &mut RunArguments) -> Result<(), Failure> {
    if arguments.sealed.is_some() || arguments.choice.agent.is_some() {
        return Ok(());
    }
    let language = arguments.guest.map(Guest::language);
    if let Some(command) = guest::command(language, &arguments.command).map_err(failed)? {
        arguments.files.ro.push(command.engine);
        arguments.command = command.words;
    }
    Ok(())
}

fn failed(error: GuestError) -> Failure {
    let exit = match &error {
        GuestError::NoEngine(_) => Exit::CannotBuild,
        GuestError::NotAGuest(_) => Exit::Refused,
        GuestError::Unreadable { error, .. } => match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::NotExecutable,
        },
    };
    let failure = Failure::new(exit, error.to_string());
    error.help().into_iter().fold(failure, Failure::help)
}
