//! Attacks on other processes: their memory, their signals, their limits; and on one's own
//! privileges.

mod memory;
mod priorities;
mod privileges;
mod signals;

use crate::Attack;

pub(crate) use priorities::SLOW_EVERYTHING;
pub(crate) use signals::{EFFECTS, Effect, KILL_EVERYTHING};

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] =
    &[memory::ATTACKS, signals::ATTACKS, priorities::ATTACKS, privileges::ATTACKS];
