//! Attacks on the gatekeeper, from a cage with network: every route to a host that no entry names, in a
//! [world](crate::world) in which such hosts are and write down who reaches them. Each first shows
//! that its route is open to a host that is allowed: a cage without any network would hold everything
//! off and prove nothing.

mod addresses;
mod client;
mod datagrams;
mod hello;
mod host;
mod names;
mod nothing;
mod proxies;
mod questions;
mod rebinding;
mod requests;
mod tls;

use crate::Attack;

pub(crate) use addresses::reach;
pub(crate) use questions::CASE_CHANNEL;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[
    addresses::ATTACKS,
    names::ATTACKS,
    nothing::ATTACKS,
    tls::ATTACKS,
    proxies::ATTACKS,
    requests::ATTACKS,
    rebinding::ATTACKS,
    questions::ATTACKS,
    datagrams::ATTACKS,
    host::ATTACKS,
];

/// The cage that most of them attack: one host by name on two ports, names below others, and one of
/// those denied.
const USUAL: &str = r#"
net.allow = [
    "web.example:80", "web.example:443", "*.wild.example", "**.deep.example", "*.inward.example",
]
net.deny = ["bad.wild.example"]
"#;

/// An attack on that cage whose mark must not arrive.
const fn on_usual(
    id: &'static str,
    name: &'static str,
    summary: &'static str,
    function: fn(&crate::Scene<'_>) -> Result<crate::Outcome, crate::Refused>,
) -> Attack {
    Attack::new(id, name, summary, function).harms().in_world(USUAL)
}
