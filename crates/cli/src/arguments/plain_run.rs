//! Plain command lines of `run`, read without the parser. Describing the command to the parser takes
//! longer than most of what is done before a cage is built, and it is done while somebody waits.
//!
//! Reads what it is sure of as the parser would. Everything else, wrong or merely rare, it leaves to the
//! parser, which also finds the words for it. Never refuses anything itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Backend, RunArguments, Seccomp, State};

/// Reads the words after `run`; none if they are not plain.
pub(super) fn read(words: &[OsString]) -> Option<RunArguments> {
    let mut read = RunArguments::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let bytes = word.as_bytes();
        match bytes {
            b"--" => {
                read.command = rest.cloned().collect();
                break;
            }
            b"-q" => set(&mut read.quiet)?,
            [b'-', b'-', ..] => flag(&mut read, bytes, &mut rest)?,
            [] | [b'-', ..] => return None,
            _ => {
                read.command = std::iter::once(word).chain(rest).cloned().collect();
                break;
            }
        }
    }
    // Before the program's name a word may still be meant for the parser, and an empty one is no name.
    let first = read.command.first().map_or(b"x".as_slice(), |word| word.as_bytes());
    let is_plain = !first.is_empty() && !first.starts_with(b"-");
    let network = &read.network;
    let wants_network =
        !(network.net.is_empty() && network.host_port.is_empty() && network.publish.is_empty());
    (is_plain && !(network.no_net && wants_network)).then_some(read)
}

/// Reads one flag, and its value if it has one.
fn flag<'a>(
    read: &mut RunArguments,
    word: &[u8],
    rest: &mut impl Iterator<Item = &'a OsString>,
) -> Option<()> {
    let (name, given) = match word.iter().position(|byte| *byte == b'=') {
        Some(at) => (word.get(..at)?, Some(OsStr::from_bytes(word.get(at + 1..)?))),
        None => (word, None),
    };
    match (name, given) {
        (b"--quiet", None) => return set(&mut read.quiet),
        (b"--no-net", None) => return set(&mut read.network.no_net),
        (b"--degraded-limits", None) => return set(&mut read.degraded_limits),
        (b"--json", None) => return put(&mut read.json, None),
        (b"--json", Some(file)) => {
            return put(&mut read.json, Some(PathBuf::from(not_empty(file)?)));
        }
        _ => {}
    }
    let mut value = || match given {
        Some(value) => not_empty(value),
        // What looks like a flag is one, or a mistake.
        None => not_empty(rest.next()?).filter(|value| !value.as_bytes().starts_with(b"-")),
    };
    let (files, program, network) = (&mut read.files, &mut read.program, &mut read.network);
    match name {
        b"--ro" => files.ro.push(value()?.into()),
        b"--rw" => files.rw.push(value()?.into()),
        b"--hide" => files.hide.push(value()?.into()),
        b"--env" => program.env.push(value()?.into()),
        b"--command" => program.listed.push(text(value()?)?),
        b"--net" => network.net.push(text(value()?)?),
        b"--host-port" => network.host_port.push(text(value()?)?),
        b"--publish" => network.publish.push(text(value()?)?),
        b"--project" => put(&mut read.choice.project, value()?.into())?,
        b"--cage" => put(&mut read.choice.cage, text(value()?)?)?,
        b"--session" => put(&mut read.session, text(value()?)?)?,
        b"--memory" => put(&mut program.memory, text(value()?)?)?,
        b"--pids" => put(&mut program.pids, text(value()?)?)?,
        b"--cpus" => put(&mut program.cpus, text(value()?)?)?,
        b"--time" => put(&mut program.time, text(value()?)?)?,
        b"--seccomp" => put(&mut program.seccomp, profile(value()?)?)?,
        b"--state" => put(&mut program.state, state(value()?)?)?,
        b"--backend" if read.backend == Backend::Native && value()? == "bwrap" => {
            read.backend = Backend::Bwrap;
        }
        _ => return None,
    }
    Some(())
}

/// Sets a flag that may be given once.
fn set(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

/// Takes a value that may be given once.
fn put<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn not_empty(value: &OsStr) -> Option<&OsStr> {
    (!value.is_empty()).then_some(value)
}

fn text(value: &OsStr) -> Option<String> {
    value.to_str().map(str::to_owned)
}

fn profile(value: &OsStr) -> Option<Seccomp> {
    let all = [Seccomp::Default, Seccomp::Relaxed];
    all.into_iter().find(|one| value == one.word())
}

fn state(value: &OsStr) -> Option<State> {
    [State::Ephemeral, State::Scratch].into_iter().find(|one| value == one.word())
}
