//! What the second wall around files lets through. Carried out in full or reported as missing;
//! never in part without saying so.

use serde::{Deserialize, Serialize};

use crate::{Access, GuestPath};

/// The landlock rules of a cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandlockPlan {
    /// Paths inside the finished tree, each with all that lies below it.
    pub rules: Vec<LandlockRule>,
}

/// One hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandlockRule {
    /// Its top.
    pub at: GuestPath,
    /// Reading and starting programs, or everything.
    pub access: Access,
}
