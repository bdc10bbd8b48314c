//! What a cage's network namespace is connected to. The namespace itself always exists and has
//! nothing but loopback; there is no variant that shares the host's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::destination::Destination;

/// The network of a cage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "network", deny_unknown_fields)]
pub enum NetworkPlan {
    /// The cage's own loopback and nothing else; no resolver, no listener.
    Loopback,
    /// Destinations reached through the gatekeeper.
    Gatekeeper(GatekeeperPlan),
}

/// What the gatekeeper holds a cage to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatekeeperPlan {
    /// Allowed destinations, in their order.
    pub allow: Vec<Destination>,
    /// Denied destinations; they win.
    pub deny: Vec<Destination>,
    /// What a person or a model is told about a denied host, by the host's text.
    pub reasons: BTreeMap<String, String>,
    /// Ports of the host's loopback that the cage's own loopback leads to, ascending. [`MODEL_PORT`] leads to the model
    /// service instead.
    pub host_ports: Vec<u16>,
    /// Ports of the cage's loopback that the host's loopback leads to, ascending.
    pub publish: Vec<u16>,
}

/// A socket that is made inside a cage's namespace and served by the gatekeeper outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SocketKind {
    /// Takes every TCP connection, each with the address that it was made to.
    Transparent {
        /// Its address family.
        family: Family,
    },
    /// Takes every TCP connection, translated to its own address.
    Redirected {
        /// Its address family.
        family: Family,
    },
    /// Takes TCP connections to one port of any address.
    PerPort {
        /// Its address family.
        family: Family,
        /// The port.
        port: u16,
    },
    /// Takes questions about names.
    Dns {
        /// Its address family.
        family: Family,
        /// How they come.
        transport: Transport,
    },
    /// Takes SOCKS clients.
    Socks,
    /// Takes HTTP proxy clients.
    HttpProxy,
    /// Takes connections to a port of the host's loopback.
    HostPort {
        /// Its address family.
        family: Family,
        /// The port, inside and outside.
        port: u16,
    },
    /// Tells about datagrams that were refused.
    DeniedUdp,
    /// Gives connections to ports inside, made by pid 1.
    Inward,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// How questions about names come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As datagrams.
    Udp,
    /// On connections.
    Tcp,
}

/// Where SOCKS clients find the gatekeeper on the cage's loopback.
pub const SOCKS_PORT: u16 = 1080;
/// Where HTTP proxy clients find it.
pub const HTTP_PROXY_PORT: u16 = 3128;
/// Where all other connections arrive.
pub const TRANSPARENT_PORT: u16 = 15001;

/// Where programs find the model service on the cage's loopback, in a cage that may use it. Among its `host_ports`, because
/// it leads out of the cage as they do; yet to a process of ours, never to the host's port of that number.
pub const MODEL_PORT: u16 = 3129;

/// The most ports of `host_ports`, and of `publish`: all sockets of a cage go to the gatekeeper in one
/// packet, which the kernel lets carry 253 descriptors.
pub const MOST_PORTS: usize = 48;

/// Ports of the cage's loopback that the gatekeeper needs for itself; no other use can have them.
pub const GATEKEEPER_PORTS: [u16; 4] = [53, SOCKS_PORT, HTTP_PROXY_PORT, TRANSPARENT_PORT];
