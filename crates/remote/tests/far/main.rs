//! Files far away, through everything that a network does: servers of S3 and of Azure's store of others behind a proxy that breaks answers,
//! and a server that speaks Google Drive's interface and breaks its own.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod azure;
mod azure_notes;
mod azure_server;
mod behaviour;
mod drive;
mod drive_notes;
mod drive_server;
mod faults;
mod notes;
mod s3;
mod s3_notes;
mod s3_server;
mod server;
