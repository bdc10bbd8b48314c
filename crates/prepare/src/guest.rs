//! How a program that is a guest is started: by `stockade-guest`, a program of its own beside `stockade`, so that whoever
//! runs no guests carries no engines. Looks at the first bytes of a program and at its name; runs nothing. A26

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// What a caller says that a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A guest of any kind, and nothing else: what it is, is found out.
    Any,
    /// A module of WebAssembly.
    Wasm,
    /// JavaScript.
    JavaScript,
    /// Guests of both kinds, as lines of the input ask for them.
    Pool,
}

impl FromStr for Language {
    type Err = NotALanguage;

    fn from_str(word: &str) -> Result<Self, NotALanguage> {
        match word {
            "any" => Ok(Self::Any),
            "wasm" => Ok(Self::Wasm),
            "js" => Ok(Self::JavaScript),
            "pool" => Ok(Self::Pool),
            _ => Err(NotALanguage),
        }
    }
}

/// A word that names no kind of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guests are `wasm`, `js`, `any` or a `pool` of them")]
pub struct NotALanguage;

/// How a guest is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCommand {
    /// What runs it, which the cage has to show.
    pub engine: PathBuf,
    /// The whole command.
    pub words: Vec<OsString>,
    /// The module that it runs, if that is what it runs.
    pub module: Option<PathBuf>,
}

/// Why a guest cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// What runs guests is not installed.
    #[error("guests are run by `{0}`, which is not there")]
    NoEngine(PathBuf),
    /// It is a program for the processor, or something else that is no guest.
    #[error("`{0}` is not a guest: neither a WASM module nor named as JavaScript is")]
    NotAGuest(PathBuf),
    /// The program cannot be read.
    #[error("`{path}` cannot be read: {error}")]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl GuestError {
    /// What to do about it.
    pub const fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoEngine(_) => Some(
                "install `stockade-guest` beside `stockade` (`cargo install --path crates/guest`), or name it in \
                 the variable `STOCKADE_GUEST`",
            ),
            Self::NotAGuest(_) => Some("without `--guest` it is run as a native program"),
            Self::Unreadable { .. } => None,
        }
    }
}

/// Tells what runs a module where its code is, which the cage has to show.
pub fn with_code(words: &mut Vec<OsString>, code: &Path, digest: &str, module: &str) {
    let told = [
        "--code".into(),
        code.as_os_str().to_owned(),
        "--code-digest".into(),
        digest.into(),
        "--code-of".into(),
        module.into(),
    ];
    words.splice(OPTIONS_AT..OPTIONS_AT, told);
}

/// The command that starts these words as a guest, if that is what they are. Without a language only a file with a slash in
/// its name is looked at, as only that is started without a search.
///
/// # Errors
///
/// If it must be a guest and is none, or nothing runs guests here.
pub fn command(
    engine: &Path,
    language: Option<Language>,
    words: &[OsString],
) -> Result<Option<GuestCommand>, GuestError> {
    let program = match (words.first(), language) {
        (Some(program), _) => program.as_os_str(),
        // What runs guests needs no more words to be told of many.
        (None, Some(Language::Pool)) => OsStr::new(POOL),
        (None, _) => return Ok(None),
    };
    let path = Path::new(program);
    let kind = match language {
        Some(Language::Pool) => POOL,
        Some(Language::Wasm) => WASM,
        Some(Language::JavaScript) => JAVASCRIPT,
        Some(Language::Any) => match start_of(path) {
            Ok(Start::Module) => WASM,
            Ok(Start::Script(Interpreter::Guests | Interpreter::Node)) => JAVASCRIPT,
            Ok(_) if is_named_javascript(path) => JAVASCRIPT,
            Ok(_) => return Err(GuestError::NotAGuest(path.to_owned())),
            Err(error) => return Err(GuestError::Unreadable { path: path.to_owned(), error }),
        },
        None if !program.as_bytes().contains(&b'/') => return Ok(None),
        None => match start_of(path) {
            Ok(Start::Module) => WASM,
            Ok(Start::Script(Interpreter::Guests)) => JAVASCRIPT,
            Ok(Start::Script(_) | Start::Other) | Err(_) => return Ok(None),
        },
    };
    if !engine.is_file() {
        return Err(GuestError::NoEngine(engine.to_owned()));
    }
    let module = (kind == WASM).then(|| path.to_owned());
    let first = [engine.as_os_str().to_owned(), OF_VERSION.into(), VERSION.into(), kind.into()];
    let words = first.into_iter().chain(words.iter().cloned()).collect();
    Ok(Some(GuestCommand { engine: engine.to_owned(), words, module }))
}

/// The command that runs a script which comes by its input, with so much processor time, in a cage with so much memory.
pub fn code_command(engine: &Path, time: Duration, memory_mb: Option<u64>) -> Vec<OsString> {
    let seconds = time.as_secs().max(1).to_string();
    let mut words = vec![OF_VERSION, VERSION, "--max-cpu", &seconds];
    // What a smaller cage leaves is less.
    if memory_mb.is_none_or(|memory_mb| memory_mb >= ROOMY_MB) {
        words.extend(["--max-memory", MEMORY_OF_CODE]);
    }
    words.push("code");
    let words = words.into_iter().map(OsString::from);
    std::iter::once(engine.as_os_str().to_owned()).chain(words).collect()
}

/// The same words with the engine held to what is below the memory of its cage, so that a guest fails by name before the
/// whole cage is killed. Words that start no guest stay as they are.
pub fn within_memory(words: &[OsString], memory_mb: Option<u64>) -> Vec<OsString> {
    let mut words = words.to_vec();
    let is_guest = matches!(words.as_slice(), [first, second, ..] if second == OF_VERSION && *first == *engine());
    if let Some(memory_mb) = memory_mb.filter(|_| is_guest) {
        // What the engine itself takes is some megabytes, and files in memory count as well.
        let kept_back = (memory_mb / 8).max(RESERVE_MB).min(memory_mb / 2);
        let bytes = memory_mb.saturating_sub(kept_back).saturating_mul(1 << 20);
        let most = ["--max-memory".into(), bytes.min(MOST_MEMORY).to_string().into()];
        words.splice(OPTIONS_AT..OPTIONS_AT, most);
    }
    words
}

/// Where the program that runs guests is, or should be: beside the program of ours that asks.
pub fn engine() -> PathBuf {
    engine_beside(&std::env::current_exe().unwrap_or_default())
}

/// The same, beside this `stockade`.
pub fn engine_beside(stockade: &Path) -> PathBuf {
    if let Some(named) = std::env::var_os("STOCKADE_GUEST").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return std::path::absolute(&named).unwrap_or(named);
    }
    stockade.with_file_name("stockade-guest")
}

/// How a file begins.
enum Start {
    Module,
    Script(Interpreter),
    Other,
}

/// Whom the first line of a script names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpreter {
    /// What runs guests, by `stockade js` and nothing more: a script does not say what its own cage has.
    Guests,
    Node,
    Other,
}

fn start_of(path: &Path) -> std::io::Result<Start> {
    // Opening a pipe would wait for somebody to write.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(Start::Other);
    }
    let mut start = Vec::new();
    File::open(path)?.take(LONGEST_FIRST_LINE).read_to_end(&mut start)?;
    Ok(match start.as_slice() {
        [0, b'a', b's', b'm', ..] => Start::Module,
        [b'#', b'!', rest @ ..] => {
            let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            Start::Script(interpreter(&String::from_utf8_lossy(line)))
        }
        _ => Start::Other,
    })
}

fn interpreter(line: &str) -> Interpreter {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    if words.first().is_some_and(|first| name(first) == "env") {
        words.remove(0);
        if words.first() == Some(&"-S") {
            words.remove(0);
        }
    }
    let Some((first, rest)) = words.split_first() else { return Interpreter::Other };
    match (name(first).as_str(), rest) {
        ("stockade" | "stockade-guest", ["js"]) => Interpreter::Guests,
        ("node" | "nodejs", []) => Interpreter::Node,
        _ => Interpreter::Other,
    }
}

fn is_named_javascript(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("js" | "mjs" | "cjs" | "ts" | "mts" | "cts"))
}

const WASM: &str = "wasm";
const JAVASCRIPT: &str = "js";
const POOL: &str = "pool";
/// The version of what runs guests, which is installed together with this.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const OF_VERSION: &str = "--of-version";
/// Behind the engine, and the version that it must be of.
const OPTIONS_AT: usize = 3;
/// For the engine beside what its guest has, in MiB.
const RESERVE_MB: u64 = 48;
/// What a script of an agent has, in bytes, where its cage has so many MiB or more.
const MEMORY_OF_CODE: &str = "268435456";
const ROOMY_MB: u64 = 512;
/// What a guest has where its cage has more, as `stockade-guest` has it by itself.
const MOST_MEMORY: u64 = 4 << 30;
/// As the kernel looks at.
const LONGEST_FIRST_LINE: u64 = 256;

#[cfg(test)]
mod tests;
