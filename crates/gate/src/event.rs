//! What the gatekeeper tells its supervisor about one cage. Names and fields are those of the record;
//! values that come from inside a cage are what they were normalised to, never raw bytes.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The start of the cage that it happened to.
    pub invocation_id: String,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", deny_unknown_fields)]
pub enum EventKind {
    /// A name was answered.
    #[serde(rename = "gatekeeper.dns_allowed")]
    DnsAllowed {
        /// The name.
        hostname: String,
        /// The first address that it stands for outside.
        resolved_ip: IpAddr,
    },
    /// A name was refused, and nobody was asked about it.
    #[serde(rename = "gatekeeper.dns_denied")]
    DnsDenied {
        /// The name, or as much of it as is one.
        hostname: String,
        /// The entry that refuses it, if it was one.
        rule: Option<String>,
        /// What kind of refusal it is, in its stable word.
        code: String,
        /// Why.
        reason: String,
    },
    /// A connection was made.
    #[serde(rename = "gatekeeper.tcp_allowed")]
    TcpAllowed {
        /// The name or address.
        target: String,
        /// The port.
        port: u16,
        /// The entry that allows it.
        rule: String,
        /// How it came.
        way: Route,
    },
    /// A connection was refused.
    #[serde(rename = "gatekeeper.tcp_denied")]
    TcpDenied {
        /// The name or address.
        target: String,
        /// The port.
        port: u16,
        /// The entry that refuses it, if it was one.
        rule: Option<String>,
        /// What kind of refusal it is, in its stable word.
        code: String,
        /// Why.
        reason: String,
        /// How it came.
        way: Route,
    },
    /// A datagram was refused.
    #[serde(rename = "gatekeeper.udp_denied")]
    UdpDenied {
        /// The address.
        target: IpAddr,
        /// The port.
        port: u16,
    },
    /// No resolver answered.
    #[serde(rename = "gatekeeper.upstream_unreachable")]
    UpstreamUnreachable {
        /// What was tried and what came of it.
        error: String,
    },
}

/// How a connection reached the gatekeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Without knowing of it.
    Transparent,
    /// As a SOCKS client.
    Socks,
    /// Through HTTP `CONNECT`.
    HttpConnect,
    /// As a request to an HTTP proxy.
    HttpProxy,
    /// To a port of the host's loopback.
    HostPort,
}

impl Route {
    /// Its word in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transparent => "transparent",
            Self::Socks => "socks",
            Self::HttpConnect => "http_connect",
            Self::HttpProxy => "http_proxy",
            Self::HostPort => "host_port",
        }
    }
}

/// What went through for one cage, and what did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Names answered.
    pub dns_allowed: u64,
    /// Names refused.
    pub dns_denied: u64,
    /// Connections made.
    pub tcp_allowed: u64,
    /// Connections refused.
    pub tcp_denied: u64,
    /// Datagrams refused.
    pub udp_denied: u64,
    /// Bytes that came to the cage.
    pub bytes_in: u64,
    /// Bytes that left it.
    pub bytes_out: u64,
}
