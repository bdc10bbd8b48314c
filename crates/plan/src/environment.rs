//! One variable of the program's environment. Never read from this process's own.

use serde::{Deserialize, Serialize};

use crate::ByteString;

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentVariable {
    /// Not empty, without `=` and NUL.
    pub name: ByteString,
    /// Without NUL.
    pub value: ByteString,
}
