//! Which addresses no name may lead to, and why. Knows the special ranges and the forms in which an
//! IPv4 address hides in an IPv6 one; never decides, because an entry of the Plan may cover any.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::synthetic;

/// Why an address is not simply a host on the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressClass {
    /// `127.0.0.0/8`, `::1`: whoever dials.
    Loopback,
    /// `0.0.0.0/8`, `::`: the kernel dials loopback for them.
    Unspecified,
    /// `169.254.0.0/16`, `fe80::/10`.
    LinkLocal,
    /// `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `fec0::/10`.
    Private,
    /// `100.64.0.0/10`.
    CarrierShared,
    /// `fc00::/7`.
    UniqueLocal,
    /// `224.0.0.0/4`, `ff00::/8`.
    Multicast,
    /// `255.255.255.255`.
    Broadcast,
    /// Where clouds answer with a machine's own secrets.
    Metadata,
    /// The ranges that stand for names inside a cage.
    Synthetic,
    /// An IPv6 form that a relay turns into an IPv4 address.
    Translated,
    /// Not given to anybody.
    Reserved,
    /// An address of the machine that the gatekeeper runs on.
    HostOwn,
}

/// The addresses of the machine that the gatekeeper runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddresses(BTreeSet<IpAddr>);

impl AddressClass {
    /// Every class.
    pub const ALL: [Self; 13] = [
        Self::Loopback,
        Self::Unspecified,
        Self::LinkLocal,
        Self::Private,
        Self::CarrierShared,
        Self::UniqueLocal,
        Self::Multicast,
        Self::Broadcast,
        Self::Metadata,
        Self::Synthetic,
        Self::Translated,
        Self::Reserved,
        Self::HostOwn,
    ];

    /// The stable word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Unspecified => "unspecified",
            Self::LinkLocal => "link_local",
            Self::Private => "private",
            Self::CarrierShared => "carrier_shared",
            Self::UniqueLocal => "unique_local",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Metadata => "metadata",
            Self::Synthetic => "synthetic",
            Self::Translated => "translated",
            Self::Reserved => "reserved",
            Self::HostOwn => "host_own",
        }
    }

    /// What such an address is, to go after "is".
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Loopback => "a loopback address: it would lead to services of the host itself",
            Self::Unspecified => "an address of no machine: it would lead to the host itself",
            Self::LinkLocal => "a link-local address: it leads to machines next to the host",
            Self::Private => "a private address: it leads into the host's own network",
            Self::CarrierShared => "a shared address: it leads into a provider's own network",
            Self::UniqueLocal => "a unique-local address: it leads into the host's own network",
            Self::Multicast => "a multicast address: it leads to many machines at once",
            Self::Broadcast => "the broadcast address: it leads to every machine next to the host",
            Self::Metadata => "a metadata address: clouds give out a machine's secrets there",
            Self::Synthetic => "in a range that stands for names inside a cage",
            Self::Translated => "an IPv4 address in an IPv6 form that a relay would translate",
            Self::Reserved => "a reserved address: no host on the internet has it",
            Self::HostOwn => "one of the host's own addresses",
        }
    }
}

impl HostAddresses {
    /// Whether the address, in any form, is the host's.
    pub fn contains(&self, address: IpAddr) -> bool {
        forms(address).any(|form| self.0.contains(&form))
    }
}

impl FromIterator<IpAddr> for HostAddresses {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        Self(addresses.into_iter().map(canonical).collect())
    }
}

/// The form that decisions are made on: an IPv4 address mapped into IPv6 is that IPv4 address, as it
/// is to the kernel.
pub fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// What stands against the address, if anything. The host's own addresses are not known here.
pub fn class(address: IpAddr) -> Option<AddressClass> {
    match canonical(address) {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => class_of_v6(address),
    }
}

/// The address in canonical form, and the IPv4 address inside it if it has one.
pub(crate) fn forms(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = canonical(address);
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(outer) => embedded(outer).map(|(inner, _)| IpAddr::V4(inner)),
    };
    std::iter::once(address).chain(inner)
}

/// Who turns the outer form into the inner address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Translator {
    /// The network that the host is in, for every IPv4 host where it has no IPv4 of its own: as
    /// good as the address inside.
    WellKnownPrefix,
    /// Relays that nobody needs today and that lead anywhere.
    Relay,
}

fn embedded(address: Ipv6Addr) -> Option<(Ipv4Addr, Translator)> {
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // RFC 6052.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((v4(high, low), Translator::WellKnownPrefix)),
        // RFC 8215: where the address lies in it is the operator's choice; the last is usual.
        [0x64, 0xff9b, 1, _, _, _, high, low] => Some((v4(high, low), Translator::Relay)),
        // 6to4, RFC 3056.
        [0x2002, high, low, ..] => Some((v4(high, low), Translator::Relay)),
        // Teredo, RFC 4380: the client's address is stored inverted.
        [0x2001, 0, _, _, _, _, high, low] => Some((v4(!high, !low), Translator::Relay)),
        // RFC 2765.
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some((v4(high, low), Translator::Relay)),
        // IPv4-compatible, RFC 4291; `::` and `::1` are no such addresses.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => {
            Some((v4(high, low), Translator::Relay))
        }
        _ => None,
    }
}

fn class_of_v4(address: Ipv4Addr) -> Option<AddressClass> {
    if METADATA_V4.contains(&address) {
        return Some(AddressClass::Metadata);
    }
    match address.octets() {
        [0, ..] => Some(AddressClass::Unspecified),
        [127, ..] => Some(AddressClass::Loopback),
        [169, 254, ..] => Some(AddressClass::LinkLocal),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(AddressClass::Private),
        [100, 64..=127, ..] => Some(AddressClass::CarrierShared),
        [224..=239, ..] => Some(AddressClass::Multicast),
        [255, 255, 255, 255] => Some(AddressClass::Broadcast),
        [240..=255, ..] | [192, 0, 0, _] => Some(AddressClass::Reserved),
        [192, 88, 99, _] => Some(AddressClass::Translated),
        _ if synthetic::is_synthetic(IpAddr::V4(address)) => Some(AddressClass::Synthetic),
        _ => None,
    }
}

fn class_of_v6(address: Ipv6Addr) -> Option<AddressClass> {
    if METADATA_V6.contains(&address) {
        return Some(AddressClass::Metadata);
    }
    if let Some((inner, translator)) = embedded(address) {
        let relayed = (translator == Translator::Relay).then_some(AddressClass::Translated);
        return class_of_v4(inner).or(relayed);
    }
    let [first, ..] = address.segments();
    match first {
        _ if address.is_unspecified() => Some(AddressClass::Unspecified),
        _ if address.is_loopback() => Some(AddressClass::Loopback),
        _ if synthetic::is_synthetic(IpAddr::V6(address)) => Some(AddressClass::Synthetic),
        0xfe80..=0xfebf => Some(AddressClass::LinkLocal),
        0xfec0..=0xfeff => Some(AddressClass::Private),
        0xfc00..=0xfdff => Some(AddressClass::UniqueLocal),
        0xff00..=0xffff => Some(AddressClass::Multicast),
        // All that was ever given out to hosts lies in 2000::/3.
        0x2000..=0x3fff => None,
        _ => Some(AddressClass::Reserved),
    }
}

/// Amazon (machine, task, pod), Alibaba, Azure, Oracle, Scaleway; most of the others share the first.
const METADATA_V4: [Ipv4Addr; 7] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(169, 254, 42, 42),
];

/// Amazon (machine, pod), Google, Scaleway.
const METADATA_V6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

#[cfg(test)]
mod tests;
