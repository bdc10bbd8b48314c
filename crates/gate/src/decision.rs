//! The one decision about a connection, whichever way it came: first on what was asked for, then on the
//! address that the name led to. Pure: never resolves, dials or logs.
//!
//! `decide` and `vet` both have to say yes. A name is allowed by an entry that names it and by nothing
//! else; an address that was asked for as such is allowed by an address or network entry and by nothing
//! else. What a name leads to is then held against the classes of addresses that nobody means by a name.

mod denial;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use plan::destination::Name;
use walls::Wall;

pub use denial::{Denial, DenialCode};

use crate::addresses::{self, HostAddresses};
use crate::rules::{RuleId, Rules};

/// What a connection is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A host by name.
    Name(Name),
    /// An address as such.
    Address(IpAddr),
}

/// The answer to a connection that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made, as far as what was asked for goes.
    Allow {
        /// The entry that says so.
        rule: RuleId,
    },
    /// It may not.
    Deny(Denial),
}

/// An address and port that were vetted. Only `vet` makes one, and only one can be dialled: what is
/// dialled is the very address that was looked at, never a second answer for the same name.
///
/// ```compile_fail
/// let forged = gate::decision::Vetted { address: "127.0.0.1:80".parse().unwrap() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vetted {
    address: SocketAddr,
}

/// Decides on what was asked for.
pub fn decide(rules: &Rules, target: &Target, port: u16) -> Verdict {
    match target {
        Target::Name(name) => decide_name_and_port(rules, name, port),
        Target::Address(address) => decide_address(rules, addresses::canonical(*address), port),
    }
}

/// Decides on a question about a name: it is answered if at least one port of it may be reached.
pub fn decide_question(rules: &Rules, name: &Name) -> Verdict {
    if let Some(rule) = rules.allowing_some_port(name) {
        return Verdict::Allow { rule: rule.clone() };
    }
    let told = rules.told_about_name(name, 0);
    Verdict::Deny(match rules.denying_some_port(name) {
        Some(rule) => Denial::by_rule(name, rule, told),
        None => Denial::not_allowed(name, told),
    })
}

/// Decides on an address that a target led to, be it itself.
pub fn vet(
    rules: &Rules,
    host: &HostAddresses,
    address: IpAddr,
    port: u16,
) -> Result<Vetted, Denial> {
    let address = addresses::canonical(address);
    let told = || rules.told_about_address(address, port);
    if let Some(rule) = denying_any_form(rules, address, port) {
        return Err(Denial::by_rule(&address, rule, told()));
    }
    let is_own = host.contains(address) && walls::stands(Wall::OwnAddresses);
    let own = || is_own.then_some(addresses::AddressClass::HostOwn);
    let special = addresses::class(address).filter(|_| walls::stands(Wall::SpecialAddresses));
    // An entry lifts the class for the form that is dialled and no other: `10.0.0.0/8` does not let
    // a translator be used to get there.
    match special.or_else(own) {
        Some(class) if rules.allowing_address(address, port).is_none() => {
            Err(Denial::of_class(address, class, told()))
        }
        _ => Ok(Vetted { address: SocketAddr::new(address, port) }),
    }
}

impl Target {
    /// An address in its canonical form.
    pub fn address(address: IpAddr) -> Self {
        Self::Address(addresses::canonical(address))
    }

    /// A host as a client writes it: a name, an IPv4 address as four decimal numbers, or an IPv6
    /// address with or without brackets and without a zone.
    pub fn parse(host: &[u8]) -> Result<Self, Denial> {
        let bad = |why: &str| Denial::bad_name(host, why);
        let text = std::str::from_utf8(host).map_err(|_| bad("it is not ASCII"))?;
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(inner) = bracketed {
            let address = inner.parse::<Ipv6Addr>();
            return address
                .map(|address| Self::address(IpAddr::V6(address)))
                .map_err(|_| bad("it is not an IPv6 address"));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::address(address));
        }
        Name::parse(text).map(Self::Name).map_err(|why| bad(&why.to_string()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(formatter),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

impl Vetted {
    /// What to dial.
    pub fn socket_address(&self) -> SocketAddr {
        self.address
    }
}

fn decide_name_and_port(rules: &Rules, name: &Name, port: u16) -> Verdict {
    let told = rules.told_about_name(name, port);
    if let Some(rule) = rules.denying_name(name, port) {
        return Verdict::Deny(Denial::by_rule(name, rule, told));
    }
    match rules.allowing_name(name, port) {
        Some(rule) => Verdict::Allow { rule: rule.clone() },
        None if rules.allowing_some_port(name).is_some() => {
            Verdict::Deny(Denial::other_port(name, port, told))
        }
        None => Verdict::Deny(Denial::not_allowed(name, told)),
    }
}

fn decide_address(rules: &Rules, address: IpAddr, port: u16) -> Verdict {
    let told = rules.told_about_address(address, port);
    if let Some(rule) = denying_any_form(rules, address, port) {
        return Verdict::Deny(Denial::by_rule(&address, rule, told));
    }
    match rules.allowing_address(address, port) {
        Some(rule) => Verdict::Allow { rule: rule.clone() },
        None if rules.allows_some_port_of_address(address) => {
            Verdict::Deny(Denial::other_port(&address, port, told))
        }
        None => Verdict::Deny(Denial::address_not_allowed(address, told)),
    }
}

/// A deny entry holds for every form of an address.
fn denying_any_form(rules: &Rules, address: IpAddr, port: u16) -> Option<&RuleId> {
    addresses::forms(address).find_map(|form| rules.denying_address(form, port))
}

#[cfg(test)]
mod tests;
