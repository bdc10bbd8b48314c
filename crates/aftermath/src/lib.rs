//! What looks after a cage that has ended: [`quarantine`] renames what was planted in its writable
//! grants and would run on the host; the sweep removes what supervisors that are gone have left
//! behind. Starts nothing and never touches a cage that runs.
#![forbid(unsafe_code)]

pub mod quarantine;

mod sweep;

pub use sweep::{Swept, SweptKind, record_swept, sweep_groups, sweep_sessions};
