//! Who lives where in a world: addresses, ports, and the names that the far resolver knows. The
//! addresses of hosts are out of ranges for documentation, which the gatekeeper takes for the
//! internet's. Plain data.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The host's own end of the cable.
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// The same in IPv6.
pub(crate) const HOST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
/// The host that is allowed by name; also where the resolver is.
pub const ALLOWED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);
/// The same in IPv6.
pub(crate) const ALLOWED6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);
/// A host that no entry names, and another resolver.
pub(crate) const DENIED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 3);
/// The same in IPv6.
pub(crate) const DENIED6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 3);
/// A machine in the host's private network.
pub(crate) const PRIVATE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// A cloud's service for its machines.
pub(crate) const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Where the resolver answers.
pub(crate) const DNS_PORT: u16 = 53;
/// Where far servers speak HTTP.
pub(crate) const HTTP_PORT: u16 = 80;
/// Where they take TLS.
pub(crate) const TLS_PORT: u16 = 443;
/// Where they take questions over TLS.
pub(crate) const DNS_TLS_PORT: u16 = 853;
/// A port of the allowed host that no entry names.
pub(crate) const OTHER_PORT: u16 = 8080;
/// Where services listen that are nobody's business: on the host itself and on machines of its
/// private networks. No public address has it.
pub(crate) const INWARD_PORT: u16 = 8000;
/// A port of the host's loopback that an entry can name.
pub(crate) const NAMED_PORT: u16 = 8001;
/// Where datagrams are taken.
pub(crate) const DATAGRAM_PORTS: [u16; 4] = [TLS_PORT, DNS_TLS_PORT, MULTICAST_DNS_PORT, 8125];
/// Where a group of neighbours takes them.
pub(crate) const MULTICAST_PORT: u16 = 5354;
/// Where names are asked of all neighbours.
pub(crate) const MULTICAST_DNS_PORT: u16 = 5353;
/// All neighbours that answer to names.
pub(crate) const NEIGHBOURS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
/// Where a cage finds a SOCKS proxy, and so does whoever is uncaged.
pub(crate) const SOCKS_PORT: u16 = 1080;
/// Where it finds an HTTP proxy.
pub(crate) const PROXY_PORT: u16 = 3128;

/// Addresses of the host's side, with the lengths of their networks.
pub(super) const NEAR: &[(IpAddr, u8)] = &[
    (IpAddr::V4(HOST), 24),
    (v4(10, 99, 0, 1), 24),
    (v4(169, 254, 0, 1), 16),
    (v4(100, 64, 0, 1), 24),
    (IpAddr::V6(HOST6), 64),
    (v6([0xfd00, 0x99, 0, 0, 0, 0, 0, 1]), 64),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 1]), 64),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 1]), 96),
];

/// Addresses of the far side.
pub(super) const FAR: &[(IpAddr, u8)] = &[
    (IpAddr::V4(ALLOWED), 24),
    (IpAddr::V4(DENIED), 24),
    (IpAddr::V6(ALLOWED6), 64),
    (IpAddr::V6(DENIED6), 64),
];

/// Addresses of the far side that are inside of some network, and not the internet's.
pub(super) const INWARD: &[(IpAddr, u8)] = &[
    (IpAddr::V4(PRIVATE), 24),
    (IpAddr::V4(METADATA), 16),
    (v4(169, 254, 0, 2), 16),
    (v4(100, 64, 0, 2), 24),
    (v6([0xfd00, 0x99, 0, 0, 0, 0, 0, 2]), 64),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]), 64),
    // A translator would lead to 10.99.0.2.
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0x0a63, 2]), 96),
];

/// The addresses of names. One answer of several is given out in turn, as in DNS rebinding.
const ZONE: &[(&str, &[&[IpAddr]])] = &[
    ("web.example", &[&[IpAddr::V4(ALLOWED), IpAddr::V6(ALLOWED6)]]),
    ("good.wild.example", &[&[IpAddr::V4(ALLOWED), IpAddr::V6(ALLOWED6)]]),
    ("loopback.inward.example", &[&[v4(127, 0, 0, 1), v6(LOOPBACK6)]]),
    ("other-loopback.inward.example", &[&[v4(127, 9, 9, 9)]]),
    ("private.inward.example", &[&[IpAddr::V4(PRIVATE)]]),
    ("metadata.inward.example", &[&[IpAddr::V4(METADATA)]]),
    ("metadata6.inward.example", &[&[v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254])]]),
    ("link.inward.example", &[&[v4(169, 254, 0, 2)]]),
    ("carrier.inward.example", &[&[v4(100, 64, 0, 2)]]),
    ("unique.inward.example", &[&[v6([0xfd00, 0x99, 0, 0, 0, 0, 0, 2])]]),
    ("unspecified.inward.example", &[&[v4(0, 0, 0, 0)]]),
    ("unspecified6.inward.example", &[&[v6([0; 8])]]),
    ("mapped.inward.example", &[&[v6([0, 0, 0, 0, 0, 0xffff, 0x0a63, 2])]]),
    ("translated.inward.example", &[&[v6([0x64, 0xff9b, 0, 0, 0, 0, 0x0a63, 2])]]),
    ("host.inward.example", &[&[IpAddr::V4(HOST), IpAddr::V6(HOST6)]]),
    ("mixed.inward.example", &[&[IpAddr::V4(ALLOWED), IpAddr::V4(PRIVATE)]]),
    (
        "rebind.inward.example",
        &[
            &[IpAddr::V4(ALLOWED)],
            &[v4(127, 0, 0, 1)],
            &[IpAddr::V4(PRIVATE)],
            &[IpAddr::V4(METADATA)],
        ],
    ),
];

/// Names that are another's.
const ALIASES: &[(&str, &str)] = &[("alias.inward.example", "private.inward.example")];

/// The name that a name stands for, if it is an alias.
pub(super) fn alias_of(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name)
}

/// The addresses of a name when it is asked for the `turn`th time. Whatever is not known here is the
/// denied host's, so that every name that should not have been asked for leads there.
pub(super) fn addresses_of(name: &str, turn: usize) -> &'static [IpAddr] {
    let Some((_, answers)) = ZONE.iter().find(|(known, _)| *known == name) else {
        return &[IpAddr::V4(DENIED), IpAddr::V6(DENIED6)];
    };
    let turn = turn.checked_rem(answers.len()).unwrap_or_default();
    answers.get(turn).copied().unwrap_or_default()
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6(segments: [u16; 8]) -> IpAddr {
    let [a, b, c, d, e, f, g, h] = segments;
    IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h))
}

const LOOPBACK6: [u16; 8] = [0, 0, 0, 0, 0, 0, 0, 1];
