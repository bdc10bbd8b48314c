//! The hash of a Plan: what two starts of the same cage have in common. Covers the walls whole and
//! nothing of the start, so it names no field.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha512_256};

use crate::Plan;
use crate::seccomp::hexadecimal;

#[cfg(test)]
mod tests;

/// SHA-512/256 of a Plan's walls, as 64 hexadecimal digits. Not SHA-256: a processor without
/// instructions of its own for that takes twice as long, and a cage of a thousand grants has a long text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanHash(String);

impl PlanHash {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Plan {
    /// The hash that names this cage in the audit log: of the walls as JSON without white space.
    ///
    /// Fields are in the order of the types and not of any text that a Plan was read from, so that nothing
    /// has to be sorted, which would cost more than the rest together.
    pub fn hash(&self) -> PlanHash {
        // Writing numbers, strings and lists into memory cannot fail.
        let canonical = serde_json::to_vec(&(self.version, &self.walls)).unwrap_or_default();
        PlanHash(hexadecimal(&Sha512_256::digest(canonical)))
    }
}
