//! The entries of a Plan in the form that a decision looks them up in. Holds them and finds the first
//! that covers a name or an address; never weighs one against another, which is `decision`'s work.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use plan::GatekeeperPlan;
use plan::destination::{Destination, Hosts, Name};
use walls::Wall;

/// What one cage may reach.
#[derive(Clone, Debug)]
pub struct Rules {
    allow: Vec<Entry>,
    deny: Vec<Entry>,
    reasons: Vec<Reason>,
}

/// One entry of a Plan, named by its text. Cheap to copy into every event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleId(Arc<str>);

#[derive(Clone, Debug)]
struct Entry {
    destination: Destination,
    id: RuleId,
}

/// What is told about hosts. `weight` orders two that both cover a host: the more specific wins.
#[derive(Clone, Debug)]
struct Reason {
    hosts: Destination,
    weight: usize,
    sentence: String,
}

impl Rules {
    /// Takes the entries over. A key of the reasons that is no host says nothing about any host;
    /// reasons never allow or deny, so that is left to whoever made the Plan.
    pub fn new(plan: &GatekeeperPlan) -> Self {
        let mut reasons: Vec<Reason> = plan
            .reasons
            .iter()
            .filter_map(|(host, sentence)| {
                let hosts: Destination = host.parse().ok()?;
                Some(Reason { weight: weight(&hosts), hosts, sentence: sentence.clone() })
            })
            .collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.weight));
        Self { allow: entries(&plan.allow), deny: entries(&plan.deny), reasons }
    }

    /// Whether nothing at all is allowed.
    pub fn allow_nothing(&self) -> bool {
        self.allow.is_empty()
    }

    pub(crate) fn allowing_name(&self, name: &Name, port: u16) -> Option<&RuleId> {
        if !walls::stands(Wall::Ports) {
            return self.allowing_some_port(name);
        }
        let is_any = !walls::stands(Wall::NamesAsked);
        first(&self.allow, |entry| is_any || entry.covers_name(name, port))
    }

    pub(crate) fn denying_name(&self, name: &Name, port: u16) -> Option<&RuleId> {
        let rule = first(&self.deny, |entry| entry.covers_name(name, port));
        rule.filter(|_| walls::stands(Wall::DeniedNames))
    }

    pub(crate) fn allowing_address(&self, address: IpAddr, port: u16) -> Option<&RuleId> {
        let is_any = !walls::stands(Wall::AddressesAsked);
        first(&self.allow, |entry| is_any || entry.covers_address(address, port))
    }

    pub(crate) fn denying_address(&self, address: IpAddr, port: u16) -> Option<&RuleId> {
        first(&self.deny, |entry| entry.covers_address(address, port))
    }

    /// The first allow entry that leaves some port of the name open.
    pub(crate) fn allowing_some_port(&self, name: &Name) -> Option<&RuleId> {
        let mut denied: Vec<(u16, u16)> =
            self.deny.iter().filter(|entry| entry.names(name)).map(Entry::ports).collect();
        denied.sort_unstable();
        self.allow
            .iter()
            .filter(|entry| entry.names(name))
            .find(|entry| !is_all_denied(entry.ports(), &denied))
            .map(|entry| &entry.id)
    }

    /// The first deny entry that names the host, whatever its ports.
    pub(crate) fn denying_some_port(&self, name: &Name) -> Option<&RuleId> {
        self.deny.iter().find(|entry| entry.names(name)).map(|entry| &entry.id)
    }

    /// Whether some allow entry names the address, whatever its ports.
    pub(crate) fn allows_some_port_of_address(&self, address: IpAddr) -> bool {
        let open = |entry: &Entry| entry.destination.covers_address(address, entry.ports().0);
        self.allow.iter().any(open)
    }

    pub(crate) fn told_about_name(&self, name: &Name, port: u16) -> Option<&str> {
        self.told(|hosts| hosts.covers_name(name, port.max(1)))
    }

    pub(crate) fn told_about_address(&self, address: IpAddr, port: u16) -> Option<&str> {
        self.told(|hosts| hosts.covers_address(address, port.max(1)))
    }

    fn told(&self, covers: impl Fn(&Destination) -> bool) -> Option<&str> {
        let found = self.reasons.iter().find(|reason| covers(&reason.hosts))?;
        Some(&found.sentence)
    }
}

impl Entry {
    fn names(&self, name: &Name) -> bool {
        self.destination.covers_name(name, self.ports().0)
    }

    fn ports(&self) -> (u16, u16) {
        (self.destination.ports().first(), self.destination.ports().last())
    }
}

impl RuleId {
    /// The entry's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn entries(destinations: &[Destination]) -> Vec<Entry> {
    let entry = |destination: &Destination| Entry {
        destination: destination.clone(),
        id: RuleId(destination.to_string().into()),
    };
    destinations.iter().map(entry).collect()
}

fn first(entries: &[Entry], covers: impl Fn(&Destination) -> bool) -> Option<&RuleId> {
    entries.iter().find(|entry| covers(&entry.destination)).map(|entry| &entry.id)
}

/// Whether sorted ranges cover a range together.
fn is_all_denied((first, last): (u16, u16), denied: &[(u16, u16)]) -> bool {
    let mut next = u32::from(first);
    for &(from, to) in denied {
        if u32::from(from) > next {
            break;
        }
        next = next.max(u32::from(to) + 1);
    }
    next > u32::from(last)
}

/// A name says more than a pattern, a pattern with more labels more than one with fewer, and a longer
/// prefix more than a shorter one.
fn weight(hosts: &Destination) -> usize {
    match hosts.hosts() {
        Hosts::Name(_) => usize::MAX,
        Hosts::OneLabelBelow(suffix) => suffix.len() * 2 + 1,
        Hosts::AnyLabelsBelow(suffix) => suffix.len() * 2,
        Hosts::Network(network) => usize::from(network.prefix_len()),
        Hosts::EveryName => 0,
    }
}
