//! Guests on a command line: `stockade js`, `stockade wasm` and `stockade pool` spelled out, and the command that becomes of a program that is
//! a guest. What is one is decided in `prepare`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use cage::prepare::guest::{self, GuestCommand, GuestError, Language};
use plan::HostPath;
use policy::{FsAccess, FsRule, Kind, Policy, Reach, RuleOrigin};

use crate::Failure;

/// `stockade js …` is `stockade run --guest=js …`, also behind the flag that every command has.
pub fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let at = match word(1) {
        Some("--color") => 3,
        Some(colour) if colour.starts_with("--color=") => 2,
        _ => 1,
    };
    if let Some(language) = word(at).filter(|word| matches!(*word, "js" | "wasm" | "pool")) {
        let flag = format!("--guest={language}");
        words.splice(at..=at, [OsString::from("run"), OsString::from(flag)]);
    }
    words
}

/// Has a program started by what runs guests, if it is one: that is added to what the cage shows read-only. The module
/// that it is, if it is one.
///
/// # Errors
///
/// If it must be a guest and is none, or nothing runs guests here.
pub fn dispatch(
    language: Option<Language>,
    command: &mut Vec<OsString>,
    shown: &mut Vec<PathBuf>,
) -> Result<Option<PathBuf>, Failure> {
    if let (Some(language), true) = (language, command.is_empty())
        && language != Language::Pool
    {
        return Err(nothing_to_run(language));
    }
    let Some(guest) = started(&this_stockade(), language, command)? else { return Ok(None) };
    shown.push(guest.engine);
    *command = guest.words;
    Ok(guest.module)
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
) -> Result<Option<GuestCommand>, Failure> {
    guest::command(&guest::engine_beside(stockade), language, command).map_err(failed)
}

/// Shows a cage what the module of its command was compiled to, before or now: within the time and the memory that the
/// cage has, and the time is taken from the cage's. A module that the cage does not have from the host by its own rules is
/// left to the cage.
pub fn show_code(stockade: &Path, module: &Path, words: &mut Vec<OsString>, policy: &mut Policy) {
    let begun = Instant::now();
    let engine = guest::engine_beside(stockade);
    let compiler = modules::Compiler {
        stockade,
        engine: &engine,
        version: guest::VERSION,
        memory_mb: policy.limits.memory_mb,
        seconds: policy.limits.walltime_sec,
    };
    let code = granted(module, policy).and_then(|module| modules::code_of(&module, &compiler));
    if let Some(code) = code
        && let Ok(path) = HostPath::new(code.path.clone().into_os_string())
    {
        guest::with_code(words, &code.path, &code.digest, &code.module);
        let origin = RuleOrigin::Flag("--guest".to_owned());
        let access = FsAccess::ReadOnly;
        policy.fs.push(FsRule { access, path, reach: Reach::Anywhere, origin });
    }
    if let Some(seconds) = &mut policy.limits.walltime_sec {
        let taken = begun.elapsed() + Duration::from_millis(500);
        *seconds = seconds.saturating_sub(taken.as_secs()).max(1);
    }
}

/// The path of a module, if the rules of a cage show the host's file there. Where it is not plain, they do not: what looks
/// like a secret among what is granted may be hidden without a rule. What a layer has instead is another module, whose code
/// is not this.
fn granted(module: &Path, policy: &Policy) -> Option<PathBuf> {
    let path = std::path::absolute(module).ok()?;
    let host = HostPath::new(path.clone().into_os_string()).ok()?;
    let rule = policy.access_at(&host).filter(|rule| rule.access != FsAccess::Hide)?;
    let mut below = path.strip_prefix(rule.path.as_path()).ok()?.components();
    let is_plain = below.all(|part| match part {
        Component::Normal(name) => !name.as_bytes().starts_with(b"."),
        _ => false,
    });
    let has_other = policy.mounts.keys().any(|at| path.starts_with(at.as_path()));
    // What a rule hides may be known by a link.
    let is_hidden = policy.fs.iter().filter(|rule| rule.access == FsAccess::Hide).any(|rule| {
        std::fs::canonicalize(rule.path.as_path()).is_ok_and(|hidden| path.starts_with(hidden))
    });
    (is_plain && !has_other && !is_hidden).then_some(path)
}

/// The program of ours that asks.
pub fn this_stockade() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
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
        Language::Any | Language::Pool => {
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
