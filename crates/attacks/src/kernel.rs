//! Attacks on the kernel's interfaces: calls that a cage has no use for, other ways to make them,
//! namespaces, socket families, terminals, and the filter itself.

mod abi;
mod calls;
mod filter;
mod groups;
mod namespaces;
mod resources;
mod sockets;
mod terminal;

use crate::Attack;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[
    terminal::ATTACKS,
    abi::ATTACKS,
    namespaces::ATTACKS,
    calls::ATTACKS,
    sockets::ATTACKS,
    filter::ATTACKS,
    groups::ATTACKS,
    resources::ATTACKS,
];
