//! Destinations, compared entry by entry: an entry is held if one entry of the holder covers it.

use super::{Refusal, RefusalKind};
use crate::net::Destination;
use crate::{Network, RuleOrigin};

/// Every destination that is asked for and that no single entry of the holder covers.
pub(super) fn refuse_more(held: &Network, asked: &Network, refused: &mut Vec<Refusal>) {
    for (destination, origin) in &asked.allow {
        if !held.allow.keys().any(|allowed| allowed.covers(destination)) {
            refused.push(refusal(RefusalKind::Network, destination, Some(origin), None));
        }
    }
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

/// What is asked for, without what either denies.
pub(super) fn meet(held: &Network, asked: &Network) -> Network {
    let mut met = asked.clone();
    for (denied, origin) in &held.deny {
        met.deny.entry(denied.clone()).or_insert_with(|| origin.clone());
    }
    met
}

fn refusal(
    kind: RefusalKind,
    destination: &Destination,
    asked_at: Option<&RuleOrigin>,
    held_at: Option<&RuleOrigin>,
) -> Refusal {
    Refusal {
        kind,
        subject: destination.to_string(),
        asked: destination.to_string(),
        held: "nothing".to_owned(),
        asked_at: asked_at.cloned(),
        held_at: held_at.cloned(),
    }
}
