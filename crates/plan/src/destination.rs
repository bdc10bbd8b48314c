//! The grammar of `net.allow` and `net.deny`: what one entry may say, its one normal form, and how
//! two entries relate. Purely lexical: never resolves a name and never decides a connection.

mod error;
mod name;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use error::DestinationError;
pub use name::{Name, NameError};

/// One entry: hosts and ports. Holding one proves that the text was well-formed; its `Display` is
/// the normal form (lower case, no trailing dot, no leading zeros, networks without host bits).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Destination {
    hosts: Hosts,
    ports: Ports,
}

/// Which hosts an entry names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hosts {
    /// `example.com`: that name and no other.
    Name(String),
    /// `*.example.com`: exactly one label more.
    OneLabelBelow(String),
    /// `**.example.com`: any number of labels more, at least one.
    AnyLabelsBelow(String),
    /// An address (a network of full length) or a network.
    Network(IpNet),
    /// `**`: every name. No entry of a policy can be written so, see [`Destination::every_name`].
    EveryName,
}

/// Which ports an entry names, both ends included; without a port in the text, all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Destination {
    /// Every name on every port: the whole public network. It names no address, so what a name
    /// leads to is still held against the addresses that nobody means by a name.
    ///
    /// Text has no form for it: who grants it has to say so in a way that cannot be a slip.
    pub fn every_name() -> Self {
        Self { hosts: Hosts::EveryName, ports: Ports::ALL }
    }

    /// The same hosts on this port alone.
    pub fn on_port(&self, port: NonZeroU16) -> Self {
        let (first, last) = (port.get(), port.get());
        Self { hosts: self.hosts.clone(), ports: Ports { first, last } }
    }

    /// Which hosts.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Which ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Whether every host and port of `other` is also one of this entry.
    ///
    /// A union of several entries is not considered: two halves of a network do not count as the
    /// whole. That refuses more than strictly needed and never less.
    pub fn covers(&self, other: &Self) -> bool {
        self.ports.covers(other.ports) && self.hosts.covers(&other.hosts)
    }

    /// What falls under both entries, if anything must: names and networks described by one entry
    /// each either nest or are apart. A name and a network have nothing for sure.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let hosts = if self.hosts.covers(&other.hosts) {
            other.hosts.clone()
        } else if other.hosts.covers(&self.hosts) {
            self.hosts.clone()
        } else {
            return None;
        };
        let first = self.ports.first.max(other.ports.first);
        let last = self.ports.last.min(other.ports.last);
        (first <= last).then_some(Self { hosts, ports: Ports { first, last } })
    }

    /// Whether some connection could fall under both entries. A name may resolve to any address,
    /// so a name and a network always may.
    pub fn may_overlap(&self, other: &Self) -> bool {
        self.ports.overlaps(other.ports) && self.hosts.may_overlap(&other.hosts)
    }

    /// Whether the entry names this host and port. A network names no host.
    pub fn covers_name(&self, name: &Name, port: u16) -> bool {
        self.ports.contains(port) && self.hosts.covers(&Hosts::Name(name.as_str().to_owned()))
    }

    /// Whether the entry names this address and port. A name names no address.
    pub fn covers_address(&self, address: IpAddr, port: u16) -> bool {
        let contained =
            matches!(&self.hosts, Hosts::Network(network) if network.contains(&address));
        contained && self.ports.contains(port)
    }

    /// Whether the entry stands for every address of a family: a deny entry may, an allow entry
    /// may not.
    pub fn is_every_address(&self) -> bool {
        matches!(&self.hosts, Hosts::Network(network) if network.prefix_len() == 0)
    }
}

impl Hosts {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(mine), Self::Name(theirs)) => mine == theirs,
            (Self::OneLabelBelow(mine), Self::OneLabelBelow(theirs)) => mine == theirs,
            (Self::OneLabelBelow(mine), Self::Name(theirs)) => {
                theirs.split_once('.').is_some_and(|(_, rest)| rest == mine)
            }
            (Self::AnyLabelsBelow(mine), Self::Name(theirs)) => is_strictly_below(theirs, mine),
            (
                Self::AnyLabelsBelow(mine),
                Self::OneLabelBelow(theirs) | Self::AnyLabelsBelow(theirs),
            ) => theirs == mine || is_strictly_below(theirs, mine),
            (Self::Network(mine), Self::Network(theirs)) => mine.contains(theirs),
            (Self::EveryName, other) => !matches!(other, Self::Network(_)),
            _ => false,
        }
    }

    fn may_overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Network(mine), Self::Network(theirs)) => {
                mine.contains(theirs) || theirs.contains(mine)
            }
            (Self::Network(_), _) | (_, Self::Network(_)) => true,
            // Sets of names described by one suffix each either nest or are disjoint.
            _ => self.covers(other) || other.covers(self),
        }
    }
}

impl Ports {
    /// Every port.
    pub const ALL: Self = Self { first: 1, last: u16::MAX };

    /// The lowest port.
    pub fn first(self) -> u16 {
        self.first
    }

    /// The highest port.
    pub fn last(self) -> u16 {
        self.last
    }

    /// Whether this port is one of them.
    pub fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.hosts, self.ports) {
            (Hosts::Network(IpNet::V6(network)), ports) if ports != Ports::ALL => {
                write!(formatter, "[{}]{ports}", ShortNetwork(IpNet::V6(*network)))
            }
            (hosts, ports) => write!(formatter, "{hosts}{ports}"),
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::OneLabelBelow(suffix) => write!(formatter, "*.{suffix}"),
            Self::AnyLabelsBelow(suffix) => write!(formatter, "**.{suffix}"),
            Self::Network(network) => ShortNetwork(*network).fmt(formatter),
            Self::EveryName => formatter.write_str(EVERY_NAME),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => Ok(()),
            Self { first, last } if first == last => write!(formatter, ":{first}"),
            Self { first, last } => write!(formatter, ":{first}-{last}"),
        }
    }
}

/// An address without its needless `/32` or `/128`.
struct ShortNetwork(IpNet);

impl fmt::Display for ShortNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(formatter)
        } else {
            self.0.fmt(formatter)
        }
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

impl TryFrom<String> for Destination {
    type Error = DestinationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // What a Plan says is not what a person wrote.
        match text.strip_prefix(EVERY_NAME).map(|rest| rest.strip_prefix(':').ok_or(rest)) {
            Some(Err("")) => Ok(Self::every_name()),
            Some(Ok(ports)) => Ok(Self { hosts: Hosts::EveryName, ports: parse_ports(ports)? }),
            Some(Err(_)) | None => text.parse(),
        }
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        if text.chars().any(|character| character.is_control() || character.is_whitespace()) {
            return Err(DestinationError::ControlCharacter);
        }
        if text.contains("://") || text.contains(['?', '#', '\\']) {
            return Err(DestinationError::Url);
        }
        if text.contains('@') {
            return Err(DestinationError::UserInfo);
        }
        if text.contains('%') {
            return Err(DestinationError::Zone);
        }
        let (host, port) = split_port(text)?;
        let hosts = parse_hosts(host, port)?;
        let ports = port.map_or(Ok(Ports::ALL), parse_ports)?;
        Ok(Self { hosts, ports })
    }
}

/// Splits off the port. Two colons or more without brackets are an IPv6 address without one.
fn split_port(text: &str) -> Result<(&str, Option<&str>), DestinationError> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let bad = || DestinationError::BadAddress(text.to_owned());
        let (inner, after) = bracketed.split_once(']').ok_or_else(bad)?;
        if !inner.contains(':') {
            return Err(bad());
        }
        return match after.strip_prefix(':') {
            Some(port) => Ok((inner, Some(port))),
            None if after.is_empty() => Ok((inner, None)),
            None => Err(bad()),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn parse_hosts(host: &str, port: Option<&str>) -> Result<Hosts, DestinationError> {
    if host.is_empty() {
        return Err(DestinationError::Empty);
    }
    if let Some((address, prefix)) = host.split_once('/') {
        return parse_network(address, prefix);
    }
    if host.contains(':') {
        return parse_address(host).map(|address| Hosts::Network(IpNet::from(address)));
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if name == "*" || name == "**" {
        return Err(DestinationError::EveryHost);
    }
    if last_label_is_number(&name) {
        return parse_ipv4(&host.to_ascii_lowercase())
            .map(|address| Hosts::Network(IpNet::from(IpAddr::V4(address))));
    }
    if port.is_some_and(looks_like_a_model) {
        return Err(DestinationError::ProviderModel);
    }
    if let Some(suffix) = name.strip_prefix("**.") {
        return checked_suffix(suffix).map(Hosts::AnyLabelsBelow);
    }
    if let Some(suffix) = name.strip_prefix("*.") {
        return checked_suffix(suffix).map(Hosts::OneLabelBelow);
    }
    check_name(&name)?;
    Ok(Hosts::Name(name))
}

fn checked_suffix(suffix: &str) -> Result<String, DestinationError> {
    check_name(suffix)?;
    // The wildcard's suffix plus one label must still fit in a name; the label has at least one
    // character and a dot.
    if suffix.len() > LONGEST_NAME - 2 {
        return Err(DestinationError::NameTooLong);
    }
    if suffix.contains('.') {
        Ok(suffix.to_owned())
    } else {
        Err(DestinationError::TopLevelWildcard)
    }
}

fn check_name(name: &str) -> Result<(), DestinationError> {
    if !name.is_ascii() {
        return Err(DestinationError::NotAscii);
    }
    if name.len() > LONGEST_NAME {
        return Err(DestinationError::NameTooLong);
    }
    if name.contains('*') {
        return Err(DestinationError::MisplacedWildcard);
    }
    if let Some(label) = name.split('.').find(|label| !is_label(label)) {
        return Err(DestinationError::BadLabel(label.to_owned()));
    }
    // No top-level domain begins with a digit: this is an address with something behind it.
    if name.rsplit_once('.').is_some_and(|(_, last)| last.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Err(DestinationError::BadAddress(name.to_owned()));
    }
    let own = ["localhost", "localhost.localdomain"];
    if own.iter().any(|local| name == *local || is_strictly_below(name, local)) {
        return Err(DestinationError::Localhost);
    }
    Ok(())
}

fn is_label(label: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len())
        && label.bytes().all(plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// A name whose last label is a number is an IPv4 address to every resolver, in one of its many
/// spellings (`127.1`, `0x7f.1`, `2130706433`); only the canonical one is taken.
fn last_label_is_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hexadecimal = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
        || last.strip_prefix("0x").is_some_and(hexadecimal)
}

/// A port is never a word: `openai:gpt-4` names a model.
fn looks_like_a_model(port: &str) -> bool {
    port.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn parse_network(address: &str, prefix: &str) -> Result<Hosts, DestinationError> {
    let address = if address.contains(':') {
        parse_address(address)?
    } else if last_label_is_number(address) {
        IpAddr::V4(parse_ipv4(address)?)
    } else {
        // `example.com/path`
        return Err(DestinationError::Url);
    };
    let bad = || DestinationError::BadPrefix(prefix.to_owned());
    let decimal = prefix.bytes().all(|byte| byte.is_ascii_digit())
        && (prefix.len() == 1 || !prefix.starts_with('0'));
    if !decimal {
        return Err(bad());
    }
    let length = prefix.parse().map_err(|_| bad())?;
    let network = IpNet::new(address, length).map_err(|_| bad())?;
    if network.trunc() != network {
        return Err(DestinationError::HostBits { meant: network.trunc().to_string() });
    }
    Ok(Hosts::Network(network))
}

fn parse_address(text: &str) -> Result<IpAddr, DestinationError> {
    let address: Ipv6Addr =
        text.parse().map_err(|_| DestinationError::BadAddress(text.to_owned()))?;
    match address.to_ipv4_mapped() {
        Some(mapped) => Err(DestinationError::MappedAddress { meant: mapped.to_string() }),
        None => Ok(IpAddr::V6(address)),
    }
}

fn parse_ipv4(text: &str) -> Result<Ipv4Addr, DestinationError> {
    // The standard library takes four decimal numbers without leading zeros and nothing else.
    text.parse().map_err(|_| {
        let number = |part: &str| !part.is_empty() && last_label_is_number(part);
        if text.split('.').count() <= 4 && text.split('.').all(number) {
            DestinationError::NonCanonicalAddress
        } else {
            DestinationError::BadAddress(text.to_owned())
        }
    })
}

fn parse_ports(text: &str) -> Result<Ports, DestinationError> {
    let bad = || DestinationError::BadPort(text.to_owned());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = Ports {
        first: parse_port(first).ok_or_else(bad)?,
        last: parse_port(last).ok_or_else(bad)?,
    };
    if ports.first > ports.last { Err(bad()) } else { Ok(ports) }
}

fn parse_port(text: &str) -> Option<u16> {
    let decimal = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if decimal { text.parse().ok() } else { None }
}

/// Whether `name` has at least one label more than `suffix`.
fn is_strictly_below(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
}

const LONGEST_NAME: usize = 253;

/// Every name, in a Plan.
const EVERY_NAME: &str = "**";

#[cfg(test)]
mod tests;
