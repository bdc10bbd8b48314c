//! Hints of a capability as the roots that they name. Lexical: nothing is looked up.

use std::path::PathBuf;

use manifest::hints::{ReadPath, read_path, roots};
use plan::HostPath;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The roots, each once, in their order. A hint that says nothing is left out; one that cannot be meant
/// well is a `ValueError`.
#[pyfunction]
pub(crate) fn expand_hints(hints: Vec<String>, home: Option<PathBuf>) -> PyResult<Vec<PathBuf>> {
    let wrong = |problem: &dyn std::fmt::Display| PyValueError::new_err(problem.to_string());
    let home = home.map(|home| HostPath::new(home.into_os_string()));
    let home = home.transpose().map_err(|error| wrong(&error))?;
    let mut read = Vec::new();
    for hint in &hints {
        match read_path(hint) {
            ReadPath::Hint(hint) => read.push(hint),
            ReadPath::Ignored(_) => {}
            ReadPath::Refused(problem) => {
                let hint = policy::shown::Shown(hint);
                return Err(wrong(&format_args!("the hint `{hint}` {problem}")));
            }
        }
    }
    Ok(roots(&read, home.as_ref()).iter().map(|root| root.as_path().to_owned()).collect())
}
