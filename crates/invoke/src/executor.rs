//! An executor on this host: its manifest, and where its code is. Reads the manifest and looks where
//! the code lies; never starts it.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use manifest::{Manifest, ManifestErrors};
use plan::HostPath;
use policy::shown::shown;
use serde_json::Value;

use crate::files::{self, FileError, Pinned};

#[cfg(test)]
mod tests;

/// An executor whose code was found.
#[derive(Clone, Debug)]
pub struct Executor {
    /// What it declares.
    pub manifest: Manifest,
    /// Its entry, with every link resolved.
    pub code: HostPath,
    /// What its cage shows read-only: the directory of its manifest's file, or of its code where the manifest
    /// has none. It starts there.
    pub code_directory: HostPath,
    /// Files that must be what the manifest says they are.
    pub(crate) pinned: Vec<Pinned>,
}

/// Why there is no such executor.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The manifest cannot be read.
    #[error("the manifest `{}` cannot be read: {problem}", shown(.path.display()))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// It says something that makes no sense.
    #[error(transparent)]
    Manifest(#[from] ManifestErrors),
    /// Its code is not where it says.
    #[error("the code `{}`: {problem}", shown(.path.display()))]
    Code {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// One of its files is not where it says, or leads elsewhere.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Where the code of a manifest may lie.
#[derive(Clone, Copy)]
enum CodeLies {
    InDirectory,
    Anywhere,
}

impl Executor {
    /// Reads the manifest at a path: TOML, or JSON where the name ends in `.json`. Relative paths in it
    /// begin in its directory, which must hold its code: nobody else vouches for what a manifest shows.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |problem: String| LoadError::Unreadable { path: path.to_owned(), problem };
        let real = std::fs::canonicalize(path).map_err(|error| unreadable(error.to_string()))?;
        let text = read_bounded(&real).map_err(unreadable)?;
        let name = path.display().to_string();
        let manifest = if path.extension().is_some_and(|extension| extension == "json") {
            let value: Value = serde_json::from_slice(&text)
                .map_err(|error| unreadable(format!("it is not JSON: {error}")))?;
            Manifest::from_value(&name, &value)?
        } else {
            Manifest::from_toml(&name, &text)?
        };
        let directory =
            real.parent().ok_or_else(|| unreadable("it has no directory".to_owned()))?;
        Self::find(manifest, directory, CodeLies::InDirectory)
    }

    /// An executor whose manifest is a dictionary of the caller's. Relative paths in it begin in the directory;
    /// its code may lie anywhere.
    pub fn from_value(value: &Value, directory: &Path) -> Result<Self, LoadError> {
        Self::find(Manifest::from_value("manifest", value)?, directory, CodeLies::Anywhere)
    }

    /// Finds the code of a manifest. Relative paths begin in the directory.
    fn find(manifest: Manifest, directory: &Path, lies: CodeLies) -> Result<Self, LoadError> {
        let written = directory.join(&manifest.code);
        let wrong = |problem: String| LoadError::Code { path: written.clone(), problem };
        let failed = |error: std::io::Error| wrong(error.to_string());
        let above = written.parent().ok_or_else(|| wrong("it has no directory".to_owned()))?;
        let above = std::fs::canonicalize(above).map_err(failed)?;
        let code = std::fs::canonicalize(&written).map_err(failed)?;
        if !code.is_file() {
            return Err(wrong("it is not a file".to_owned()));
        }
        if !code.starts_with(&above) {
            return Err(wrong("it is a link that leads out of its directory".to_owned()));
        }
        let host_path = |path: PathBuf| {
            HostPath::new(path.into_os_string()).map_err(|error| wrong(error.to_string()))
        };
        let own = std::fs::canonicalize(directory).map_err(failed)?;
        let shown = match lies {
            CodeLies::InDirectory if code.starts_with(&own) => own.clone(),
            CodeLies::InDirectory => {
                return Err(wrong("it does not lie in the directory of the manifest".to_owned()));
            }
            CodeLies::Anywhere => above,
        };
        let pinned = files::pin(&manifest.files, &own, &shown)?;
        let (code, code_directory) = (host_path(code)?, host_path(shown)?);
        Ok(Self { manifest, code, code_directory, pinned })
    }

    /// The command that starts it: its interpreter and its code.
    pub fn command(&self) -> Vec<OsString> {
        self.manifest.command(&self.code).into_iter().map(OsString::from).collect()
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = Vec::new();
    let read = file.take(MOST_TEXT + 1).read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MOST_TEXT {
        return Err(format!("it is larger than {MOST_TEXT} bytes"));
    }
    Ok(text)
}

/// No manifest is longer.
const MOST_TEXT: u64 = 1 << 20;
