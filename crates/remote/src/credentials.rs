//! Credentials by reference: the name of a variable or of a file. Their text is in memory as long as a request needs it,
//! and in no message. A17

use std::path::PathBuf;

/// Where a credential is.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// In a variable of this process's environment.
    Variable(String),
    /// In a file, but for the space around it.
    File(PathBuf),
    /// Here, handed over by whoever may read it.
    Given(String),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(formatter, "Variable({name})"),
            Self::File(path) => write!(formatter, "File({})", path.display()),
            Self::Given(_) => formatter.write_str("Given(…)"),
        }
    }
}

/// Why a credential could not be had. It names where it was to be, and not what was found there.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is no such variable.
    #[error("the credential in the variable `{0}` is missing")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the credential in `{}` cannot be read: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Others may read it.
    #[error("the credential in `{}` can be read by others; fix it with `chmod 600`", .0.display())]
    Open(PathBuf),
    /// It is empty, or no line of text.
    #[error("the credential in `{0}` is not one line of text")]
    NotText(String),
}

impl Secret {
    /// Reads it.
    ///
    /// # Errors
    /// It is not there, others may read it, or it is no line of text.
    pub fn read(&self) -> Result<String, CredentialError> {
        let (text, from) = match self {
            Self::Variable(name) => {
                let missing = |_| CredentialError::NoVariable(name.clone());
                (std::env::var(name).map_err(missing)?, name.clone())
            }
            Self::File(path) => (read_file(path)?, path.display().to_string()),
            Self::Given(text) => (text.clone(), "the environment".to_owned()),
        };
        let text = text.trim();
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(CredentialError::NotText(from));
        }
        Ok(text.to_owned())
    }
}

fn read_file(path: &std::path::Path) -> Result<String, CredentialError> {
    use std::io::Read as _;
    let failed = |source| CredentialError::File { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let found = rustix::fs::fstat(&file).map_err(|errno| failed(errno.into()))?;
    if found.st_mode & 0o077 != 0 {
        return Err(CredentialError::Open(path.to_owned()));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

const LONGEST: u64 = 64 << 10;
