//! `stockade serve`, seen from outside: every test starts the built program and talks to it with
//! plain requests, with `curl`, with `stockade` itself or with raw bytes. Every answer is held to the OpenAPI
//! document that the daemon serves. All of them work as root and as an unprivileged user.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it"
)]

mod agreement;
mod approvals;
mod attachments;
mod cages;
mod clients;
mod deaths;
mod descriptors;
mod document;
mod exports;
mod files;
mod life;
mod limits;
mod outputs;
#[path = "../review/overlay.rs"]
#[expect(dead_code, reason = "reviews by the command use more of it")]
mod overlay;
mod plugins;
mod policies;
mod record;
mod refusals;
mod remains;
mod reviews;
mod serving;
mod sessions;
mod system;
mod tcp;
mod terminals;
mod uncaged;
