//! What this machine can do for a call. Asked anew each time; nothing is kept.

use std::path::PathBuf;

use invoke::Availability;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// All of it, as JSON.
#[pyfunction]
pub(crate) fn status(py: Python<'_>, stockade: PathBuf) -> PyResult<String> {
    let status = py.detach(|| invoke::status(Some(&stockade)));
    serde_json::to_string(&status).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Builds a cage. Returns why it cannot be built; None where it was.
#[pyfunction]
pub(crate) fn available(py: Python<'_>, stockade: PathBuf) -> PyResult<Option<String>> {
    match py.detach(|| invoke::available(Some(&stockade))) {
        Ok(Availability::Available) => Ok(None),
        Ok(Availability::Unavailable { reason }) => Ok(Some(reason)),
        Err(error) => Err(PyRuntimeError::new_err(error.to_string())),
    }
}

/// Whether bubblewrap is installed.
#[pyfunction]
pub(crate) fn bwrap_available() -> bool {
    invoke::bwrap_available()
}

/// Which variable switches cages off, as a sentence; None where none does.
#[pyfunction]
pub(crate) fn disabled() -> Option<String> {
    invoke::disabled()
}
