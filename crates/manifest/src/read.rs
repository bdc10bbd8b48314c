//! A manifest from text (TOML) or from a plain dictionary (JSON): one shape, one reader, every error
//! at once. Never reads a file.

mod capabilities;
mod document;
mod tree;
mod typed;

use std::fmt;

use policy::shown::{Shown, shown};
use policy::text::words::meant;
use serde_json::Value;

pub(crate) use capabilities::{KEYS as CAPABILITY_KEYS, WHEN_KEYS};
pub(crate) use document::{FILE_KEYS, KEYS as MANIFEST_KEYS};
pub(crate) use typed::KEYS as ARGUMENT_KEYS;

use crate::model::Manifest;
use tree::{Node, Shape};

/// The most bytes of a manifest's text.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The most capabilities of a manifest, hints of a capability, arguments, files, and words of a list.
pub const MAX_ENTRIES: usize = 256;

/// The most errors that are reported at once.
pub const MAX_ERRORS: usize = 50;

/// Everything that is wrong with a manifest; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ManifestErrors {
    /// The file as the user knows it.
    pub file: String,
    /// In the order of the text, at most [`MAX_ERRORS`].
    pub errors: Vec<ManifestError>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// Counted from 1; none where the manifest is a dictionary.
    pub line: Option<u32>,
    /// The key that it is about, such as `capabilities[1].hints`, safe to print; empty for the whole
    /// text.
    pub at: String,
    /// One sentence, safe to print.
    pub message: String,
    /// What to do, safe to print; may be empty.
    pub help: String,
}

impl Manifest {
    /// Reads the text of a manifest.
    pub fn from_toml(file: &str, text: &[u8]) -> Result<Self, ManifestErrors> {
        let mut reader = Reader::default();
        let node = tree::from_toml(&mut reader, text);
        reader.finish(file, node)
    }

    /// Reads a manifest that is a dictionary already.
    pub fn from_value(file: &str, value: &Value) -> Result<Self, ManifestErrors> {
        let mut reader = Reader::default();
        let node = tree::from_json(&mut reader, value);
        reader.finish(file, node)
    }
}

impl fmt::Display for ManifestErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{}", Shown(&self.file))?;
            if let Some(line) = error.line {
                write!(formatter, ":{line}")?;
            }
            let at = if error.at.is_empty() { "" } else { ": " };
            write!(formatter, "{at}{}: {}", error.at, error.message)?;
            if !error.help.is_empty() {
                write!(formatter, "; {}", error.help)?;
            }
        }
        Ok(())
    }
}

/// Typed looks at a tree that report instead of failing, so that one pass finds every error.
#[derive(Default)]
struct Reader {
    errors: Vec<ManifestError>,
}

/// One entry of a table: a known key and its value.
struct Entry<'tree> {
    key: &'static str,
    at: String,
    node: &'tree Node,
}

impl Reader {
    fn finish(mut self, file: &str, node: Option<Node>) -> Result<Manifest, ManifestErrors> {
        let manifest = node.and_then(|node| document::read(&mut self, &node));
        match manifest {
            Some(manifest) if self.errors.is_empty() => Ok(manifest),
            _ => {
                if self.errors.is_empty() {
                    self.report(None, "", "the manifest cannot be read", "");
                }
                self.errors.sort_by_key(|error| error.line);
                Err(ManifestErrors { file: file.to_owned(), errors: self.errors })
            }
        }
    }

    fn report(&mut self, line: Option<u32>, at: &str, message: impl Into<String>, help: &str) {
        if self.errors.len() < MAX_ERRORS {
            let (at, help) = (shown(at), shown(help));
            self.errors.push(ManifestError { line, at, message: shown(message.into()), help });
        }
    }

    /// The entries of a table whose keys are known; the others are reported.
    fn entries<'tree>(
        &mut self,
        node: &'tree Node,
        at: &str,
        known: &'static [&'static str],
    ) -> Vec<Entry<'tree>> {
        let Some(table) = self.table(node, at) else { return Vec::new() };
        let mut entries = Vec::new();
        for (key, line, value) in table {
            let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            match known.iter().find(|known| *known == key) {
                Some(key) => entries.push(Entry { key, at: place, node: value }),
                None => {
                    let message = format!("there is no key `{key}` here");
                    self.report(*line, at, message, &choices(key, known.iter().copied()));
                }
            }
        }
        entries
    }

    fn table<'tree>(
        &mut self,
        node: &'tree Node,
        at: &str,
    ) -> Option<&'tree [(String, Option<u32>, Node)]> {
        match &node.shape {
            Shape::Table(entries) => Some(entries),
            _ => self.wrong(node, at, "a table"),
        }
    }

    fn text<'tree>(&mut self, node: &'tree Node, at: &str) -> Option<&'tree str> {
        match &node.shape {
            Shape::Text(text) => Some(text),
            _ => self.wrong(node, at, "a text"),
        }
    }

    /// A text of one line that is not empty.
    fn line<'tree>(&mut self, node: &'tree Node, at: &str) -> Option<&'tree str> {
        let text = self.text(node, at)?;
        if text.is_empty() || text.chars().any(char::is_control) || text.len() > LONGEST_LINE {
            let message = format!("must be one line of 1 to {LONGEST_LINE} bytes");
            self.report(node.line, at, message, "");
            return None;
        }
        Some(text)
    }

    fn list<'tree>(&mut self, node: &'tree Node, at: &str) -> Option<&'tree [Node]> {
        match &node.shape {
            Shape::List(items) if items.len() <= MAX_ENTRIES => Some(items),
            Shape::List(_) => {
                self.report(node.line, at, format!("has more than {MAX_ENTRIES} entries"), "");
                None
            }
            _ => self.wrong(node, at, "a list"),
        }
    }

    fn boolean(&mut self, node: &Node, at: &str) -> Option<bool> {
        match node.shape {
            Shape::Boolean(value) => Some(value),
            _ => self.wrong(node, at, "`true` or `false`"),
        }
    }

    /// One of a few words.
    fn word<T: Copy>(
        &mut self,
        node: &Node,
        at: &str,
        known: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Option<T> {
        let written = self.text(node, at)?;
        let known: Vec<(&str, T)> = known.into_iter().collect();
        let found = known.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let help = choices(written, known.iter().map(|(word, _)| *word));
            self.report(node.line, at, format!("there is no `{written}`"), &help);
        }
        found.map(|(_, value)| *value)
    }

    fn wrong<T>(&mut self, node: &Node, at: &str, expected: &str) -> Option<T> {
        let message = format!("must be {expected}, not {}", node.shape.name());
        self.report(node.line, at, message, "");
        None
    }
}

/// What there is, and what was likely meant.
fn choices<'word>(written: &str, known: impl IntoIterator<Item = &'word str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let listed: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    let listed = listed.join(", ");
    match meant(written, known) {
        Some(word) => format!("did you mean `{word}`? there are {listed}"),
        None => format!("there are {listed}"),
    }
}

const LONGEST_LINE: usize = 4096;

#[cfg(test)]
mod tests;
