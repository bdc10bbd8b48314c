//! What looks after a cage that has ended: an [`Aftermath`] looks at the host once, [`quarantine`] renames
//! what was planted in writable grants and would run there; the sweep removes what supervisors that are gone have left
//! behind. Starts nothing and never touches a cage that runs.
#![forbid(unsafe_code)]

pub mod quarantine;

mod look;
mod settings;
mod sweep;

pub use look::{Aftermath, Findings, Note};
pub use sweep::{Swept, SweptKind, record_swept, sweep_groups, sweep_sessions};
