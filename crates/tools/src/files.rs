//! Tools for files: one file for each, as they are called.

pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod write;

use crate::parameters::Kind;

/// A path.
pub(crate) const PATH: Kind = Kind::Text(4095);
/// The largest file that is read or changed as a whole.
pub(crate) const MOST_FILE: usize = 16 << 20;

#[cfg(test)]
pub(crate) mod tests;
