//! What a person reads about a cage: derived by the compiler, never read by an enforcer.

use serde::{Deserialize, Serialize};

/// One line, and what the grants came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// `cage[NAME@ID] fs=… net=… state=… mem=…mb walltime=…s`; has the id prefix, so it is not
    /// part of the hash.
    pub line: String,
    /// What weakens this cage compared with the default, one sentence each.
    pub reduced_isolation: Vec<String>,
}
