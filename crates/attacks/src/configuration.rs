//! Attacks on what a cage was told: its environment, and the doors through which more of it could
//! be read. (Attacks on the policy file stand with the protected files.)

mod environment;

use crate::Attack;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[environment::ATTACKS];
