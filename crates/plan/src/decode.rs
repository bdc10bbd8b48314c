//! A Plan as bytes, for the socket between a caller and its launcher. What [`decode`] returns has passed
//! every check that an enforcer relies on; it never repairs or guesses.

use serde::Deserialize;

use crate::check::PlanDefect;
use crate::{PLAN_VERSION, Plan};

/// The most bytes that [`decode`] looks at: room for some thirty thousand grants.
pub const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Why bytes are not a Plan that can be carried out.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// More bytes than any real Plan has.
    #[error("the plan has {bytes} bytes, more than {MAX_PLAN_BYTES}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
    },
    /// Not JSON, or not the shape of a Plan.
    #[error("the plan is malformed")]
    Malformed(#[source] serde_json::Error),
    /// Made by another release.
    #[error("the plan has version {found}, this program takes {PLAN_VERSION}")]
    Version {
        /// The version it says it has.
        found: u32,
    },
    /// Well formed, and no cage could be built from it safely.
    #[error("the plan cannot be carried out")]
    Defect(#[from] PlanDefect),
}

/// The bytes of a Plan: JSON.
pub fn encode(plan: &Plan) -> Vec<u8> {
    // Writing numbers, strings and lists into memory cannot fail.
    serde_json::to_vec(plan).unwrap_or_default()
}

/// Reads and checks a Plan.
pub fn decode(bytes: &[u8]) -> Result<Plan, DecodeError> {
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(DecodeError::TooLarge { bytes: bytes.len() });
    }
    let plan: Plan = serde_json::from_slice(bytes).map_err(|error| {
        // Another version has another shape; that it is another one says more than what differs.
        match serde_json::from_slice(bytes) {
            Ok(VersionOnly { version }) if version != PLAN_VERSION => {
                DecodeError::Version { found: version }
            }
            _ => DecodeError::Malformed(error),
        }
    })?;
    if plan.version != PLAN_VERSION {
        return Err(DecodeError::Version { found: plan.version });
    }
    plan.check()?;
    Ok(plan)
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

#[cfg(test)]
mod tests;
