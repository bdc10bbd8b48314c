//! How a program that is a guest is started: by `stockade-guest`, a program of its own beside `stockade`, so that whoever
//! runs no guests carries no engines. Looks at the first bytes of a program and at its name; runs nothing. A26

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a caller says that a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A guest of any kind, and nothing else: what it is, is found out.
    Any,
    /// A module of WebAssembly.
    Wasm,
    /// JavaScript.
    JavaScript,
}

impl FromStr for Language {
    type Err = NotALanguage;

    fn from_str(word: &str) -> Result<Self, NotALanguage> {
        match word {
            "any" => Ok(Self::Any),
            "wasm" => Ok(Self::Wasm),
            "js" => Ok(Self::JavaScript),
            _ => Err(NotALanguage),
        }
    }
}

/// A word that names no kind of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guests are `wasm`, `js` or `any`")]
pub struct NotALanguage;

/// How a guest is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCommand {
    /// What runs it, which the cage has to show.
    pub engine: PathBuf,
    /// The whole command.
    pub words: Vec<OsString>,
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

/// The command that starts these words as a guest, if that is what they are. Without a language only a file with a slash in
/// its name is looked at, as only that is started without a search.
///
/// # Errors
///
/// If it must be a guest and is none, or nothing runs guests here.
pub fn command(
    language: Option<Language>,
    words: &[OsString],
) -> Result<Option<GuestCommand>, GuestError> {
    let Some(program) = words.first() else { return Ok(None) };
    let path = Path::new(program);
    let kind = match language {
        Some(Language::Wasm) => WASM,
        Some(Language::JavaScript) => JAVASCRIPT,
        Some(Language::Any) => match is_module(path) {
            Ok(true) => WASM,
            Ok(false) if is_named_javascript(path) => JAVASCRIPT,
            Ok(false) => return Err(GuestError::NotAGuest(path.to_owned())),
            Err(error) => return Err(GuestError::Unreadable { path: path.to_owned(), error }),
        },
        None if program.as_bytes().contains(&b'/') && is_module(path).unwrap_or(false) => WASM,
        None => return Ok(None),
    };
    let engine = engine();
    if !engine.is_file() {
        return Err(GuestError::NoEngine(engine));
    }
    let first =
        [engine.clone().into_os_string(), "--of-version".into(), VERSION.into(), kind.into()];
    let words = first.into_iter().chain(words.iter().cloned()).collect();
    Ok(Some(GuestCommand { engine, words }))
}

/// Where the program that runs guests is, or should be.
fn engine() -> PathBuf {
    if let Some(named) = std::env::var_os("STOCKADE_GUEST").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return std::path::absolute(&named).unwrap_or(named);
    }
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("stockade-guest")
}

fn is_module(path: &Path) -> std::io::Result<bool> {
    // Opening a pipe would wait for somebody to write.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start == b"\0asm")
}

fn is_named_javascript(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("js" | "mjs" | "cjs"))
}

const WASM: &str = "wasm";
const JAVASCRIPT: &str = "js";
const VERSION: &str = env!("CARGO_PKG_VERSION");
