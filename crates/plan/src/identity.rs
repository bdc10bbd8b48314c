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
    /// Who that is on the host.
    pub map: IdentityMap,
}

/// Where the host ids come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IdentityMap {
    /// The unprivileged caller's own ids.
    Caller(HostIds),
    /// Root's cages act as ids that own nothing and differ from start to start
    /// ([`crate::Start::unowned`]).
    Unowned,
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
