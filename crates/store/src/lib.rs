//! A file system that is kept in one `SQLite` file: an engine for [`vfs`], with snapshots that share what they have in
//! common.
//!
//! - [`Store`] is the engine. Names, owners and times are rows; contents are chunks, each kept once under its hash.
//! - What is written waits in a buffer of its file until that is closed, synced or too full, and goes to the database in
//!   one transaction. There is one writer; whoever reads has a connection of a pool.
//! - A sync returns when the log of the database is on the disk. What was committed before a crash is there after it, in
//!   the order in which it was committed.
//!
//! Nothing here serves a guest, decides who may do what or trusts what a damaged file says.
#![forbid(unsafe_code)]

mod check;
mod chunks;
mod contents;
mod database;
mod engine;
mod error;
mod fork;
mod marks;
mod names;
mod node;
mod open;
mod rename;
mod rows;
mod schema;
mod snapshots;
mod store;
mod xattrs;

pub use error::{Fault, StoreError};
pub use snapshots::{Snapshot, Unfinished};
pub use store::Store;
