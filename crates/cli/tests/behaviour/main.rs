//! What `stockade` does, seen from outside: every test starts the built program. One file per
//! behaviour; all of them work as root and as an unprivileged user, and leave nothing behind.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it"
)]

mod aftermath;
mod agents;
mod audit;
mod background;
mod bwrap;
mod check;
mod cleanup;
mod commands;
mod concurrency;
mod copy_on_write;
mod doctor;
mod environment;
mod exit_codes;
mod explain;
mod files;
mod filesystem;
mod floods;
mod git;
mod guests;
mod guests_cached;
mod guests_hostile;
mod identity;
mod init;
mod learn;
mod leases;
mod limits;
mod model_service;
mod notes;
mod pages;
mod plugins;
mod policy_errors;
mod profiles;
mod protected;
mod record;
mod said;
mod session_files;
mod sessions;
mod signals;
mod snapshots;
mod spawn;
mod streams;
mod support;
mod terminal;
mod tour;
mod trees;
mod trust;
mod uncaged;
mod undated;
mod walltime;
mod why;
