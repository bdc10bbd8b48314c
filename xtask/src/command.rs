//! Programs that the checks start, and how that can fail. Never through a shell.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a check could not be carried out; a check that found something is no failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A program could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// Which one.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program that had to succeed did not.
    #[error("`{program}` failed: {status}")]
    Status {
        /// Which one, with its arguments.
        program: String,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// A program took too long and was killed.
    #[error("`{program}` was killed after {seconds} s")]
    Time {
        /// Which one.
        program: String,
        /// How long it had.
        seconds: u64,
    },
    /// Files could not be read or copied.
    #[error(transparent)]
    Files(#[from] io::Error),
    /// What cargo printed was not what it documents.
    #[error("cargo printed something else than JSON messages: {0}")]
    Messages(#[from] serde_json::Error),
    /// The command line makes no sense, or the machine lacks what it asks for.
    #[error("{0}")]
    Usage(String),
}

/// The cargo that runs us.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Whether a program is installed: it starts and answers `--version`.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a program with our output as its output and says whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, Failure> {
    let status = command.status().map_err(|source| start_failure(command, source))?;
    Ok(status.success())
}

/// Runs a program that must succeed, with our standard error, and returns what it printed.
pub(crate) fn printed_by(command: &mut Command) -> Result<String, Failure> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|source| start_failure(command, source))?;
    if !output.status.success() {
        let program = format!("{command:?}");
        return Err(Failure::Status { program, status: output.status });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The failure to start a command.
pub(crate) fn start_failure(command: &Command, source: io::Error) -> Failure {
    Failure::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}

/// Where cargo puts what it builds, which may be set by variables and files that only it knows.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf, Failure> {
    let mut metadata = cargo(root);
    metadata.args(["metadata", "--no-deps", "--format-version=1", "--locked"]);
    let metadata: serde_json::Value = serde_json::from_str(&printed_by(&mut metadata)?)?;
    let directory = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    directory
        .map(PathBuf::from)
        .ok_or_else(|| Failure::Usage("cargo tells no target directory".to_owned()))
}
