//! How much a session holds and how old it is, for a list, and for whoever removes old ones. Changes nothing.

use std::time::{Duration, SystemTime};

use plan::HostPath;
use serde::{Serialize, Serializer};
use session::{AreaKind, SessionId, Sessions};
use workspace::Usage;

use crate::error::ReviewError;
use crate::place::Place;

/// A workspace in a list.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The directory of the host.
    pub path: HostPath,
    /// What it takes on the disk.
    pub bytes: u64,
    /// Whether there is more than was counted.
    pub partial: bool,
    /// How many paths differ; null where nobody has counted, because there are too many.
    pub changes: Option<usize>,
    /// When its last run began.
    #[serde(serialize_with = "as_seconds")]
    pub last_run: SystemTime,
    /// Whether the last apply can be taken back.
    pub undo: bool,
    /// Whether a program or another command uses it.
    pub in_use: bool,
}

/// Workspaces by their paths, or why one cannot be looked at.
pub type Overviews = Vec<(HostPath, Result<Overview, ReviewError>)>;

/// The workspaces of a session, those too that cannot be looked at.
pub fn overviews(sessions: &Sessions, session: &SessionId) -> Result<Overviews, ReviewError> {
    let mut all = Vec::new();
    for area in sessions.areas(session)? {
        if area.kind() == AreaKind::Workspace {
            let path = area.of().clone();
            let overview = Place::open(session, &[], area).and_then(|place| Overview::of(&place));
            all.push((path, overview));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(all)
}

impl Overview {
    /// Looks at a workspace.
    pub fn of(place: &Place) -> Result<Self, ReviewError> {
        let workspace = place.workspace();
        let Usage { bytes, names, is_partial, .. } = workspace.usage()?;
        let changes = if is_partial || names > MOST_COMPARED {
            None
        } else {
            let changes = workspace.changes_in_use()?;
            Some(changes.list.len() + changes.refused.len())
        };
        let (seconds, nanoseconds) = workspace.last_run()?;
        let since_1970 = Duration::new(u64::try_from(seconds).unwrap_or_default(), nanoseconds);
        Ok(Self {
            path: place.path().clone(),
            bytes,
            partial: is_partial,
            changes,
            last_run: SystemTime::UNIX_EPOCH.checked_add(since_1970).unwrap_or(SystemTime::now()),
            undo: workspace.has_undo()?,
            in_use: workspace.is_in_use()?,
        })
    }

    /// Whether there is anything that a person has not decided about.
    pub fn has_changes(&self) -> bool {
        self.changes != Some(0)
    }
}

fn as_seconds<S: Serializer>(moment: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    audit::Timestamp::from(*moment).to_string().serialize(serializer)
}

/// More names are not compared one by one for a list.
const MOST_COMPARED: usize = 20_000;
