//! Taking the last apply back. What the host had before is kept until the next apply; an undo is the same kind of
//! journalled change, with the steps turned around.

use std::collections::HashSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::attributes::UserAttributes;
use crate::beneath::{self, Root};
use crate::copy::{self, Attributes};
use crate::error::{Layer, WorkspaceError};
use crate::failpoint;
use crate::journal::{self, Action, Done, Intent, Staging, wipe};
use crate::kept;
use crate::layer;
use crate::object::{Object, Stamp};
use crate::path::TreePath;
use crate::since::Since;
use crate::step::{Expected, Holds, Step, slot_name};
use crate::writers::RunsCode;

/// What was done, and what the host had when it was.
#[derive(Serialize, Deserialize)]
struct Record {
    intent: Intent,
    done: Done,
}

/// Takes the last apply back; returns the paths that are as before. Of those in `overwritten` nobody wants what the
/// host has made of them since.
pub(crate) fn undo(
    workspace: &Workspace,
    overwritten: &[TreePath],
) -> Result<Vec<TreePath>, WorkspaceError> {
    let applies = kept::directory(workspace.area.as_fd(), UNDO)?;
    let last: Option<String> = kept::read(applies.as_fd(), LAST)?;
    let id = last.ok_or(WorkspaceError::NothingToUndo)?;
    let kept_there = match beneath::open_directory(applies.as_fd(), id.as_bytes()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Err(WorkspaceError::NothingToUndo),
        Err(errno) => return Err(WorkspaceError::area("openat2")(errno)),
    };
    let record: Record =
        kept::read(kept_there.as_fd(), RECORD)?.ok_or(WorkspaceError::NothingToUndo)?;
    let there = check_unchanged(workspace, &record, overwritten)?;
    let old = beneath::open_directory(kept_there.as_fd(), OLD.as_bytes())
        .map_err(WorkspaceError::area("openat2"))?;
    let staging = journal::begin(workspace, RunsCode::No)?;
    let steps = match turned_around(&record, &there, &old, &staging) {
        Ok(steps) => steps,
        Err(error) => {
            journal::abandon(workspace, &staging);
            return Err(error);
        }
    };
    let mut paths: Vec<TreePath> = steps.iter().map(|step| step.path().clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    let intent = Intent {
        id: staging.id().to_owned(),
        action: Action::Undo(id),
        steps,
        leave: Vec::new(),
        disputed: Vec::new(),
        // About these the cage and the host disagree again.
        forget: record.intent.disputed,
    };
    journal::perform(workspace, staging, &intent)?;
    Ok(paths)
}

/// Whether there is an apply to take back. Says nothing about what the host has made of it since.
pub(crate) fn is_possible(workspace: &Workspace) -> Result<bool, WorkspaceError> {
    match beneath::open_directory(workspace.area.as_fd(), UNDO.as_bytes()) {
        Ok(applies) => kept::exists(applies.as_fd(), LAST),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(WorkspaceError::area("openat2")(errno)),
    }
}

/// Keeps what an apply has displaced, and tidies the upper layer. Can be done again.
pub(crate) fn keep(
    workspace: &Workspace,
    intent: &Intent,
    done: &Done,
    staging_parent: BorrowedFd<'_>,
    staging_name: &str,
) -> Result<(), WorkspaceError> {
    let applies = kept::directory(workspace.area.as_fd(), UNDO)?;
    let own = kept::directory(applies.as_fd(), &intent.id)?;
    let record = Record { intent: intent.clone(), done: done.clone() };
    kept::write(own.as_fd(), RECORD, &record)?;
    if !kept::exists(own.as_fd(), OLD)? {
        move_staging(staging_parent, staging_name, own.as_fd())?;
    }
    wipe(staging_parent, staging_name)?;
    remember(workspace, intent, done)?;
    let taken_out = Root::new(kept::directory(own.as_fd(), TAKEN_OUT)?);
    layer::tidy(workspace, &intent.leave, &taken_out)?;
    kept::write(applies.as_fd(), LAST, &intent.id)?;
    let names = beneath::names(applies.as_fd(), usize::MAX);
    for name in names.map_err(WorkspaceError::area("getdents64"))? {
        let name = String::from_utf8_lossy(&name).into_owned();
        if name != LAST && name != intent.id {
            wipe(applies.as_fd(), &name)?;
        }
    }
    Ok(())
}

/// Gives the upper layer back what the apply took out of it. Can be done again.
pub(crate) fn finish(
    workspace: &Workspace,
    intent: &Intent,
    done: &Done,
    of: &str,
) -> Result<(), WorkspaceError> {
    let applies = kept::directory(workspace.area.as_fd(), UNDO)?;
    match beneath::open_directory(applies.as_fd(), of.as_bytes()) {
        Ok(own) => {
            let taken_out = Root::new(kept::directory(own.as_fd(), TAKEN_OUT)?);
            layer::put_back(workspace, &taken_out)?;
        }
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(WorkspaceError::area("openat2")(errno)),
    }
    remember(workspace, intent, done)?;
    kept::remove(applies.as_fd(), LAST)?;
    wipe(applies.as_fd(), of)
}

/// What we left on the host is not a change that somebody else made.
fn remember(workspace: &Workspace, intent: &Intent, done: &Done) -> Result<(), WorkspaceError> {
    let forget: HashSet<&TreePath> = intent.forget.iter().collect();
    let at_steps = intent.steps.iter().zip(&done.after);
    let at_steps = at_steps.map(|(step, after)| (step.path().clone(), after.stamp().copied()));
    let around = done.around.iter().map(|(path, stamp)| (path.clone(), Some(*stamp)));
    let left = around.chain(at_steps).map(|(path, stamp)| {
        let stamp = stamp.filter(|_| !forget.contains(&path));
        (path, stamp)
    });
    Since::remember(workspace.area.as_fd(), left)
}

/// Old objects go to where they are kept: as they are if that is the same file system, as copies otherwise.
fn move_staging(
    parent: BorrowedFd<'_>,
    name: &str,
    own: BorrowedFd<'_>,
) -> Result<(), WorkspaceError> {
    failpoint::reached().map_err(WorkspaceError::area("renameat"))?;
    match rustix::fs::renameat(parent, name, own, OLD) {
        Err(Errno::XDEV) => {}
        other => return other.map_err(WorkspaceError::area("renameat")),
    }
    wipe(own, COPYING)?;
    copy::tree(parent, name.as_bytes(), own, COPYING.as_bytes())
        .map_err(WorkspaceError::area("copy"))?;
    rustix::fs::syncfs(own).map_err(WorkspaceError::area("syncfs"))?;
    failpoint::reached().map_err(WorkspaceError::area("renameat"))?;
    rustix::fs::renameat(own, COPYING, own, OLD).map_err(WorkspaceError::area("renameat"))
}

/// The host must be as the apply left it; returns what is at the path of each step.
fn check_unchanged(
    workspace: &Workspace,
    record: &Record,
    overwritten: &[TreePath],
) -> Result<Vec<Option<Stamp>>, WorkspaceError> {
    let (mut changed, mut there) = (Vec::new(), Vec::new());
    let puts = record.intent.steps.iter().filter(|step| matches!(step, Step::Put { .. }));
    let ours: HashSet<&TreePath> = puts.map(Step::path).collect();
    for (step, left) in record.intent.steps.iter().zip(&record.done.after) {
        let path = step.path();
        let now = workspace.host.look(path);
        let now = now.map_err(WorkspaceError::kernel("statx", path, Layer::Host))?;
        let is_same = left.is_unchanged(now.as_ref()) || overwritten.contains(path);
        // What somebody put into a directory has a name of its own, which is not in the list.
        if !(is_same && has_only_ours(workspace, &ours, step)?) && changed.last() != Some(path) {
            changed.push(path.clone());
        }
        there.push(now.map(|now| now.stamp));
    }
    changed.sort_unstable();
    changed.dedup();
    if changed.is_empty() { Ok(there) } else { Err(WorkspaceError::CannotUndo(changed)) }
}

/// Whether a directory that the apply made holds nothing but what it put there.
fn has_only_ours(
    workspace: &Workspace,
    ours: &HashSet<&TreePath>,
    step: &Step,
) -> Result<bool, WorkspaceError> {
    let Step::Put { path, holds: Holds::Nothing, .. } = step else { return Ok(true) };
    let names = workspace.host.directory(path);
    let names = names.and_then(|opened| beneath::names(opened.as_fd(), usize::MAX));
    let names = names.map_err(WorkspaceError::kernel("openat2", path, Layer::Host))?;
    Ok(names.iter().all(|name| path.join(name).is_ok_and(|path| ours.contains(&path))))
}

/// The steps back, in reverse, with copies of the old objects staged for them: what is kept stays until the host
/// is done.
fn turned_around(
    record: &Record,
    there: &[Option<Stamp>],
    old: &OwnedFd,
    staging: &Staging,
) -> Result<Vec<Step>, WorkspaceError> {
    let mut steps = Vec::new();
    for (step, there) in record.intent.steps.iter().zip(there).rev() {
        let path = step.path().clone();
        let slot = u64::try_from(steps.len()).unwrap_or(u64::MAX);
        let failed = WorkspaceError::kernel("copy", &path, Layer::Area);
        let is_emptied = matches!(step, Step::Put { holds: Holds::Nothing, .. });
        let there =
            there.map(
                |there| {
                    if is_emptied { Expected::Emptied(there) } else { Expected::Exactly(there) }
                },
            );
        match step {
            Step::Put { slot: kept, old: Some(_), .. } | Step::Take { slot: kept, .. } => {
                let restored = restore(old, &slot_name(*kept), staging, slot, there, &path);
                steps.extend(restored.map_err(failed)?);
            }
            Step::Put { old: None, .. } => {
                let old = there.ok_or_else(|| WorkspaceError::HostChanged(path.clone()))?;
                steps.push(Step::Take { path, slot, old });
            }
            Step::SetAttributes { before, after, .. } => {
                let (before, after) = (after.clone(), before.clone());
                steps.push(Step::SetAttributes { path, before, after });
            }
        }
    }
    Ok(steps)
}

/// Stages a copy of an old object: the step that puts it in place and, for a directory, its attributes.
fn restore(
    kept: &OwnedFd,
    name: &str,
    staging: &Staging,
    slot: u64,
    old: Option<Expected>,
    path: &TreePath,
) -> Result<Vec<Step>, Errno> {
    let name = name.as_bytes();
    let object = Object::at(kept, name)?.ok_or(Errno::STALE)?;
    let staged = slot_name(slot);
    let new = copy::tree(kept.as_fd(), name, staging.directory.as_fd(), staged.as_bytes())?;
    let is_directory = object.is_directory();
    let holds = if is_directory { Holds::Tree } else { Holds::Content };
    let (stamp, modified, path) = (new.stamp, new.modified, path.clone());
    let mut steps = vec![Step::Put { path: path.clone(), slot, new: stamp, modified, old, holds }];
    if is_directory {
        let after = Attributes::exact(kept.as_fd(), name, &object)?;
        let before = Attributes { mode: 0o700, modified: None, user: UserAttributes::new() };
        steps.push(Step::SetAttributes { path, before, after });
    }
    Ok(steps)
}

const UNDO: &str = "undo";
/// Names the apply that can be undone.
const LAST: &str = "last";
const RECORD: &str = "record";
/// What the host had.
const OLD: &str = "old";
const COPYING: &str = "copying";
/// What the upper layer had and the host has now.
const TAKEN_OUT: &str = "upper";
