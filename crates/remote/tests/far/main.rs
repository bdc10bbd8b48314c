//! Files far away, through everything that a network does: an S3 server of others behind a proxy that breaks answers,
//! and a server that speaks Google Drive's interface and breaks its own.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod behaviour;
mod drive;
mod drive_server;
mod faults;
mod s3;
mod server;
