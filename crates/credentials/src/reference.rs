//! What refers to a credential: a variable, a file or a command of the user's. Read only when a store is to be asked, and
//! never printed.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::CredentialError;

/// Where a credential is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// In a variable of this process's environment.
    Variable(String),
    /// In a file that nobody but its owner may read.
    File(PathBuf),
    /// What a command prints.
    Command(Vec<String>),
}

impl Reference {
    /// Reads `env:NAME`, `file:PATH` or `command:PROGRAM ARGUMENT…`. `key` is where it is written: a credential that was
    /// written there by mistake is not shown.
    ///
    /// # Errors
    /// It is none of them.
    pub fn parse(text: &str, key: &str) -> Result<Self, CredentialError> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Variable(name.to_owned())),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::File(PathBuf::from(path))),
            Some(("command", words)) if !words.trim().is_empty() => {
                Ok(Self::Command(words.split_whitespace().map(str::to_owned).collect()))
            }
            _ => Err(CredentialError::Reference { key: key.to_owned() }),
        }
    }

    /// Whether it can be read, as far as that is known without starting anything.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self) -> Result<(), CredentialError> {
        match self {
            Self::Variable(_) | Self::File(_) => self.read().map(drop),
            Self::Command(_) => Ok(()),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is not there, others may read it, or it is no line of text.
    pub fn read(&self) -> Result<String, CredentialError> {
        let (text, from) = match self {
            Self::Variable(name) => {
                let text = std::env::var(name).ok().filter(|text| !text.is_empty());
                let missing = || CredentialError::NoVariable(name.clone());
                (text.ok_or_else(missing)?, format!("the variable `{name}`"))
            }
            Self::File(path) => (of_file(path)?, format!("`{}`", path.display())),
            Self::Command(words) => (of_command(words)?, "what the command printed".to_owned()),
        };
        let text = text.trim();
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(CredentialError::NotText(from));
        }
        Ok(text.to_owned())
    }
}

/// All of a file that nobody else may read.
pub(crate) fn of_file(path: &Path) -> Result<String, CredentialError> {
    let failed = |source| CredentialError::File { path: path.to_owned(), source };
    // A pipe in its place must not hang us.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(nonblocking).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is no file")));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(CredentialError::Open(path.to_owned()));
    }
    bounded(file).map_err(failed)
}

fn of_command(words: &[String]) -> Result<String, CredentialError> {
    let (program, arguments) =
        words.split_first().map_or(("", words), |(program, rest)| (program.as_str(), rest));
    let failed = |why: String| CredentialError::Command { program: program.to_owned(), why };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    // Whoever asks may hold signals back, and Ctrl-C is to end this too.
    sys::signal::restore_all_defaults_in(&mut command);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take().ok_or_else(|| failed("it has no output".to_owned()))?;
    let reader = std::thread::spawn(move || bounded(output));
    let status = wait(&mut child).map_err(|error| failed(error.to_string()))?;
    let text = match reader.join() {
        Ok(text) => text.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed("its output is lost".to_owned())),
    };
    match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(failed(status.to_string())),
        None => Err(failed("it took too long".to_owned())),
    }
}

/// Waits for a command, which may ask the person something; ends it when that takes too long.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + COMMAND_TIME;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

fn bounded(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

const LONGEST: u64 = 64 << 10;
const COMMAND_TIME: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
