//! Built-in profiles: a profile is policy text, made of what is installed and configured on this host
//! for this user, with a comment on each part that says why it is there.
//!
//! Everything here ends in text, which goes through the same parser as any policy and says nothing that
//! the user's own configuration could not say. What is on this host is asked of [`Host`] alone. Nothing
//! that lies in the project decides what a profile shows: a tool chain is found by the user's `PATH`,
//! variables and home. Never starts a program, and never writes a file.
#![forbid(unsafe_code)]

pub mod agents;

mod address;
mod built_in;
mod clients;
mod draft;
mod host;
mod init;
mod project;
mod registries;
mod search_path;
mod toolchains;

#[cfg(test)]
mod tests;

pub use built_in::{BUILT_IN, Known, code, known};
pub use draft::{Draft, Table, Word};
pub use host::Host;
pub use init::project_policy;
