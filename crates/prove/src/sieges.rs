//! Attacks on a cage from where it is started: races on its grants, its policy, its helpers, its
//! death, its limits, and what the host does after it.

mod aftermath;
mod daemon;
mod death;
mod grants;
mod limits;
mod network;
mod races;
mod start;
mod streams;
mod terminal;

use crate::Siege;

/// The groups of this area.
const SIEGES: &[&[Siege]] = &[
    races::SIEGES,
    grants::SIEGES,
    aftermath::SIEGES,
    death::SIEGES,
    start::SIEGES,
    streams::SIEGES,
    limits::SIEGES,
    network::SIEGES,
    daemon::SIEGES,
    terminal::SIEGES,
];

/// Every attack from the host's side.
pub fn sieges() -> impl Iterator<Item = &'static Siege> {
    SIEGES.iter().flat_map(|group| group.iter())
}

#[cfg(test)]
mod tests;
