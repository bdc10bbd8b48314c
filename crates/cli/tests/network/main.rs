//! What a cage with network reaches, seen from outside: real clients, real servers in a network
//! namespace of their own, and every way around that is known. All of it works as root and as an
//! unprivileged user, without touching the machine's own network.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by it"
)]

mod clients;
mod failures;
mod inward;
mod packages;
mod projects;
mod proxies;
mod sessions;
mod settings;
mod stopwatch;
#[path = "../behaviour/support.rs"]
#[expect(dead_code, reason = "tests without network use more of it")]
mod support;
mod ways_around;
mod world;
