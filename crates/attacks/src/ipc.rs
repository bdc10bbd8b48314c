//! Attacks on what processes of one user share: sockets, memory, queues, pipes, locks.

mod channels;
mod objects;
mod sockets;

use crate::Attack;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[sockets::ATTACKS, objects::ATTACKS, channels::ATTACKS];
