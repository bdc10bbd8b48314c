//! Where stores far away are asked, and by what. A17
//!
//! - [`Stores`] is what a user has configured: `mounts.toml` beside the configuration, which refers to credentials and has
//!   none; else the variables and files that the stores' own tools know.
//! - A [`Reference`] is a variable, a file or a command.
//!
//! What is read goes to the process that serves a mount, or into the request of a command on the host, and nowhere else: no
//! message has a credential, and nothing is kept.
#![forbid(unsafe_code)]

mod aws;
mod error;
mod file;
mod reference;
mod stores;

#[cfg(test)]
mod tests;

pub use error::CredentialError;
pub use reference::Reference;
pub use stores::Stores;
