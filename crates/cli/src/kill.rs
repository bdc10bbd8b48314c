//! `stockade kill`: a signal to the programs of cages, or their end. Those of `stockade run` get it from their
//! supervisor, which needs no daemon.

use std::os::fd::AsFd as _;
use std::time::Duration;

use cage::state::Locations;
use daemon::client::segment;
use daemon::signal_name;
use policy::shown::shown;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde_json::json;

use crate::arguments::daemon::KillArguments;
use crate::client::client;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::runs::{self, Running};

/// The command. Every cage is tried; the first failure is the command's own.
pub(crate) fn kill(arguments: &KillArguments, messages: Messages) -> Result<Exit, Failure> {
    let client = client(&arguments.socket)?;
    let mut first = None;
    let locations = Locations::of_this_process();
    let is_named = arguments.socket.socket.is_some() || arguments.socket.system;
    for id in &arguments.ids {
        if !is_named && let Some(run) = runs::find(&locations, id)? {
            end(&run, arguments)?;
            continue;
        }
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

/// Sends a signal to a run of `stockade run`, which hands it on to its program; or ends it.
fn end(run: &Running, arguments: &KillArguments) -> Result<(), Failure> {
    if !arguments.close {
        let signal = signal_name::named(&arguments.signal).ok_or_else(|| {
            Failure::new(Exit::Usage, "there is no such signal")
                .help("give a name such as `TERM`, or a number from 1 to 64")
        })?;
        return send(run, signal);
    }
    send(run, libc::SIGTERM)?;
    let patience = Timespec::try_from(cage::GRACE + LONGEST_END).ok();
    let mut polled = [PollFd::from_borrowed_fd(run.supervisor.as_fd(), PollFlags::IN)];
    match rustix::event::poll(&mut polled, patience.as_ref()) {
        Ok(0) => send(run, libc::SIGKILL),
        _ => Ok(()),
    }
}

fn send(run: &Running, signal: i32) -> Result<(), Failure> {
    match sys::signal::send_by_handle(run.supervisor.as_fd(), signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(errno) => {
            let error = std::io::Error::from(errno);
            Err(Failure::new(Exit::No, format!("`{}`: {error}", shown(&run.id))))
        }
    }
}

/// What a supervisor has to do when its program has ended.
const LONGEST_END: Duration = Duration::from_secs(5);
