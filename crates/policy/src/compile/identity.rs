//! Who the program is: inside the ids that the caller has, so that what Git remembers of a file's owner holds on
//! both sides, or for root always the same ones; on the host the caller or an id that owns nothing. Never root, on
//! either side.

use plan::{GuestPath, Identity, IdentityMap};

use super::Invocation;
use crate::HostFacts;

/// The identity of a cage.
pub(super) fn identity(facts: &HostFacts) -> Identity {
    let home = match &facts.caller.home {
        Some(home) => GuestPath::same_as(home),
        None => GuestPath::new(FALLBACK_HOME).unwrap_or_else(|_| GuestPath::root()),
    };
    let caller = &facts.caller;
    let map = match caller.privileged {
        true => IdentityMap::Unowned,
        false => IdentityMap::Caller(caller.ids),
    };
    let inside = |id: u32| if caller.privileged || id == 0 { INSIDE_ID } else { id };
    let (uid, gid) = (inside(caller.ids.uid), inside(caller.ids.gid));
    Identity { uid, gid, user: USER.to_owned(), home, map }
}

/// The host name inside.
pub(super) fn hostname(invocation: &Invocation) -> String {
    let prefix: String = invocation.id.chars().take(PREFIX).collect();
    format!("stockade-{}", prefix.to_ascii_lowercase())
}

const INSIDE_ID: u32 = 1000;
const USER: &str = "agent";
const FALLBACK_HOME: &str = "/home/agent";

/// How many characters of the invocation name a cage to a person.
const PREFIX: usize = 8;
