//! `network:…`: hosts from hints, what the grants leave of them, and what the arguments of a call
//! leave of that. The whole network is given only to a caller that grants it by name, and so is an
//! address, which may be one of this machine's or of a neighbour's.

use crate::autonomy::Verdict;
use policy::net::{Destination, Hosts};
use policy::shown::{Shown, shortened};

use super::{Derivation, ReasonCode};
use crate::arguments::texts;
use crate::grants::Grant;
use crate::hosts;
use crate::model::{Capability, Hint};

impl Derivation<'_> {
    pub(super) fn network(&mut self, capability: &Capability) {
        let verdict = capability.verdict(self.call.autonomy);
        if verdict == Verdict::Denied {
            let autonomy = self.call.autonomy;
            self.narrow(format!("`{capability}` is left out: the autonomy is `{autonomy}`"));
        } else if capability.is_whole_network() {
            self.whole(capability, verdict);
        } else {
            let before = self.effective.net.len();
            self.hosts(capability);
            if self.effective.net.len() > before
                && let Verdict::ApprovalRequired(ask) = verdict
            {
                let hosts = capability.hints.iter().filter_map(|hint| match hint {
                    Hint::Hosts { written, .. } => Some(shortened(written).to_string()),
                    Hint::Argument(_) | Hint::Path(_) => None,
                });
                self.ask(capability, Some(hosts.collect::<Vec<_>>().join(", ")), ask);
            }
        }
    }

    fn whole(&mut self, capability: &Capability, verdict: Verdict) {
        let declared = hosts::whole_network(capability.mode());
        let origin = self.origin(capability, "without hosts");
        for destination in &declared {
            self.declared.net.insert(destination.clone(), origin.clone());
        }
        if self.listed_grants().contains(&Grant::WholeNetwork) {
            for destination in declared {
                self.effective.net.insert(destination, origin.clone());
            }
            self.whole_network = true;
            if let Verdict::ApprovalRequired(ask) = verdict {
                self.ask(capability, Some("the whole public network".to_owned()), ask);
            }
            return;
        }
        let left: Vec<Destination> =
            declared.iter().flat_map(|destination| self.granted(destination)).collect();
        if left.is_empty() && self.grants_ordinary() {
            let message = format!("`{capability}` without hosts is the whole public network");
            let help = "grant it by name with `network:*`, or name the hosts in the manifest";
            self.refuse(ReasonCode::NeedsGrant, message, help);
            return;
        }
        self.narrow(match left.as_slice() {
            [] => format!("`{capability}` is not granted"),
            _ => format!("`{capability}` is left to the hosts that are granted"),
        });
        for destination in left {
            self.effective.net.insert(destination, origin.clone());
        }
    }

    fn hosts(&mut self, capability: &Capability) {
        let mut bounds = Vec::new();
        let mut arguments = Vec::new();
        for hint in &capability.hints {
            match hint {
                Hint::Hosts { written, destinations } => {
                    let origin = self.origin(capability, written);
                    for destination in destinations {
                        self.declared.net.entry(destination.clone()).or_insert(origin.clone());
                        bounds.push((written.as_str(), destination));
                    }
                }
                Hint::Argument(name) => arguments.push(name.as_str()),
                Hint::Path(_) => {}
            }
        }
        if arguments.is_empty() {
            for (written, destination) in bounds {
                let what = format!("`{}` of `{capability}`", shortened(written));
                self.reach(capability, destination, &what, written);
            }
            return;
        }
        for name in arguments {
            self.urls(capability, name, &bounds);
        }
    }

    /// What an argument leaves of the hosts: those of its values.
    fn urls(&mut self, capability: &Capability, name: &str, bounds: &[(&str, &Destination)]) {
        let what = format!("the argument `{}`", Shown(name));
        let Some(arguments) = self.call.arguments else {
            self.note(format!("`{capability}` reaches nothing: {what} is not known"));
            return;
        };
        let Some(values) = texts(arguments.as_map(), name).filter(|all| all.len() <= MAX_VALUES)
        else {
            let message = format!("{what} must be a URL, or a list of at most {MAX_VALUES}");
            self.refuse(ReasonCode::Argument, message, "");
            return;
        };
        for value in values {
            let Ok(named) = hosts::read(capability.mode(), value) else {
                let message = format!("{what} must name a host that `{capability}` can reach");
                self.refuse(ReasonCode::Argument, message, "");
                continue;
            };
            for destination in named {
                if bounds.iter().any(|(_, bound)| bound.covers(&destination)) {
                    self.reach(capability, &destination, &what, &format!("arg:{name}"));
                } else {
                    let message = format!("{what} leads out of what `{capability}` is limited to");
                    self.refuse(ReasonCode::Argument, message, "");
                }
            }
        }
    }

    fn reach(&mut self, capability: &Capability, wanted: &Destination, what: &str, hint: &str) {
        let origin = self.origin(capability, hint);
        let is_name = !matches!(wanted.hosts(), Hosts::Network(_));
        let mut left = self.granted(wanted);
        if self.grants_ordinary() && is_name {
            left = vec![wanted.clone()];
        }
        if left.is_empty() && self.grants_ordinary() {
            let message = format!("{what} is an address, not the name of a host");
            let help = "grant it by name with `network:ADDRESS:PORT`";
            self.refuse(ReasonCode::NeedsGrant, message, help);
            return;
        }
        if !left.contains(wanted) {
            self.narrow(match left.as_slice() {
                [] => format!("{what} is not granted"),
                _ => format!("{what} is granted in part"),
            });
        }
        for destination in left {
            self.effective.net.entry(destination).or_insert_with(|| origin.clone());
        }
    }

    /// What the grants that name hosts leave of a destination.
    fn granted(&self, wanted: &Destination) -> Vec<Destination> {
        let mut left: Vec<Destination> = Vec::new();
        for grant in self.listed_grants() {
            let met = match grant {
                Grant::Host(granted) => granted.meet(wanted),
                Grant::WholeNetwork => Destination::every_name().meet(wanted),
                Grant::Declared | Grant::Read(_) | Grant::Write(_) | Grant::Named(_) => None,
            };
            left.extend(met.filter(|met| !left.contains(met)));
        }
        left
    }
}

/// The most URLs that one argument may name.
const MAX_VALUES: usize = 256;
