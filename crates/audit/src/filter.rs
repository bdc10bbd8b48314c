//! Which records somebody wants to see.

use std::collections::BTreeSet;

use crate::record::Record;
use crate::schema::events;
use crate::text::Name;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// What records must have in common. Without any, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Starts of the cage with this name: also their records that do not name it.
    pub cage: Option<String>,
    /// Starts whose id begins so.
    pub invocation: Option<String>,
    /// Starts of the session with this id, and the session itself.
    pub session: Option<String>,
    /// Events with this name, or below it: `gatekeeper` stands for all of the gatekeeper's.
    pub event: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
}

/// A [`Filter`] that goes through the log. Records that name only a start belong to the cage and the
/// session which the start's first record named.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    filter: Filter,
    starts: BTreeSet<String>,
}

/// A name of no event. A record of nothing by that name is no record of nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no event `{0}`")]
pub struct UnknownEvent(Name);

impl Filter {
    /// The same for events with this name, or below it.
    pub fn of_event(self, name: Option<&str>) -> Result<Self, UnknownEvent> {
        match name {
            Some(name) if !events().iter().any(|event| is_below(event.name, name)) => {
                Err(UnknownEvent(name.into()))
            }
            name => Ok(Self { event: name.map(str::to_owned), ..self }),
        }
    }

    /// Whether records of the past are needed to know what a record belongs to.
    pub(crate) fn needs_history(&self) -> bool {
        self.cage.is_some() || self.session.is_some()
    }
}

impl Matcher {
    pub(crate) fn new(filter: Filter) -> Self {
        Self { filter, starts: BTreeSet::new() }
    }

    /// Whether the next record of the log is wanted.
    pub(crate) fn wants(&mut self, record: &Record) -> bool {
        self.belongs(record)
            && self.filter.event.as_deref().is_none_or(|name| is_below(&record.name, name))
            && self.filter.since.is_none_or(|since| record.time >= since)
            && self.filter.until.is_none_or(|until| record.time <= until)
    }

    /// Whether a record belongs to the start, the cage and the session that are asked for.
    fn belongs(&mut self, record: &Record) -> bool {
        let Filter { cage, invocation, session, .. } = &self.filter;
        let start = record.text("invocation_id");
        let is_start = invocation
            .as_deref()
            .is_none_or(|asked| start.is_some_and(|start| begins_with(start, asked)));
        if !is_start || !self.filter.needs_history() {
            return is_start;
        }
        let names = |field: &str, asked: &Option<String>| {
            let Some(asked) = asked else { return true };
            record.text(field) == Some(Name::from(asked).as_str())
        };
        if names("cage", cage) && names("session_id", session) {
            self.starts.extend(start.map(str::to_owned));
            return true;
        }
        // Also after its end: what a program has left is looked for then.
        start.is_some_and(|start| self.starts.contains(start))
    }
}

/// Ids are written in capitals and often typed without.
fn begins_with(id: &str, asked: &str) -> bool {
    id.get(..asked.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(asked))
}

fn is_below(name: &str, asked: &str) -> bool {
    name.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
