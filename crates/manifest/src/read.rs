//! A manifest from text (TOML) or from a plain dictionary (JSON): one shape, one reader, every error
//! at once. Never reads a file.

use serde_json::Value;

use crate::model::Manifest;

/// Everything that is wrong with a manifest; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ManifestErrors {
    /// The file as the user knows it.
    pub file: String,
    /// In the order of the text.
    pub errors: Vec<ManifestError>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// Counted from 1; none where the manifest is a dictionary.
    pub line: Option<u32>,
    /// The key that it is about, such as `capabilities[1].hints`; empty for the whole text.
    pub at: String,
    /// One sentence, safe to print.
    pub message: String,
    /// What to do, safe to print; may be empty.
    pub help: String,
}

impl Manifest {
    /// Reads the text of a manifest.
    pub fn from_toml(file: &str, text: &[u8]) -> Result<Self, ManifestErrors> {
        let _ = text;
        Err(ManifestErrors { file: file.to_owned(), errors: Vec::new() })
    }

    /// Reads a manifest that is a dictionary already.
    pub fn from_value(file: &str, value: &Value) -> Result<Self, ManifestErrors> {
        let _ = value;
        Err(ManifestErrors { file: file.to_owned(), errors: Vec::new() })
    }
}

impl std::fmt::Display for ManifestErrors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.file)
    }
}
