//! `stockade kill`: a signal to the programs of cages, or their end.

use daemon::client::segment;
use policy::shown::shown;
use serde_json::json;

use crate::arguments::daemon::KillArguments;
use crate::client::client;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

/// The command. Every cage is tried; the first failure is the command's own.
pub(crate) fn kill(arguments: &KillArguments, messages: Messages) -> Result<Exit, Failure> {
    let client = client(&arguments.socket)?;
    let mut first = None;
    for id in &arguments.ids {
        let path = format!("/v1/cages/{}", segment(id));
        let done = if arguments.close {
            client.ask("DELETE", &path, None)
        } else {
            let body = json!({ "signal": arguments.signal });
            client.ask("POST", &format!("{path}/signal"), Some(&body))
        };
        match done {
            Ok(_) => {}
            Err(error) if first.is_none() => first = Some(Failure::from(error)),
            Err(error) => messages.error(&format!("`{}`: {error}", shown(id))),
        }
    }
    match first {
        None => Ok(Exit::Success),
        Some(failure) => Err(failure),
    }
}
