//! What is told about one cage when it is let go: counters, and which targets were refused how often.
//! Bounded, whatever a cage does.

use serde::{Deserialize, Serialize};

use crate::event::{Counters, Route};

/// The account of one cage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// What went through and what did not.
    pub counters: Counters,
    /// Refused targets, most frequent first.
    pub denials: Vec<DeniedTarget>,
    /// Refusals of targets that are not listed.
    pub unlisted_denials: u64,
    /// Connections and questions that came to nothing because the gatekeeper could open no more
    /// descriptors.
    pub out_of_descriptors: u64,
    /// Events that were not told, because there were too many.
    pub events_lost: u64,
}

/// A target that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeniedTarget {
    /// The name or address.
    pub target: String,
    /// The port; none where a name was asked about.
    pub port: Option<u16>,
    /// The entry that refuses it, if it was one.
    pub rule: Option<String>,
    /// What kind of refusal it was the last time, in its stable word; none for datagrams.
    pub code: Option<String>,
    /// Why, the last time.
    pub reason: String,
    /// How it came, the last time; none for a question about a name.
    pub way: Option<Route>,
    /// How often.
    pub count: u64,
}
