//! Large results: their whole text goes to a file that the model can read in parts, and its beginning and end are
//! shown. Never writes where the tools' own root does not lead.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, ToolError};

/// Where large results go, and what is large.
#[derive(Debug)]
pub struct Spill {
    directory: Option<PathBuf>,
    most: usize,
    count: AtomicU64,
}

/// A result, as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spilled {
    /// All of it, or its beginning and end.
    pub text: String,
    /// Where all of it is, if it is not in `text`.
    pub file: Option<String>,
}

impl Spill {
    /// Results of more than so many bytes go to files in a directory of the process that runs the tools; without one,
    /// what is too much is cut.
    pub fn new(directory: Option<PathBuf>, most: usize) -> Self {
        Self { directory, most: most.max(LEAST), count: AtomicU64::new(0) }
    }

    /// Bounds a result.
    ///
    /// # Errors
    /// If it is too large even for a file.
    pub fn bound(&self, tool: &str, text: String) -> Result<Spilled, ToolError> {
        if text.len() <= self.most {
            return Ok(Spilled { text, file: None });
        }
        if text.len() > MOST_FILE {
            let text = format!("the result has more than {} MiB; ask for less", MOST_FILE >> 20);
            return Err(ToolError::new(ErrorKind::TooLarge, text));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let file = self.directory.as_ref().and_then(|directory| {
            let path = directory.join(format!("{tool}-{number}.txt"));
            write(&path, text.as_bytes()).ok()?;
            Some(path.to_string_lossy().into_owned())
        });
        let (head, tail) = (start(&text, self.most * 2 / 3), end(&text, self.most / 3));
        let left_out = text.len() - head.len() - tail.len();
        let lines = text.lines().count();
        let place = match &file {
            Some(path) => {
                format!("all {lines} lines are in `{path}`: `read` it with `offset`, or `grep` it")
            }
            None => format!("there were {lines} lines, and no place to keep them: ask for less"),
        };
        let text = format!("{head}\n[… {left_out} bytes are left out here; {place} …]\n{tail}");
        Ok(Spilled { text, file })
    }
}

fn write(path: &PathBuf, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    // A name that a program in the cage has planted is not followed.
    let _old = std::fs::remove_file(path);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)
}

/// The first so many bytes, without a cut letter.
fn start(text: &str, bytes: usize) -> &str {
    let at =
        (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text.get(..at).unwrap_or_default()
}

/// The last so many bytes, without a cut letter.
fn end(text: &str, bytes: usize) -> &str {
    let at = (text.len().saturating_sub(bytes)..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    text.get(at..).unwrap_or_default()
}

const LEAST: usize = 300;
const MOST_FILE: usize = 64 << 20;

#[cfg(test)]
mod tests;
