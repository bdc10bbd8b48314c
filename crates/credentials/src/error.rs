//! Why a credential could not be had. Names where it was to be, and never what was found there.

use std::path::PathBuf;

use policy::shown::shown;

/// Why a credential could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file of the configuration cannot be read.
    #[error("`{}` cannot be read: {source}", shown(path.display()))]
    Configuration {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file of the configuration makes no sense.
    #[error("`{}`: {why}", shown(path.display()))]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong, without what is written there.
        why: String,
    },
    /// A word that refers to nothing.
    #[error(
        "`{key}` in `mounts.toml` names no credential: write `env:NAME`, `file:PATH` or `command:PROGRAM ARGUMENT…`"
    )]
    Reference {
        /// The key of the file.
        key: String,
    },
    /// Nothing says what it is.
    #[error(
        "its credential is missing: set `{variable}` in the environment of `stockade`, or `{key}` in `mounts.toml` \
         beside your configuration"
    )]
    Missing {
        /// The variable that would say it.
        variable: &'static str,
        /// The key of the file that would.
        key: String,
    },
    /// There is no such variable.
    #[error("the credential in the variable `{0}` is missing")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the credential in `{}` cannot be read: {source}", shown(path.display()))]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Others may read the file.
    #[error("the credential in `{}` can be read by others; fix it with `chmod 600`", shown(.0.display()))]
    Open(PathBuf),
    /// The command did not say it.
    #[error("the command `{program}` gave no credential: {why}")]
    Command {
        /// Its program.
        program: String,
        /// Why not.
        why: String,
    },
    /// It is empty, or no line of text.
    #[error("the credential in {0} is not one line of text")]
    NotText(String),
    /// The files of Amazon's tools have no such profile.
    #[error("`{}` has no profile `{profile}` with a key", shown(path.display()))]
    NoProfile {
        /// Where it was looked for.
        path: PathBuf,
        /// Its name.
        profile: String,
    },
}
