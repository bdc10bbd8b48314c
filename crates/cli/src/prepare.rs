//! From a selected policy to a compiled cage, with failures in the words of the command line.

use std::ffi::OsString;

use cage::prepare::Selection;

use crate::failure::Failure;

pub(crate) use cage::prepare::Prepared;

/// Resolves and compiles.
pub(crate) fn prepare(selection: &Selection, argv: &[OsString]) -> Result<Prepared, Failure> {
    Ok(cage::prepare::prepare(selection, argv)?)
}
