//! Who the program is: always the same unprivileged user inside, and on the host the caller or an
//! id that owns nothing. Never root, on either side.

use plan::{GuestPath, Identity, IdentityMap};

use super::Invocation;
use crate::HostFacts;

/// The identity of a cage.
pub(super) fn identity(facts: &HostFacts, invocation: &Invocation) -> Identity {
    let prefix: String = invocation.id.chars().take(PREFIX).collect();
    let home = match &facts.caller.home {
        Some(home) => GuestPath::same_as(home),
        None => GuestPath::new(FALLBACK_HOME).unwrap_or_else(|_| GuestPath::root()),
    };
    let caller = &facts.caller;
    let map = match caller.privileged {
        true => IdentityMap::Unowned(invocation.unowned),
        false => IdentityMap::Caller(caller.ids),
    };
    Identity {
        uid: INSIDE_ID,
        gid: INSIDE_ID,
        user: USER.to_owned(),
        home,
        hostname: format!("stockade-{}", prefix.to_ascii_lowercase()),
        map,
    }
}

const INSIDE_ID: u32 = 1000;
const USER: &str = "agent";
const FALLBACK_HOME: &str = "/home/agent";

/// How many characters of the invocation name a cage to a person.
const PREFIX: usize = 8;
