//! `stockade invoke`: calls an executor with one JSON object and prints one: its answer or why there is
//! none, with what was around it.

use std::io::{IsTerminal as _, Read as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use invoke::{Failure as Refusal, InvokeError, Options};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Map, Value};
use sys::signal::SignalSet;

use crate::arguments::executors::InvokeArguments;
use crate::executors::{Wishes, exit_of, load, object};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::print_json;

/// The command. It prints one shape, whatever is wrong.
pub(crate) fn invoke(arguments: &InvokeArguments, messages: Messages) -> Result<Exit, Failure> {
    call(arguments).or_else(|failure| {
        failure.tell(messages);
        print_json(&unreadable(arguments, &failure).to_json())?;
        Ok(failure.exit)
    })
}

/// A manifest or arguments that make no sense, as a call that was refused.
fn unreadable(arguments: &InvokeArguments, failure: &Failure) -> InvokeError {
    let what = std::iter::once(failure.text()).chain(failure.help.iter().cloned());
    let what = what.collect::<Vec<_>>().join("; ");
    let refused = Refusal::Refused { code: failure.code().to_owned(), what };
    refused.before_start(arguments.call.autonomy.unwrap_or_default())
}

fn call(arguments: &InvokeArguments) -> Result<Exit, Failure> {
    let executor = load(&arguments.manifest)?;
    let mut wishes = Wishes::read(&arguments.call, Some(&arguments.cage))?;
    let given = match wishes.arguments.take() {
        Some(given) => given,
        None => read_stdin()?,
    };
    let timeout = arguments.timeout.map(Duration::from_secs);
    let interruption = Interruption::take()?;
    let has_come = || interruption.has_come();
    let options = Options { timeout, is_cancelled: Some(&has_come), ..wishes.options() };
    match invoke::invoke(&executor, &given, &options) {
        Ok(invoked) => {
            print_json(&invoked.to_json())?;
            Ok(Exit::of_program(jail::End::Exited(invoked.exit_code)))
        }
        Err(error) => {
            print_json(&error.to_json())?;
            Ok(exit(&error))
        }
    }
}

fn exit(error: &InvokeError) -> Exit {
    match &*error.failure {
        // A code of 0 would say that there is an answer.
        Refusal::Exited { code: 0 } => Exit::No,
        failure => exit_of(failure),
    }
}

/// Signals that ask this command to end. The call is cancelled then, and its failure printed as any other.
struct Interruption(OwnedFd);

impl Interruption {
    fn take() -> Result<Self, Failure> {
        let failed = |errno| {
            let error = std::io::Error::from(errno);
            Failure::new(Exit::CannotBuild, format!("cannot wait for signals: {error}"))
        };
        let set = SignalSet::of(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
        sys::signal::block(&set).map_err(failed)?;
        sys::signal::descriptor(&set).map(Self).map_err(failed)
    }

    fn has_come(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polled, Some(&nothing)).is_ok_and(|ready| ready > 0)
    }
}

/// The arguments on standard input; nothing at all is the empty object.
fn read_stdin() -> Result<Map<String, Value>, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::new(Exit::Usage, "the arguments of the call are missing")
            .help("give them as one JSON object: `--args '{}'`, or on standard input"));
    }
    let mut text = Vec::new();
    let read = stdin.lock().take(MOST_INPUT + 1).read_to_end(&mut text);
    read.map_err(|error| Failure::new(Exit::Usage, format!("standard input: {error}")))?;
    if text.len() as u64 > MOST_INPUT {
        return Err(Failure::new(Exit::Usage, format!("there are more than {MOST_INPUT} bytes")));
    }
    if text.trim_ascii().is_empty() { Ok(Map::new()) } else { object(&text) }
}

/// More than the library takes, so that it says so.
const MOST_INPUT: u64 = 17 << 20;
