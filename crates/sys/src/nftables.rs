//! The packet rules of a closed namespace, written to nf_tables in one batch: all of them hold, or
//! none. They only lead and tell; that nothing leaves is the routes' doing, with or without them.
//! Knows this one set of rules, with two ways to lead connections, and no other.
//!
//! ```text
//! table inet stockade {
//!   chain arrivals {                              chain output {
//!     type filter hook prerouting priority -150     type nat hook output priority -100
//!     meta l4proto != tcp accept
//!     tcp flags & (fin|syn|rst|ack) != syn accept
//!     <to the namespace itself> accept              <to the namespace itself> accept
//!     th dport 53 accept                            tcp dport 53 accept
//!     tproxy ip to 127.0.0.1:15001                  meta l4proto tcp redirect to :15001
//!     tproxy ip6 to [::1]:15001
//!   }                                             }
//!   chain audit {
//!     type filter hook output priority 0
//!     meta l4proto != udp accept
//!     th dport 53 accept
//!     <to the namespace itself> accept
//!     log group 1 snaplen 64
//!     reject
//!   }
//! }
//! ```

mod expressions;

use std::net::{Ipv4Addr, Ipv6Addr};

use rustix::io::Errno;

use crate::netlink::{ACK, CREATE, Message, Netlink, Subsystem};
use crate::route::{OWN_V4, OWN_V6};
pub(crate) use expressions::LOGGED_BYTES;
use expressions::{
    ACCEPT, EQUAL, Hook, NOT_EQUAL, assign, chain, compare, destination_address, destination_port,
    first_of_a_connection, log, protocol, redirect, reject, rule, table, verdict,
};

/// What the rules lead to, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadingRules {
    /// How connections are led.
    pub delivery: Delivery,
    /// The port of loopback that takes every TCP connection.
    pub transparent_port: u16,
    /// The group of the kernel's packet log that refused datagrams are told to.
    pub log_group: u16,
}

/// How a connection gets to the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Its first packet is given to the listener, which has to be a transparent one. The connection
    /// keeps the address it was made to, and no other packet of it is looked at.
    Assigned,
    /// It is translated to the listener's address, packet by packet.
    Translated,
}

/// Installs the rules in the current network namespace.
pub fn install(rules: LeadingRules) -> Result<(), Errno> {
    Netlink::open(Subsystem::Netfilter)?.request(batch(rules)).map_err(|refusal| refusal.errno)
}

/// Refusals of [`install`] that mean that the kernel, or whoever filters our calls, does not offer
/// nf_tables with what the rules need. Any other is a failure.
///
/// `EPERM` and `EACCES` come from call filters and security modules; `ENOENT` from a missing
/// expression or chain type, `EOPNOTSUPP` from an nfnetlink without nf_tables, `EAFNOSUPPORT` from
/// an nf_tables without the family of both, `EPROTONOSUPPORT` from a kernel without nfnetlink.
pub fn is_unavailable(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::PERM
            | Errno::ACCESS
            | Errno::NOENT
            | Errno::OPNOTSUPP
            | Errno::PROTONOSUPPORT
            | Errno::AFNOSUPPORT
    )
}

/// The whole batch. Only its last message but one asks for an acknowledgement: a refusal comes for
/// any of them, and acknowledgements come when all are in force.
fn batch(rules: LeadingRules) -> Vec<Message> {
    let mut messages = vec![expressions::begin(), table()];
    match rules.delivery {
        Delivery::Assigned => messages.extend(assignment(rules.transparent_port)),
        Delivery::Translated => messages.extend(translation(rules.transparent_port)),
    }
    messages.push(chain(AUDIT, b"filter\0", Hook::Output, 0));
    messages.push(rule(AUDIT, CREATE, |list| verdict(protocol(list, NOT_EQUAL, UDP), ACCEPT)));
    messages.push(rule(AUDIT, CREATE, |list| verdict(destination_port(list, DNS_PORT), ACCEPT)));
    messages.extend(own_destinations(AUDIT));
    messages.push(rule(AUDIT, CREATE, |list| log(list, rules.log_group)));
    messages.push(rule(AUDIT, CREATE | ACK, reject));
    messages.push(expressions::end());
    messages
}

fn assignment(port: u16) -> Vec<Message> {
    let mut messages = vec![chain(ARRIVALS, b"filter\0", Hook::Prerouting, MANGLE_PRIORITY)];
    messages.push(rule(ARRIVALS, CREATE, |list| verdict(protocol(list, NOT_EQUAL, TCP), ACCEPT)));
    messages.push(rule(ARRIVALS, CREATE, |list| {
        verdict(first_of_a_connection(list, NOT_EQUAL), ACCEPT)
    }));
    messages.extend(own_destinations(ARRIVALS));
    messages.push(rule(ARRIVALS, CREATE, |list| verdict(destination_port(list, DNS_PORT), ACCEPT)));
    messages.push(rule(ARRIVALS, CREATE, |list| assign(list, Ipv4Addr::LOCALHOST.into(), port)));
    messages.push(rule(ARRIVALS, CREATE, |list| assign(list, Ipv6Addr::LOCALHOST.into(), port)));
    messages
}

fn translation(port: u16) -> Vec<Message> {
    let mut messages = vec![chain(OUTPUT, b"nat\0", Hook::Output, NAT_PRIORITY)];
    messages.extend(own_destinations(OUTPUT));
    messages.push(rule(OUTPUT, CREATE, |list| {
        verdict(destination_port(protocol(list, EQUAL, TCP), DNS_PORT), ACCEPT)
    }));
    messages.push(rule(OUTPUT, CREATE, |list| redirect(protocol(list, EQUAL, TCP), port)));
    messages
}

/// What the namespace's programs offer each other stays among them.
fn own_destinations(chain: &'static [u8]) -> [Message; 4] {
    let own = |address: std::net::IpAddr, octets: &[u8]| {
        rule(chain, CREATE, |list| {
            let length = u32::try_from(octets.len()).unwrap_or_default();
            verdict(compare(destination_address(list, address, length), EQUAL, octets), ACCEPT)
        })
    };
    [
        own(Ipv4Addr::LOCALHOST.into(), &[127]),
        own(OWN_V4.into(), &OWN_V4.octets()),
        own(Ipv6Addr::LOCALHOST.into(), &Ipv6Addr::LOCALHOST.octets()),
        own(OWN_V6.into(), &OWN_V6.octets()),
    ]
}

const ARRIVALS: &[u8] = b"arrivals\0";
const OUTPUT: &[u8] = b"output\0";
const AUDIT: &[u8] = b"audit\0";
const DNS_PORT: u16 = 53;
const MANGLE_PRIORITY: i32 = -150;
const NAT_PRIORITY: i32 = -100;
const TCP: u8 = 6;
const UDP: u8 = 17;
