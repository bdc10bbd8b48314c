//! What a cage's network namespace is connected to. The namespace itself always exists and has
//! nothing but loopback; there is no variant that shares the host's.

use serde::{Deserialize, Serialize};

/// The network of a cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "network", deny_unknown_fields)]
pub enum NetworkPlan {
    /// The cage's own loopback and nothing else; no resolver, no listener.
    Loopback,
    /// Destinations reached through the gatekeeper, in the normal form of the policy language.
    Gatekeeper {
        /// Allowed destinations.
        allow: Vec<String>,
        /// Denied destinations; they win.
        deny: Vec<String>,
    },
}
