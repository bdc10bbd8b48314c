//! What is on record about a change of a workspace: that it is about to happen, durably, and what came of it.

use audit::{AuditError, Event, Log};
use policy::with_causes;
use workspace::{TreePath, WorkspaceError};

use crate::error::ReviewError;
use crate::place::Place;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Apply,
    Discard,
    Undo,
    Recover,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Discard => "discard",
            Self::Undo => "undo",
            Self::Recover => "recover",
        }
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) done: usize,
    pub(crate) merged: usize,
    pub(crate) conflicts: usize,
    pub(crate) held: usize,
}

/// Records that something is about to happen; durable when this returns.
pub(crate) fn intent(
    log: &Log,
    place: &Place,
    action: Action,
    paths: &[&TreePath],
) -> Result<(), ReviewError> {
    let mut listed = Vec::new();
    for path in paths {
        // More would not fit; how many there are is on record too.
        if listed.len() > MOST_LISTED {
            break;
        }
        listed.extend_from_slice(path.as_bytes());
        listed.push(0);
    }
    let event = Event::WorkspaceIntent {
        session_id: place.session().as_str().into(),
        path: place.path().as_bytes().into(),
        action: action.word().into(),
        count: number(paths.len()),
        paths: listed.as_slice().into(),
    };
    log.record(&event).map(drop).map_err(ReviewError::Record)
}

/// Records what came of it.
pub(crate) fn outcome(
    log: &Log,
    place: &Place,
    action: Action,
    result: Result<Outcome, &WorkspaceError>,
) -> Result<(), AuditError> {
    let (word, counts, details) = match result {
        Ok(counts) => ("done", counts, String::new()),
        Err(error) => ("failed", Outcome::default(), with_causes(error)),
    };
    log.record(&Event::WorkspaceOutcome {
        session_id: place.session().as_str().into(),
        path: place.path().as_bytes().into(),
        action: action.word().into(),
        outcome: word.into(),
        done: number(counts.done),
        merged: number(counts.merged),
        conflicts: number(counts.conflicts),
        held: number(counts.held),
        details: details.as_str().into(),
    })?;
    log.checkpoint()
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// In bytes: what a text of the record holds at most.
const MOST_LISTED: usize = 4096;
