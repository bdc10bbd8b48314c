//! The record: what happened to every cage, in one log that shows when it was changed.
//!
//! One line of JSON for each event, each with the hash of the one before it; a signed statement of how
//! far the log was durable; files of bounded size. [`Log`] appends, for many threads and processes at
//! once; [`Reader`] and [`follow`] read; [`verify`] says whether the log is what was written, here or,
//! with what [`export`] made of it, elsewhere. Never decides what is worth recording, and never finds
//! its directory itself.
#![forbid(unsafe_code)]

mod archive;
mod commit;
mod directory;
mod error;
mod event;
mod export;
mod filter;
mod follow;
mod hash;
mod head;
mod key;
mod line;
mod lines;
mod log;
mod once;
mod reader;
mod record;
mod removal;
mod retention;
pub mod schema;
mod seal;
mod tail;
mod text;
mod time;
mod verify;
mod writer;

pub use archive::ReadError;
pub use error::AuditError;
pub use event::{DaemonMode, Event, Limit, LimitValue, Reason, UncagedReason, Usage};
pub use export::{Export, ExportError, anchor, export};
pub use filter::{Filter, UnknownEvent};
pub use follow::{Follower, Start, follow};
pub use hash::Hash;
pub use head::Head;
pub use line::{LONGEST_LINE, Line, LineError};
pub use log::{Log, Position};
pub use once::Once;
pub use reader::{Reader, RecordError, Records};
pub use record::Record;
pub use removal::Removal;
pub use retention::{PruneError, Pruned, Retention};
pub use text::{Bounded, LongText, Name, Text, Unescaped};
pub use time::Timestamp;
pub use verify::{
    Broken, Expected, Fault, NotAKey, RecordedRemoval, Recovered, Verified, VerifyError, verify,
};
