//! Attacks on other processes: their memory, their signals, their limits; and on one's own
//! privileges.

mod memory;
mod privileges;
mod signals;

use crate::Attack;

pub(crate) use signals::{EFFECTS, Effect, KILL_EVERYTHING};

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[memory::ATTACKS, signals::ATTACKS, privileges::ATTACKS];
