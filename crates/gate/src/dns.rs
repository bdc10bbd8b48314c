//! Names for a cage: questions on any address and port 53, answered with addresses that stand for the
//! name in that cage alone. A denied name is never sent to anybody, and nothing of what a resolver says
//! reaches a cage but whether the name has an address.
//!
//! `question`, `answer` and `reply` are pure; `upstream` asks, `cache` keeps, `respond` joins them with
//! the decision, and `server` holds the sockets.

pub mod answer;
pub mod cache;
pub mod question;
mod rate;
pub mod reply;
mod respond;
#[cfg(test)]
mod scripted;
pub mod server;
pub mod upstream;
mod wire;

pub use cache::{Addresses, Resolver};
pub use respond::{CageNames, Outside};
pub use server::{Server, Sockets};
pub use upstream::ResolveFailure;
pub(crate) use upstream::is_want_of_descriptors;
