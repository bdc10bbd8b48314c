//! The native module of the Python package: the library's functions for executors, with the interpreter
//! released while they wait. Never decides anything: what comes in and goes out is plain data, and
//! `executor.py` makes Python objects of it.
#![forbid(unsafe_code)]

mod approve;
mod call;
mod hints;
mod host;

use pyo3::prelude::*;

/// What `stockade.executor` and `stockade.sandbox` are made of; use those.
#[pymodule]
mod _stockade {
    #[pymodule_export]
    use crate::call::{bwrap_arguments, check, describe, invoke_executor, wrap};
    #[pymodule_export]
    use crate::hints::expand_hints;
    #[pymodule_export]
    use crate::host::{available, bwrap_available, disabled, status};
}
