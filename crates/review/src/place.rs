//! One directory of the host and what one session changed in its view of it: looked at freely, changed on record.

use std::os::unix::ffi::OsStrExt as _;

use audit::{AuditError, Log};
use plan::HostPath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use session::{Area, AreaKind, SessionId, Sessions};
use workspace::{
    Applied, Changes, Guarded, Marking, Progress, Request, TreePath, Workspace, WorkspaceError,
};

use crate::commits::Before;
use crate::error::ReviewError;
use crate::record::{Action, Outcome, intent, outcome};
use crate::report::AppliedReport;

/// A workspace of a session.
#[derive(Debug)]
pub struct Place {
    session: SessionId,
    path: HostPath,
    processes: Vec<i32>,
    workspace: Workspace,
}

/// What was found, and how far it can be relied on.
#[derive(Debug)]
pub struct Looked {
    /// What differs.
    pub changes: Changes,
    /// A program or another command is at work on it, so it may be different at the next look.
    pub in_use: bool,
}

/// Something that was done.
#[derive(Debug)]
pub struct Done<T> {
    /// What came of it.
    pub value: T,
    /// Why that is not on record, if it is not; that it was going to happen is.
    pub unrecorded: Option<AuditError>,
}

impl Place {
    /// The workspaces of a session, by their paths.
    pub fn all(sessions: &Sessions, session: &SessionId) -> Result<Vec<Self>, ReviewError> {
        let listed = sessions.look(session)?;
        let processes: Vec<i32> =
            listed.processes.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
        let areas = sessions.areas(session)?.into_iter();
        let mut places: Vec<Self> = areas
            .filter(|area| area.kind() == AreaKind::Workspace)
            .map(|area| Self::open(session, &processes, area))
            .collect::<Result<_, _>>()?;
        places.sort_by(|one, other| one.path.cmp(&other.path));
        if places.is_empty() { Err(ReviewError::NoWorkspace(session.clone())) } else { Ok(places) }
    }

    pub(crate) fn open(
        session: &SessionId,
        processes: &[i32],
        area: Area,
    ) -> Result<Self, ReviewError> {
        let path = area.of().clone();
        // Where it really was when the run began: a link on the way was made since.
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve);
        let host = opened.map_err(|source| ReviewError::Host {
            session: session.clone(),
            path: path.clone(),
            source,
        })?;
        let workspace = Workspace::new(host, area.into_descriptor(), MARKING);
        let workspace = workspace.with_guarded(guarded(&path));
        Ok(Self { session: session.clone(), path, processes: processes.to_vec(), workspace })
    }

    /// Says how far long work has come.
    pub fn with_progress(self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { workspace: self.workspace.with_progress(listener), ..self }
    }

    /// Whose it is.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The directory of the host.
    pub fn path(&self) -> &HostPath {
        &self.path
    }

    /// The workspace, for whoever writes changes out.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// What programs have changed. One that is in use is looked at as it is.
    pub fn look(&self, log: &Log) -> Result<Looked, ReviewError> {
        let in_use = self.workspace.is_in_use()?;
        if !in_use {
            match self.recover(log) {
                Ok(()) => return Ok(Looked { changes: self.workspace.changes()?, in_use }),
                Err(ReviewError::InUse { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Looked { changes: self.workspace.changes_in_use()?, in_use: true })
    }

    /// What programs have changed, for somebody who wants to do something about it.
    pub fn changes(&self, log: &Log) -> Result<Changes, ReviewError> {
        if self.workspace.is_in_use()? {
            return Err(self.in_use());
        }
        self.recover(log)?;
        self.workspace.changes().map_err(|error| self.explained(error))
    }

    /// What an apply would do. Changes nothing.
    pub fn preview(&self, changes: &Changes, request: &Request) -> Result<Applied, ReviewError> {
        self.workspace.preview(changes, request).map_err(|error| self.explained(error))
    }

    /// Brings changes to the host.
    pub fn apply(
        &self,
        changes: &Changes,
        request: &Request,
        log: &Log,
    ) -> Result<Done<AppliedReport>, ReviewError> {
        let report = |applied| AppliedReport::new(&self.path, changes, applied);
        let preview = self.preview(changes, request)?;
        let concerned: Vec<&TreePath> = preview.applied.iter().chain(&preview.merged).collect();
        if concerned.is_empty() {
            return Ok(Done { value: report(preview), unrecorded: None });
        }
        intent(log, self, Action::Apply, &concerned)?;
        let before = Before::of(&self.path, concerned.into_iter());
        let applied = self.workspace.apply(changes, request);
        let done = self.concluded(log, Action::Apply, applied, |applied| Outcome {
            done: applied.applied.len(),
            merged: applied.merged.len(),
            conflicts: applied.left.len(),
            held: applied.held.len(),
        })?;
        let (committed, commits_read) = before.came();
        let value = AppliedReport { committed, commits_read, ..report(done.value) };
        Ok(Done { value, unrecorded: done.unrecorded })
    }

    /// Throws changes away: those that paths name, or all.
    pub fn discard(&self, paths: Option<&[TreePath]>, log: &Log) -> Result<Done<()>, ReviewError> {
        if self.workspace.is_in_use()? {
            return Err(self.in_use());
        }
        let concerned: Vec<&TreePath> = paths.unwrap_or_default().iter().collect();
        intent(log, self, Action::Discard, &concerned)?;
        let discarded = match paths {
            Some(paths) => self.workspace.discard(paths),
            None => self.workspace.discard_all(),
        };
        let done = concerned.len();
        self.concluded(log, Action::Discard, discarded, |()| Outcome { done, ..Outcome::default() })
    }

    /// Whether there is an apply that can be taken back.
    pub fn has_undo(&self) -> Result<bool, ReviewError> {
        Ok(self.workspace.has_undo()?)
    }

    /// Takes the last apply back, over what the host has made of `overwritten` since. Returns the paths that are as
    /// before it.
    pub fn undo(
        &self,
        overwritten: &[TreePath],
        log: &Log,
    ) -> Result<Done<Vec<TreePath>>, ReviewError> {
        if self.workspace.is_in_use()? {
            return Err(self.in_use());
        }
        self.recover(log)?;
        if !self.workspace.has_undo()? {
            return Err(WorkspaceError::NothingToUndo.into());
        }
        intent(log, self, Action::Undo, &overwritten.iter().collect::<Vec<_>>())?;
        let undone = self.workspace.undo(overwritten);
        self.concluded(log, Action::Undo, undone, |paths| Outcome {
            done: paths.len(),
            ..Outcome::default()
        })
    }

    /// Finishes what was interrupted, which is on record as it was going to happen.
    fn recover(&self, log: &Log) -> Result<(), ReviewError> {
        let recovered = self.workspace.recover().map_err(|error| self.explained(error))?;
        if recovered {
            outcome(log, self, Action::Recover, Ok(Outcome::default()))
                .map_err(ReviewError::Record)?;
        }
        Ok(())
    }

    fn concluded<T>(
        &self,
        log: &Log,
        action: Action,
        result: Result<T, WorkspaceError>,
        count: impl FnOnce(&T) -> Outcome,
    ) -> Result<Done<T>, ReviewError> {
        match result {
            Ok(value) => {
                let unrecorded = outcome(log, self, action, Ok(count(&value))).err();
                Ok(Done { value, unrecorded })
            }
            Err(error) => {
                // Why it failed is told to the caller, whatever can be written.
                let _unrecorded = outcome(log, self, action, Err(&error));
                Err(self.explained(error))
            }
        }
    }

    fn explained(&self, error: WorkspaceError) -> ReviewError {
        match error {
            WorkspaceError::Busy => self.in_use(),
            error => error.into(),
        }
    }

    fn in_use(&self) -> ReviewError {
        ReviewError::InUse {
            session: self.session.clone(),
            path: self.path.clone(),
            processes: self.processes.clone(),
        }
    }
}

/// Cages mount overlayfs with `userxattr`, whoever starts them.
const MARKING: Marking = Marking::User;

/// What of the host's directory runs code although no name says so.
fn guarded(directory: &HostPath) -> Guarded {
    let home = std::env::home_dir().and_then(|home| HostPath::new(home.into_os_string()).ok());
    let relative = |path: HostPath| {
        let below = path.as_path().strip_prefix(directory.as_path()).ok()?;
        TreePath::parse(below.as_os_str().as_bytes()).ok()
    };
    let paths =
        resolve::led_to(directory, home.as_ref()).into_iter().filter_map(relative).collect();
    let program = rustix::fs::stat("/proc/self/exe").ok();
    Guarded { paths, program: program.map(|status| (status.st_dev, status.st_ino)) }
}
