//! The files of an executor and their digests: its code and what its manifest pins must be what they were
//! when the call was decided, whenever the executor is started.

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use manifest::CodeFile;
use plan::HostPath;
use policy::shown::shown;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// A file and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// With every link resolved.
    pub path: HostPath,
    /// In hexadecimal digits, lower case.
    pub sha256: String,
}

/// What is wrong with a file of an executor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file `{}` of the executor: {problem}", shown(.path.display()))]
pub struct FileError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// Where the files of a manifest are: in its own directory or that of its code, wherever links lead.
pub(crate) fn pin(files: &[CodeFile], own: &Path, code: &Path) -> Result<Vec<Pinned>, FileError> {
    files
        .iter()
        .map(|file| {
            let written = own.join(&file.path);
            let wrong = |problem: String| FileError { path: written.clone(), problem };
            let real = std::fs::canonicalize(&written).map_err(|error| wrong(error.to_string()))?;
            if !real.starts_with(own) && !real.starts_with(code) {
                return Err(wrong("it does not lie in the executor's directory".to_owned()));
            }
            let path =
                HostPath::new(real.into_os_string()).map_err(|error| wrong(error.to_string()))?;
            Ok(Pinned { path, sha256: file.sha256.clone() })
        })
        .collect()
}

/// Whether every file is what it must be.
pub(crate) fn verify(files: &[Pinned]) -> Result<(), FileError> {
    files.iter().try_for_each(|Pinned { path, sha256 }| {
        if digest(path.as_path())? == *sha256 {
            return Ok(());
        }
        let problem = "it is not what it has to be: its digest differs";
        Err(FileError { path: path.as_path().to_owned(), problem: problem.to_owned() })
    })
}

/// The files that the manifest pins, and the code as it is now: this very code runs, or none.
pub(crate) fn as_they_are(code: &HostPath, pinned: &[Pinned]) -> Result<Vec<Pinned>, FileError> {
    verify(pinned)?;
    let mut files = pinned.to_vec();
    if !files.iter().any(|file| file.path == *code) {
        files.push(Pinned { path: code.clone(), sha256: digest(code.as_path())? });
    }
    Ok(files)
}

/// Reads a regular file that no link leads to.
fn digest(path: &Path) -> Result<String, FileError> {
    let wrong = |problem: String| FileError { path: path.to_owned(), problem };
    let failed = |error: std::io::Error| wrong(error.to_string());
    if std::fs::canonicalize(path).map_err(failed)? != path {
        return Err(wrong("a link leads to it now".to_owned()));
    }
    // A FIFO must not hang the reader.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(wrong("it is not a regular file".to_owned()));
    }
    let (mut file, mut sum) = (file.take(MOST_FILE + 1), Sha256::new());
    let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
    loop {
        let count = file.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            return Ok(hexadecimal(&sum.finalize()));
        }
        length += count as u64;
        if length > MOST_FILE {
            return Err(wrong(format!("it is larger than {MOST_FILE} bytes")));
        }
        sum.update(buffer.get(..count).unwrap_or_default());
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// No code of an executor is longer.
const MOST_FILE: u64 = 256 << 20;
