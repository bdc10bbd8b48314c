//! The record: what happened to every cage, in one log that shows when it was changed.
//!
//! One line of JSON for each event, each with the hash of the one before it; a signed statement of how
//! far the log was durable; files of bounded size. [`Log`] appends, for many threads and processes at
//! once. Never decides what is worth recording, and never finds its directory itself.
#![forbid(unsafe_code)]

mod commit;
mod directory;
mod error;
mod event;
mod hash;
mod head;
mod key;
mod line;
mod log;
mod tail;
mod text;
mod time;
mod writer;

pub use error::AuditError;
pub use event::{DaemonMode, Event, Limit, LimitValue, Reason, UncagedReason, Usage};
pub use hash::Hash;
pub use head::Head;
pub use line::{LONGEST_LINE, Line, LineError};
pub use log::{Log, Position};
pub use text::{Bounded, LongText, Name, Text, Unescaped};
pub use time::Timestamp;
