//! A program that runs without a cage because its operator said so: loudly, on record, and with its
//! time limit.

use cage::prepare::Name;
use cage::runner::UncagedProgram;
use cage::session::Session;
use cage::{SpawnError, UncagedOutcome, UncagedRun};
use plan::LimitsPlan;
use policy::shown::shown;
use rustix::io::Errno;

use super::Start;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::result::{Named, RunResult};

/// A program, and why it has no cage.
#[derive(Debug)]
pub(super) struct Uncaged {
    pub(super) program: UncagedProgram,
    /// Who said so, for a person.
    pub(super) because: String,
}

/// Runs the program and tells what came of it.
pub(super) fn run(uncaged: &Uncaged, start: &Start) -> Exit {
    let Uncaged { program, because } = uncaged;
    let name = match Name::new() {
        Ok(name) => name.text,
        Err(errno) => return start.not_run(Named::Nothing, no_random_bytes(errno)),
    };
    let argv0 = program.argv.first().map(|word| shown(word.display())).unwrap_or_default();
    start.messages.warning(&format!(
        "`{argv0}` runs WITHOUT A CAGE, because {because}: it can read and change everything that you \
         can, and reach every network"
    ));
    let run = UncagedRun {
        program,
        invocation: &name,
        session: start.session.as_ref(),
        recording: &start.recording,
    };
    match run.run() {
        Ok(outcome) => report(&outcome, &name, program, start),
        Err(error) => start.not_run(Named::Start(&name), not_started(error)),
    }
}

fn report(outcome: &UncagedOutcome, name: &str, program: &UncagedProgram, start: &Start) -> Exit {
    let walltime_sec = program.walltime.map(|time| time.as_secs());
    let limits = LimitsPlan { walltime_sec, ..LimitsPlan::default() };
    if let Some(sentence) = advice::limits::ended_by(&limits, outcome.reason, None) {
        start.messages.error(&sentence);
    }
    start.tell_unrecorded(outcome.unrecorded.as_ref());
    let session = start.session.as_ref().map(Session::id);
    start.write_result(|| RunResult::of_uncaged(name, outcome).in_session(session));
    Exit::of_run(outcome.end, outcome.reason)
}

fn not_started(error: SpawnError) -> Failure {
    let help = match &error {
        SpawnError::NotFoundUncaged { .. } => Some("check the spelling"),
        _ => None,
    };
    let failure = Failure::from(error);
    help.into_iter().fold(failure, Failure::help)
}

fn no_random_bytes(errno: Errno) -> Failure {
    let message = format!("the kernel gives no random bytes: {}", std::io::Error::from(errno));
    Failure::new(Exit::CannotBuild, message)
}
