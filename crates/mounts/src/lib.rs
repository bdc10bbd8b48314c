//! The process beside a cage that serves one of its mounts: it is told what to serve, jails itself, and answers the kernel
//! until nobody uses the mount any more.
//!
//! - A store in a file: the process has the directory of that file and nothing else of the host, and no network.
//! - A directory with a layer above it: the process has that directory, to be read, and the one with the layer, of which it
//!   may change what a program in the cage may. It has no network.
//! - A store far away: the process has the credential, no file, no network and no call that makes a socket. Another one,
//!   the dialer, has the network and no credential. It connects to that store's address alone, and hands connections over.
//!
//! Is started with one end of a channel as its standard input ([`fileserver::control`]) and an empty environment. Knows no
//! policy, and trusts neither the programs of the cage nor what a store says.
//!
//! [`ask_directly`] opens the same engine in the process of a person's own command, which is no cage's and has no jail.
#![forbid(unsafe_code)]

mod dialer;
mod engine;
mod layers;
mod server;

pub use engine::ask_directly;
pub use server::serve;

/// The word by which a program of ours knows that it is to be this process.
pub const COMMAND: &str = fileserver::control::COMMAND;
