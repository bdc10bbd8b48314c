//! What `stockade` does, seen from outside: every test starts the built program. One file per
//! behaviour; all of them work as root and as an unprivileged user, and leave nothing behind.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod aftermath;
mod audit;
mod bwrap;
mod check;
mod cleanup;
mod commands;
mod concurrency;
mod doctor;
mod environment;
mod exit_codes;
mod files;
mod floods;
mod identity;
mod leases;
mod limits;
mod notes;
mod pages;
mod plugins;
mod policy_errors;
mod protected;
mod record;
mod sessions;
mod signals;
mod streams;
mod support;
mod terminal;
mod trust;
mod uncaged;
mod undated;
mod walltime;
mod why;
