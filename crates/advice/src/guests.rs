//! Guests on a command line: `stockade js` and `stockade wasm` spelled out, and the command that becomes of a program that is
//! a guest. What is one is decided in `prepare`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cage::prepare::guest::{self, GuestError, Language};
use policy::Kind;

use crate::Failure;

/// `stockade js …` is `stockade run --guest=js …`, also behind the flag that every command has.
pub fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let at = match word(1) {
        Some("--color") => 3,
        Some(colour) if colour.starts_with("--color=") => 2,
        _ => 1,
    };
    if let Some(language) = word(at).filter(|word| matches!(*word, "js" | "wasm")) {
        let flag = format!("--guest={language}");
        words.splice(at..=at, [OsString::from("run"), OsString::from(flag)]);
    }
    words
}

/// Has a program started by what runs guests, if it is one: that is added to what the cage shows read-only.
///
/// # Errors
///
/// If it must be a guest and is none, or nothing runs guests here.
pub fn dispatch(
    language: Option<Language>,
    command: &mut Vec<OsString>,
    shown: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    if let (Some(language), true) = (language, command.is_empty()) {
        return Err(nothing_to_run(language));
    }
    let stockade = std::env::current_exe().unwrap_or_default();
    if let Some(guest) = started(&stockade, language, command)? {
        shown.extend(guest.shown);
        *command = guest.words;
    }
    Ok(())
}

/// How a guest is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The whole command.
    pub words: Vec<OsString>,
    /// What the cage has to show read-only: the engine, and what the module was compiled to before.
    pub shown: Vec<PathBuf>,
}

/// The command that starts these words by what runs guests beside this `stockade`, if they are a guest.
///
/// # Errors
///
/// If it must be a guest and is none, or nothing runs guests here.
pub fn started(
    stockade: &Path,
    language: Option<Language>,
    command: &[OsString],
) -> Result<Option<Started>, Failure> {
    let engine = guest::engine_beside(stockade);
    let Some(mut guest) = guest::command(&engine, language, command).map_err(failed)? else {
        return Ok(None);
    };
    let mut shown = Vec::new();
    let code = guest.module.as_deref().and_then(|module| {
        modules::code_of(
            module,
            &modules::Compiler { stockade, engine: &engine, version: guest::VERSION },
        )
    });
    if let Some(code) = code {
        guest.with_code(&code.path, &code.digest, &code.module);
        shown.push(code.path);
    }
    shown.push(guest.engine);
    Ok(Some(Started { words: guest.words, shown }))
}

/// What runs guests, beside the `stockade` that asks.
///
/// # Errors
///
/// If it is not there.
pub fn engine() -> Result<PathBuf, Failure> {
    let engine = guest::engine();
    if engine.is_file() { Ok(engine) } else { Err(failed(GuestError::NoEngine(engine))) }
}

fn nothing_to_run(language: Language) -> Failure {
    let how = match language {
        Language::JavaScript => {
            "name the file: `stockade js FILE ARGUMENT…`, where FILE is JavaScript or TypeScript"
        }
        Language::Wasm => {
            "name the module: `stockade wasm FILE ARGUMENT…`, where FILE is a WASM module"
        }
        Language::Any => {
            "put it at the end: `stockade run --guest -- FILE ARGUMENT…`, where FILE is a guest"
        }
    };
    Failure::new(Kind::Usage, "there is no program to run").help(how)
}

fn failed(error: GuestError) -> Failure {
    let kind = match &error {
        GuestError::NoEngine(_) => Kind::CannotBuild,
        GuestError::NotAGuest(_) => Kind::ProgramNotExecutable,
        GuestError::Unreadable { error, .. } => match error.kind() {
            std::io::ErrorKind::NotFound => Kind::ProgramNotFound,
            _ => Kind::ProgramNotExecutable,
        },
    };
    let failure = Failure::new(kind, error.to_string());
    error.help().into_iter().fold(failure, Failure::help)
}
