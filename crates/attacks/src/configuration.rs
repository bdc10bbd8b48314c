//! Attacks on what a cage was told: its environment, the doors through which more of it could be
//! read, and cages that it asks for itself. (Attacks on the policy file stand with the protected files.)

mod environment;
mod nesting;

use crate::Attack;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[environment::ATTACKS, nesting::ATTACKS];
