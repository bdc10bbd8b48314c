//! Which session a caller means who names none: the one that last ran on the directory in which the caller is and that
//! has what is asked for.

use plan::HostPath;
use session::{AreaKind, SessionId, Sessions};
use workspace::WorkspaceError;

use crate::error::ReviewError;
use crate::place::Place;

/// What a session is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Changes that are not applied.
    Changes,
    /// An apply that can be taken back.
    Undo,
}

/// The session that is meant.
#[derive(Debug)]
pub struct Found {
    /// Which one.
    pub session: SessionId,
    /// Its workspaces.
    pub places: Vec<Place>,
    /// Others that it could have been, because they have what is asked for too.
    pub others: Vec<SessionId>,
}

/// The workspaces of a session that was named.
pub fn of_session(sessions: &Sessions, session: SessionId) -> Result<Found, ReviewError> {
    let places = Place::all(sessions, &session)?;
    Ok(Found { session, places, others: Vec::new() })
}

impl Found {
    /// The newest session with a workspace for a directory or one above it; one without anything to review is taken
    /// where there is no other.
    pub fn newest(
        sessions: &Sessions,
        directory: &HostPath,
        purpose: Purpose,
    ) -> Result<Self, ReviewError> {
        let mut candidates = Vec::new();
        let mut elsewhere = Vec::new();
        for listed in sessions.list()? {
            if listed.ending {
                continue;
            }
            // It ends, or its workspace begins, at this moment.
            let Ok(areas) = sessions.areas(&listed.id) else { continue };
            let workspaces = areas.iter().filter(|area| area.kind() == AreaKind::Workspace);
            let covering: Vec<_> =
                workspaces.clone().filter(|area| directory.is_within(area.of())).collect();
            if covering.is_empty() {
                let others = workspaces.map(|area| (listed.id.clone(), area.of().clone()));
                elsewhere.extend(others);
                continue;
            }
            let places = match Place::all(sessions, &listed.id) {
                Ok(places) => places,
                // Another directory of that session is gone.
                Err(ReviewError::Host { .. }) => continue,
                Err(error) => return Err(error),
            };
            let has_changes = covering.iter().any(|area| area.has_changes().unwrap_or(true));
            let wanted = match purpose {
                Purpose::Changes => has_changes,
                Purpose::Undo => places.iter().any(|place| place.has_undo().unwrap_or(false)),
            };
            let last_run = places.iter().map(|place| place.workspace().last_run());
            let last_run = last_run.collect::<Result<Vec<_>, WorkspaceError>>();
            let last_run = last_run.ok().and_then(|dates| dates.into_iter().max());
            candidates.push(((wanted, last_run), listed.id, places));
        }
        candidates.sort_by_key(|one| one.0);
        let Some((_, session, places)) = candidates.pop() else {
            let (directory, others) = (directory.clone(), elsewhere);
            return Err(ReviewError::NothingCovers { directory, others });
        };
        let others = candidates.into_iter().filter(|((wanted, _), _, _)| *wanted);
        Ok(Self { session, places, others: others.map(|(_, id, _)| id).collect() })
    }
}
