//! Holds a cage to what its Plan lets it use: memory, processes and processor time.
//!
//! [`Limiter::discover`] finds the mechanism that this caller may use on this machine;
//! [`Limiter::prepare`] makes a [`Group`] for one cage before it starts, and [`Group::adopt`] puts
//! the cage's first process into it behind the shut start gate, so that no process of the cage was
//! ever outside. One file holds one mechanism: control groups of version 2 and of version 1, a scope
//! of systemd, and, where the operator allows it, resource limits of processes.
//!
//! Decides nothing: a limit that cannot be held is refused, or told as not held. Never touches a
//! control group that it has not made, and never follows a symbolic link to one. Time is not its
//! business: a watchdog of the supervisor holds the longest life.
#![forbid(unsafe_code)]

mod ancestry;
mod announcement;
mod backend;
pub mod dbus;
mod directory;
mod error;
mod group;
mod hierarchy;
mod limiter;
mod name;
mod numbers;
mod rlimits;
mod scope;
mod sweep;
mod usage;
mod v1;
mod v2;
mod watch;

pub use error::LimitsError;
pub use group::{Degradation, Group};
pub use limiter::{Degraded, Layer, Limiter, Mechanism};
pub use numbers::Limit;
pub use sweep::Swept;
pub use usage::Usage;
