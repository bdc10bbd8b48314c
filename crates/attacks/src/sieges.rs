//! Attacks on a cage from where it is started: races on its grants, its policy, its helpers, its
//! death, its limits.

mod daemon;
mod death;
mod grants;
mod limits;
mod network;
mod races;
mod start;
mod terminal;

pub(crate) use daemon::ask;

use crate::Siege;

/// The groups of this area.
pub(crate) const SIEGES: &[&[Siege]] = &[
    races::SIEGES,
    grants::SIEGES,
    death::SIEGES,
    start::SIEGES,
    limits::SIEGES,
    network::SIEGES,
    daemon::SIEGES,
    terminal::SIEGES,
];
