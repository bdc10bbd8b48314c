//! The project's files, read once. Leaves out what `.gitignore` names at the root and what git
//! keeps for itself; never follows a symbolic link.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Every file of the project, by its path relative to the root.
pub(super) struct Tree {
    root: PathBuf,
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads all files below `root`.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let ignored = ignored_at_root(root);
        let mut files = BTreeMap::new();
        let mut open = vec![String::new()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(root.join(&directory))? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = match directory.as_str() {
                    "" => name.clone(),
                    parent => format!("{parent}/{name}"),
                };
                let kind = entry.file_type()?;
                if path == ".git" || name == COMPILED_PYTHON || ignored.contains(&path) {
                    continue;
                }
                if kind.is_dir() {
                    open.push(path);
                } else if kind.is_file() {
                    let bytes = fs::read(entry.path())?;
                    files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
        Ok(Self { root: root.to_path_buf(), files })
    }

    /// A tree that exists only in a test.
    #[cfg(test)]
    pub(super) fn of(root: &str, files: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { root: PathBuf::from(root), files: files.iter().map(owned).collect() }
    }

    /// Where the project lies on this machine.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or a directory lies at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.under(&below).next().is_some()
    }

    /// All files, sorted by path.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Files whose path starts with `prefix`.
    pub(super) fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.all().filter(move |(path, _)| path.starts_with(prefix))
    }

    /// The manifests of all crates that are shipped, or that what is shipped is tested with.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        let folders = ["crates/", "bindings/"];
        let is_crate = move |path: &str| folders.iter().any(|folder| path.starts_with(folder));
        self.ending("/Cargo.toml").filter(move |(path, _)| is_crate(path))
    }

    /// Every file of code: Rust and Python.
    pub(super) fn code(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().filter(|(path, _)| path.ends_with(".rs") || path.ends_with(".py"))
    }

    /// Files whose path ends in `suffix`.
    pub(super) fn ending<'a>(
        &'a self,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.all().filter(move |(path, _)| path.ends_with(suffix))
    }
}

/// Whether a file of code holds nothing but tests.
pub(super) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

/// Where Python keeps what it has compiled, beside each file.
const COMPILED_PYTHON: &str = "__pycache__";

/// The rooted lines of `.gitignore`, without their slashes. The one line of another kind is for
/// [`COMPILED_PYTHON`].
fn ignored_at_root(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let rooted = |line: &str| Some(line.trim().strip_prefix('/')?.trim_end_matches('/').to_owned());
    text.lines().filter_map(rooted).collect()
}
