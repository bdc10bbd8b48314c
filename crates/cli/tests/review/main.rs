//! Reviews of what a program changed in a copy-on-write view, through the built `stockade`: what is shown, what is
//! brought to the host and what is not, and what a hostile program can do about it. All of it works as root and as an
//! unprivileged user.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by it"
)]

mod applying;
mod crashes;
mod fixture;
mod hostile;
mod looking;
mod overlay;
mod runs;
mod sessions;
#[path = "../behaviour/support.rs"]
#[expect(dead_code, unused_imports, reason = "tests without reviews use more of it")]
mod support;
mod terminal;
