//! The attacking side: what the hidden command `__attack` does in a process of its own. The same
//! code runs inside a cage and outside.

mod asking;
mod batch;
mod careless;
mod greed;
mod one;
mod roles;
mod stage;
mod view;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::{Arena, Outcome};

pub use asking::{ask, say};
pub use greed::EXCEEDED;
pub use roles::KERNEL_REFUSES;
pub(crate) use stage::map_ids;

/// One line of a batch's output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AttackReport {
    /// Which attack.
    pub attack: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Whether attacks run where they are, or each in the place where it can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where they are.
    Here,
    /// As twins: those that need namespaces get them.
    Twin,
}

/// Runs the hidden command: `arguments` are what follows `__attack`.
pub fn child_main(arguments: &[OsString]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        ["victim", outside] => crate::arena::victim_main(Path::new(outside)),
        ["one", name, arena] => tell_one(name, arena, one::run),
        ["stage", name, arena] => tell_one(name, arena, stage::run),
        ["here", arena, names @ ..] => tell_batch(arena, names, Place::Here),
        ["twins", arena, names @ ..] => tell_batch(arena, names, Place::Twin),
        ["speak", socket, mark] => roles::speak(socket, mark),
        ["world", program, arguments @ ..] => crate::world::world_main(program, arguments),
        ["careless-daemon", socket] => careless::serve(socket),
        ["ask-daemon", who, socket] => roles::ask_daemon(who, socket),
        ["listen", file] => roles::listen(file),
        ["reach", address, mark] => roles::reach(address, mark),
        ["listed", mark, wanted] => roles::speak_to_listed(mark, wanted),
        ["type", words] => roles::type_on_terminal(words),
        ["no-namespaces", program, arguments @ ..] => {
            roles::start_without_namespaces(program, arguments)
        }
        ["without-call", number, program, arguments @ ..] => {
            roles::start_without_call(number, program, arguments)
        }
        ["layers", secret] => roles::tell_layers(secret),
        ["forge-notes", directory] => view::forge_notes(directory),
        ["read-on", directory, count] => view::read_on(directory, count),
        ["hoard", way, mebibytes] => greed::hoard(way, mebibytes),
        ["hoard-part", mebibytes] => greed::hoard_part(mebibytes),
        ["crowd", of, count] => greed::crowd(of, count),
        ["fork-bomb", generations] => greed::fork_bomb(generations),
        ["breed", generations] => greed::breed(generations),
        ["burn", milliseconds] => greed::burn(milliseconds),
        ["flood", mark] => roles::flood(mark),
        ["identity"] => tell_line(&one::identity()),
        _ => fail("unknown words after `__attack`"),
    }
}

fn tell_one(
    name: &str,
    arena: &str,
    run: fn(&'static crate::Attack, &Arena) -> Option<Outcome>,
) -> ExitCode {
    let Some(attack) = crate::named(name) else {
        return fail("no such attack");
    };
    match read_arena(Path::new(arena)).map(|arena| run(attack, &arena)) {
        Ok(Some(outcome)) => tell(&AttackReport { attack: name.to_owned(), outcome }),
        // Another process of this stage has told it.
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn tell_batch(arena_file: &str, names: &[&str], place: Place) -> ExitCode {
    let arena_file = Path::new(arena_file);
    let arena = match read_arena(arena_file) {
        Ok(arena) => arena,
        Err(error) => return fail(&error.to_string()),
    };
    for name in names {
        let Some(attack) = crate::named(name) else {
            return fail("no such attack");
        };
        let outcome = batch::run_apart(attack, &arena, arena_file, place);
        if tell(&AttackReport { attack: attack.name.to_owned(), outcome }) == ExitCode::FAILURE {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn read_arena(file: &Path) -> std::io::Result<Arena> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

fn tell(report: &AttackReport) -> ExitCode {
    match serde_json::to_string(report) {
        Ok(line) => tell_line(&line),
        Err(error) => fail(&error.to_string()),
    }
}

fn tell_line(line: &str) -> ExitCode {
    let mut stdout = std::io::stdout();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn fail(message: &str) -> ExitCode {
    let _unheard = writeln!(std::io::stderr(), "__attack: {message}");
    ExitCode::FAILURE
}
