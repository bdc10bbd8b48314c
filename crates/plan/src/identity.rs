//! Who the program is: the ids it sees and the ids it acts with on the host.
//! INVARIANT: neither side is ever 0.

use serde::{Deserialize, Serialize};

use crate::GuestPath;

/// The program's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// User id inside.
    pub uid: u32,
    /// Group id inside.
    pub gid: u32,
    /// Login name inside.
    pub user: String,
    /// `HOME` inside.
    pub home: GuestPath,
    /// Host name inside; ends in a prefix of the invocation id, so it is not part of the hash.
    pub hostname: String,
    /// Who that is on the host.
    pub map: IdentityMap,
}

/// Where the host ids come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IdentityMap {
    /// The unprivileged caller's own ids.
    Caller(HostIds),
    /// Root's cages act as an id that owns nothing. It differs from cage to cage and is derived
    /// from the invocation, so it is not part of the hash.
    Unowned(HostIds),
}

impl IdentityMap {
    /// The ids that the program acts with on the host.
    pub fn host_ids(self) -> HostIds {
        match self {
            Self::Caller(ids) | Self::Unowned(ids) => ids,
        }
    }
}

/// A user and a group on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostIds {
    /// User id on the host; never 0.
    pub uid: u32,
    /// Group id on the host; never 0.
    pub gid: u32,
}
