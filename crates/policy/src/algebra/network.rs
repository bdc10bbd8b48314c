//! Destinations, compared entry by entry: an entry is held if one entry of the holder covers it.
//! Ports of loopbacks, compared one by one. Sentences about refused hosts are text and are not
//! compared at all.

use std::collections::BTreeMap;

use super::{Refusal, RefusalKind};
use crate::{Network, RuleOrigin};

/// Every destination that is asked for and that no single entry of the holder covers, and every
/// port that the holder does not have.
pub(super) fn refuse_more(held: &Network, asked: &Network, refused: &mut Vec<Refusal>) {
    for (destination, origin) in &asked.allow {
        if !held.allow.keys().any(|allowed| allowed.covers(destination)) {
            refused.push(refusal(RefusalKind::Network, destination, Some(origin), None));
        }
    }
    refuse_ports(RefusalKind::HostPorts, &held.host_ports, &asked.host_ports, refused);
    refuse_ports(RefusalKind::Publish, &held.publish, &asked.publish, refused);
}

/// As [`refuse_more`], and every denied destination of the parent that the child might reach.
pub(super) fn refuse_beyond(parent: &Network, child: &Network, refused: &mut Vec<Refusal>) {
    refuse_more(parent, child, refused);
    for (denied, origin) in &parent.deny {
        let concerned = child.allow.keys().any(|allowed| allowed.may_overlap(denied));
        if concerned && !child.deny.keys().any(|own| own.covers(denied)) {
            refused.push(refusal(RefusalKind::NetworkDeny, denied, None, Some(origin)));
        }
    }
}

/// What is asked for, without what either denies, and with what either has to say about it.
pub(super) fn meet(held: &Network, asked: &Network) -> Network {
    let mut met = asked.clone();
    for (denied, origin) in &held.deny {
        met.deny.entry(denied.clone()).or_insert_with(|| origin.clone());
    }
    for (host, sentence) in &held.reasons {
        met.reasons.entry(host.clone()).or_insert_with(|| sentence.clone());
    }
    met
}

fn refuse_ports(
    kind: RefusalKind,
    held: &BTreeMap<u16, RuleOrigin>,
    asked: &BTreeMap<u16, RuleOrigin>,
    refused: &mut Vec<Refusal>,
) {
    for (port, origin) in asked {
        if !held.contains_key(port) {
            refused.push(refusal(kind, port, Some(origin), None));
        }
    }
}

fn refusal(
    kind: RefusalKind,
    subject: &dyn ToString,
    asked_at: Option<&RuleOrigin>,
    held_at: Option<&RuleOrigin>,
) -> Refusal {
    Refusal {
        kind,
        subject: subject.to_string(),
        asked: subject.to_string(),
        held: "nothing".to_owned(),
        asked_at: asked_at.cloned(),
        held_at: held_at.cloned(),
    }
}
