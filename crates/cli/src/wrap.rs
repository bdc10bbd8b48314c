//! `stockade wrap`: the command line of an executor with its cage around it, for any process API.

use plan::ByteString;
use plan::render::for_shell;
use serde_json::json;

use crate::arguments::executors::WrapArguments;
use crate::executors::{Wishes, load, refused, tell};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};

/// The command.
pub(crate) fn wrap(arguments: &WrapArguments, messages: Messages) -> Result<Exit, Failure> {
    let executor = load(&arguments.manifest)?;
    let wishes = Wishes::read(&arguments.call, Some(&arguments.cage))?;
    let called = wishes.arguments.as_ref();
    let wrapped = invoke::wrap_command(&executor, &arguments.command, called, &wishes.options());
    let wrapped = wrapped.map_err(|error| refused(&error))?;
    if arguments.json {
        let argv: Vec<String> =
            wrapped.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        print_json(&json!({
            "argv": argv,
            "sandbox": wrapped.sandbox,
            "autonomy": wrapped.autonomy,
            "narrowed": wrapped.narrowed,
            "notes": wrapped.notes,
        }))?;
        return Ok(Exit::Success);
    }
    tell(&wrapped.narrowed, &wrapped.notes, messages);
    if let Some(reason) = &wrapped.sandbox.reason {
        messages.warning(&format!("the command has NO CAGE around it: {reason}"));
    }
    let words = wrapped.argv.into_iter().map(|word| for_shell(&ByteString::from(word)));
    print(&format!("{}\n", words.collect::<Vec<_>>().join(" ")))?;
    Ok(Exit::Success)
}
