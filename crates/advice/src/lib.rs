//! What a caller is told, whoever asks: a command line or a client of the daemon. Errors of the
//! crates below become one kind of failure with help, words become rules, questions get answers.
//!
//! Decides nothing about a cage and never prints.
#![forbid(unsafe_code)]

pub mod acknowledged;
pub mod doctor;
pub mod failure;
pub mod flags;
pub mod guests;
mod hints;
pub mod interpreters;
pub mod limits;
pub mod notes;
pub mod opening;
pub mod paths;
pub mod proposal;
pub mod result;
pub mod view;
pub mod why;
pub mod workspaces;

pub use failure::{Failure, with_causes};
pub use hints::failed_start;
