//! Attacks on a cage from where it is started: races on its grants, its policy, its helpers, its
//! death, its limits, and what the host does after it.

mod aftermath;
mod daemon;
mod death;
mod grants;
mod layers;
mod limits;
mod network;
mod races;
mod served;
mod start;
mod streams;
mod terminal;

use crate::Scenario;

/// The groups of this area.
const SCENARIOS: &[&[Scenario]] = &[
    races::SCENARIOS,
    grants::SCENARIOS,
    layers::SCENARIOS,
    served::SCENARIOS,
    aftermath::SCENARIOS,
    death::SCENARIOS,
    start::SCENARIOS,
    streams::SCENARIOS,
    limits::SCENARIOS,
    network::SCENARIOS,
    daemon::SCENARIOS,
    terminal::SCENARIOS,
];

/// Every attack from the host's side.
pub fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS.iter().flat_map(|group| group.iter())
}

#[cfg(test)]
mod tests;
