//! Executors with manifests, seen from outside: real Python programs in real cages, called by the built
//! `stockade` or through the library. All of it works as root and as an unprivileged user.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it"
)]

mod answers;
mod approvals;
mod authority;
mod ends;
mod executor;
mod guests;
mod links;
mod pages;
mod refusals;
mod sealed;
#[path = "../behaviour/support.rs"]
#[expect(dead_code, reason = "tests without manifests use more of it")]
mod support;
mod threads;
mod uncaged;
mod wrapped;
