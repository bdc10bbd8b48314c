//! The key of a provider, and where it is read from: a variable, a file or a command of the operator's. Wiped when it is
//! dropped. Never printed, never compared by anything but the requests that it is written into.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use thiserror::Error;
use zeroize::Zeroizing;

/// A key. What it is can only be asked by the code that writes requests.
#[derive(Clone)]
pub struct Key(Zeroizing<Vec<u8>>);

impl Key {
    /// From bytes that somebody has, such as a test.
    ///
    /// # Errors
    /// If they cannot be a key.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Result<Self, KeyError> {
        let end =
            bytes.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(end);
        let word = bytes.get(start..end).unwrap_or_default();
        match word {
            [] => Err(KeyError::Empty),
            // It would be found in every answer, and taken out of it.
            short if short.len() < FEWEST_BYTES => Err(KeyError::TooShort),
            long if long.len() > MOST_BYTES => Err(KeyError::TooLong),
            word if word.iter().all(u8::is_ascii_graphic) => {
                Ok(Self(Zeroizing::new(word.to_vec())))
            }
            _ => Err(KeyError::Characters),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(_)")
    }
}

/// Where a key is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The variable of this name in our own environment.
    Environment(String),
    /// A file that nobody but its owner may read.
    File(PathBuf),
    /// What a command prints.
    Command(Vec<String>),
}

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// No such variable.
    #[error("the variable `{0}` is not set")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the file of the key `{path}` cannot be read")]
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Others may read the file.
    #[error("others may read the file of the key `{0}`: `chmod 600` it first")]
    Readable(PathBuf),
    /// The command cannot be run.
    #[error("the command of the key `{program}` cannot be run")]
    Command {
        /// Its program.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The command failed.
    #[error("the command of the key `{program}` failed: {status}")]
    Failed {
        /// Its program.
        program: String,
        /// How it ended.
        status: String,
    },
    /// Nothing was there.
    #[error("the key is empty")]
    Empty,
    /// Hardly anything was there.
    #[error(
        "the key is shorter than {FEWEST_BYTES} characters: a server that needs none is named with the key `none`"
    )]
    TooShort,
    /// Too much was there.
    #[error("the key is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// Something was there that no key has.
    #[error("the key has characters that no key has")]
    Characters,
    /// The reference is not one.
    #[error("`{0}` names no key: write `env:NAME`, `file:PATH` or `command:PROGRAM ARGUMENT…`")]
    Reference(String),
}

impl KeySource {
    /// Whether there is something to read, as far as that is known without having it.
    ///
    /// # Errors
    /// If there is not.
    pub fn check(&self) -> Result<(), KeyError> {
        match self {
            Self::Environment(name) if std::env::var_os(name).is_none() => {
                Err(KeyError::NoVariable(name.clone()))
            }
            Self::File(path) => opened(path).map(drop),
            Self::Environment(_) | Self::Command(_) => Ok(()),
        }
    }

    /// Reads the key.
    ///
    /// # Errors
    /// If there is none.
    pub fn read(&self) -> Result<Key, KeyError> {
        match self {
            Self::Environment(name) => {
                let value =
                    std::env::var_os(name).ok_or_else(|| KeyError::NoVariable(name.clone()))?;
                Key::new(Zeroizing::new(value.into_encoded_bytes()))
            }
            Self::File(path) => of_file(path),
            Self::Command(words) => of_command(words),
        }
    }
}

impl FromStr for KeySource {
    type Err = KeyError;

    /// A reference, as `env:NAME`, `file:PATH` or `command:PROGRAM ARGUMENT…`.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        // A key that was given by mistake must not be printed.
        let refused = || {
            KeyError::Reference(
                text.split(':').next().unwrap_or_default().chars().take(8).collect(),
            )
        };
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Environment(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            Some(("command", words)) if !words.trim().is_empty() => {
                Ok(Self::Command(words.split_whitespace().map(str::to_owned).collect()))
            }
            _ => Err(refused()),
        }
    }
}

fn of_file(path: &PathBuf) -> Result<Key, KeyError> {
    let failed = |source| KeyError::File { path: path.clone(), source };
    Key::new(bounded(opened(path)?).map_err(failed)?)
}

/// The file, which nobody but its owner may read.
fn opened(path: &PathBuf) -> Result<File, KeyError> {
    let failed = |source| KeyError::File { path: path.clone(), source };
    // A pipe in its place must not hang us.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(nonblocking).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is no file")));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(KeyError::Readable(path.clone()));
    }
    Ok(file)
}

fn of_command(words: &[String]) -> Result<Key, KeyError> {
    let Some((program, arguments)) = words.split_first() else { return Err(KeyError::Empty) };
    let failed = |source| KeyError::Command { program: program.clone(), source };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let output = child.stdout.take().ok_or_else(|| failed(io::Error::other("it has no output")))?;
    let reader = std::thread::spawn(move || bounded(output));
    let status = wait(&mut child).map_err(failed)?;
    let bytes = reader
        .join()
        .map_err(|_| failed(io::Error::other("its output is lost")))?
        .map_err(failed)?;
    match status {
        Some(status) if status.success() => Key::new(bytes),
        Some(status) => {
            Err(KeyError::Failed { program: program.clone(), status: status.to_string() })
        }
        None => Err(KeyError::Failed {
            program: program.clone(),
            status: "it took too long".to_owned(),
        }),
    }
}

/// Waits for a command, which may ask the person something; kills it in the end.
fn wait(child: &mut Child) -> io::Result<Option<std::process::ExitStatus>> {
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
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All of it, up to more than any key has. The room is taken at once, so that no copy is left by growing.
fn bounded(source: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let most = MOST_BYTES + 256;
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    source.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

const FEWEST_BYTES: usize = 8;
const MOST_BYTES: usize = 8 << 10;
const COMMAND_TIME: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests;
