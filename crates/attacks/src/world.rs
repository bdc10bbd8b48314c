//! A network of its own for attacks on the gatekeeper: two network namespaces with a cable between
//! them. In the near one a program is started, caged or not, as if it were the host's; in the far one
//! stands the internet, with a resolver and servers that write down whose mark reaches them. The
//! machine's own network is never touched, and everything goes when the program has ended.

mod build;
mod marks;
mod names;
mod proxy;
mod servers;
mod zone;

use serde::{Deserialize, Serialize};

pub(crate) use build::world_main;
pub(crate) use names::{Question, read_addresses};
pub use zone::ALLOWED;
pub(crate) use zone::*;

/// One line of a world's output, among those of the program that was started in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WorldReport {
    /// The mark of an attack has reached a server that it should not reach.
    Arrived {
        /// The attack.
        mark: String,
        /// The server.
        at: String,
    },
    /// There is no world on this host.
    NoWorld {
        /// Why.
        reason: String,
    },
}
