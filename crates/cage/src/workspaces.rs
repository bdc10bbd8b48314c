//! What a program has changed in its views of directories, looked at when it has ended. Changes nothing on the host, and
//! throws nothing away that differs from it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use plan::{Plan, Source};
use policy::with_causes;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use session::{Area, AreaKind, Session};
use workspace::{Changes, Marking, Meter, Reading, What, Workspace, WorkspaceError};

use crate::outcome::{ChangeCounts, WorkspaceOutcome};
use crate::program::Program;

impl Program {
    /// Looks at the workspaces of the program's session. Where nothing differs from the host, nothing is kept.
    pub(crate) fn look_at_workspaces(&self) -> Vec<WorkspaceOutcome> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let look = |session: &Session| {
            let workspaces =
                session.held().iter().filter(|area| area.kind() == AreaKind::Workspace);
            workspaces.map(|area| outcome(plan, session, area)).collect()
        };
        self.with_session(look).unwrap_or_default()
    }

    /// Measures a little of what the program has written to layers. Returns whether that is too much.
    pub(crate) fn has_written_too_much(&self) -> bool {
        matches!(self.meter().as_mut().map(Meter::step), Some(Reading::Beyond(_)))
    }
}

fn outcome(plan: &Plan, session: &Session, area: &Area) -> WorkspaceOutcome {
    let changes = changes(plan, area).map(|changes| counts(&changes));
    let (of, session) = (area.of().clone(), session.id().as_str().to_owned());
    WorkspaceOutcome { of, session, changes: changes.map_err(|error| with_causes(&error)) }
}

fn changes(plan: &Plan, area: &Area) -> Result<Changes, LookError> {
    let source = plan.sources().find(|source| source.path == *area.of()).ok_or(LookError::Moved)?;
    let host = open(source)?;
    let own = rustix::io::fcntl_dupfd_cloexec(area.as_fd(), 0).map_err(LookError::Open)?;
    let workspace = Workspace::new(host, own, Marking::User).with_most_names(MOST_NAMES);
    let changes = workspace.changes()?;
    if changes.list.is_empty() && changes.refused.is_empty() {
        workspace.discard_all()?;
    }
    Ok(changes)
}

/// The host's directory, if it is still the one that was shown.
fn open(source: &Source) -> Result<OwnedFd, LookError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let opened = rustix::fs::openat2(CWD, source.path.as_bytes(), flags, Mode::empty(), resolve)
        .map_err(LookError::Open)?;
    let status = rustix::fs::fstat(&opened).map_err(LookError::Open)?;
    let is_same = (status.st_dev, status.st_ino) == (source.device, source.inode);
    if is_same { Ok(opened) } else { Err(LookError::Moved) }
}

fn counts(changes: &Changes) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for change in &changes.list {
        let count = match &change.what {
            What::Added => &mut counts.added,
            What::Deleted => &mut counts.deleted,
            What::Renamed { .. } => &mut counts.renamed,
            What::Modified | What::AttributesChanged | What::TypeChanged => &mut counts.changed,
        };
        *count = count.saturating_add(1);
    }
    counts.refused = u64::try_from(changes.refused.len()).unwrap_or(u64::MAX);
    counts
}

/// Why it cannot be told what was changed.
#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error("the directory was replaced on the host during the run")]
    Moved,
    #[error("the directory cannot be opened")]
    Open(#[source] Errno),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// How often a program's layers are measured.
pub(crate) const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// More than a person looks at when a program ends; a review looks at more.
const MOST_NAMES: usize = 200_000;
