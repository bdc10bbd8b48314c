//! The journal that makes an apply or an undo whole: what will be done is durable before the host changes, and
//! whatever interrupts it, the next call finishes it or takes it back. What the files of the journal say:
//!
//! | files | meaning | recovery |
//! |---|---|---|
//! | `begun` | objects are being staged; the host is untouched | the staged ones are thrown away |
//! | and `intent` | the host is being changed | the steps are finished; if that fails, taken back |
//! | and `rollback` | the steps are being taken back | they are taken back |
//! | and `applied` | the host is done | old objects are kept for an undo, the upper layer is tidied |

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::beneath;
use crate::error::{Layer, WorkspaceError};
use crate::failpoint;
use crate::kept;
use crate::object::{Object, Stamp};
use crate::path::TreePath;
use crate::progress::{Listener, Progress};
use crate::since::Since;
use crate::step::{Left, Reversal, Site, Step};
use crate::undo;
use crate::writers::{HeldOff, RunsCode};

/// What will be done, and what has to be known to finish it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) id: String,
    pub(crate) action: Action,
    pub(crate) steps: Vec<Step>,
    /// Paths that leave the upper layer although the host does not have the same.
    pub(crate) leave: Vec<TreePath>,
    /// Paths about which host and cage disagreed.
    pub(crate) disputed: Vec<TreePath>,
    /// Paths whose state on the host is not to be taken for one that we left.
    pub(crate) forget: Vec<TreePath>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Apply,
    /// Of the apply with this id.
    Undo(String),
}

/// Where objects wait to be put in place, on the file system of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Begun {
    id: String,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum At {
    /// In the area, because that is on the same mount.
    Area,
    /// In the host's directory itself.
    Host,
}

/// What was left on the host when all steps were done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// By each step.
    pub(crate) after: Vec<Left>,
    /// What lies below the directories that were put there with everything in them, and the directories above all.
    pub(crate) around: Vec<(TreePath, Stamp)>,
}

/// A staging directory that is being filled. Nothing of it is on the host yet.
pub(crate) struct Staging {
    begun: Begun,
    pub(crate) directory: OwnedFd,
    held_off: Option<HeldOff>,
}

impl Staging {
    pub(crate) fn id(&self) -> &str {
        &self.begun.id
    }
}

/// Whether a call was interrupted.
pub(crate) fn is_open(workspace: &Workspace) -> Result<bool, WorkspaceError> {
    match beneath::open_directory(workspace.area.as_fd(), JOURNAL.as_bytes()) {
        Ok(journal) => kept::exists(journal.as_fd(), BEGUN),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(WorkspaceError::area("openat2")(errno)),
    }
}

/// Finishes or takes back what was interrupted.
pub(crate) fn recover(workspace: &Workspace) -> Result<(), WorkspaceError> {
    if !is_open(workspace)? {
        return Ok(());
    }
    let journal = open(workspace)?;
    let Some(begun) = kept::read::<Begun>(journal.as_fd(), BEGUN)? else { return Ok(()) };
    let _held_off = hold_off(workspace, begun.at, RunsCode::No)?;
    let Some(intent) = kept::read::<Intent>(journal.as_fd(), INTENT)? else {
        return give_up(workspace, &begun);
    };
    if let Some(done) = kept::read::<Done>(journal.as_fd(), APPLIED)? {
        return finish(workspace, &begun, &intent, &done);
    }
    let site = Site { host: &workspace.host, staging: open_staging(workspace, &begun)? };
    if !kept::exists(journal.as_fd(), ROLLBACK)? {
        match go_forward(&site, journal.as_fd(), &intent, &workspace.listener) {
            Ok(done) => return finish(workspace, &begun, &intent, &done),
            // Whole before is as good as whole after; what was not applied is still there to be.
            Err(_) => mark_rollback(journal.as_fd()),
        }
    }
    go_back(workspace, &site, &begun, &intent)
}

/// Begins an apply or an undo.
pub(crate) fn begin(workspace: &Workspace, runs_code: RunsCode) -> Result<Staging, WorkspaceError> {
    let at = where_to_stage(workspace).map_err(WorkspaceError::area("statx"))?;
    let held_off = hold_off(workspace, at, runs_code)?;
    let journal = open(workspace)?;
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(WorkspaceError::area("getrandom"))?;
    let id = format!("{:016x}", u64::from_ne_bytes(random));
    let begun = Begun { id, at };
    kept::write(journal.as_fd(), BEGUN, &begun)?;
    kept::sync(workspace.area.as_fd())?;
    let (parent, name) = staging_place(workspace, &begun);
    match kept::directory(parent, &name) {
        Ok(directory) => Ok(Staging { begun, directory, held_off }),
        Err(error) => {
            abandon_begun(workspace, &begun);
            Err(error)
        }
    }
}

/// Gives up before anything has reached the host.
pub(crate) fn abandon(workspace: &Workspace, staging: &Staging) {
    abandon_begun(workspace, &staging.begun);
}

/// Changes the host by the steps: all of them or none.
pub(crate) fn perform(
    workspace: &Workspace,
    staging: Staging,
    intent: &Intent,
) -> Result<(), WorkspaceError> {
    let journal = open(workspace).and_then(|journal| {
        sync_all(staging.directory.as_fd(), workspace)?;
        kept::write(journal.as_fd(), INTENT, intent)?;
        Ok(journal)
    });
    let journal = match journal {
        Ok(journal) => journal,
        Err(error) => {
            abandon(workspace, &staging);
            return Err(error);
        }
    };
    let Staging { begun, directory, held_off: _held_off } = staging;
    let site = Site { host: &workspace.host, staging: directory };
    match go_forward(&site, journal.as_fd(), intent, &workspace.listener) {
        Ok(done) => finish(workspace, &begun, intent, &done)
            .map_err(|error| WorkspaceError::Unfinished(Box::new(error))),
        Err(error) => {
            mark_rollback(journal.as_fd());
            go_back(workspace, &site, &begun, intent)?;
            Err(error)
        }
    }
}

/// Does all steps and notes durably that they are done.
fn go_forward(
    site: &Site<'_>,
    journal: BorrowedFd<'_>,
    intent: &Intent,
    listener: &Listener,
) -> Result<Done, WorkspaceError> {
    for (number, step) in intent.steps.iter().enumerate() {
        step.forward(site)?;
        listener.tell(Progress::Done { steps: number + 1, of: intent.steps.len() });
    }
    let mut done = Done { after: Vec::with_capacity(intent.steps.len()), around: Vec::new() };
    let mut above = BTreeSet::new();
    for step in &intent.steps {
        let failed = WorkspaceError::kernel("statx", step.path(), Layer::Host);
        let looked = site.host.look(step.path()).and_then(|now| {
            if step.puts_a_tree() {
                done.around.extend(beneath::all_below(site.host, step.path())?);
            }
            Ok(now)
        });
        done.after.push(step.left(looked.map_err(failed)?));
        above.extend(step.path().split().map(|(parent, _)| parent));
    }
    for path in above {
        let directory = site.host.directory(&path).and_then(Object::of);
        done.around.extend(directory.ok().map(|directory| (path, directory.stamp)));
    }
    failpoint::reached().map_err(WorkspaceError::area("syncfs"))?;
    rustix::fs::syncfs(site.host).map_err(WorkspaceError::area("syncfs"))?;
    kept::write(journal, APPLIED, &done)?;
    Ok(done)
}

/// Takes all steps back, last first, and closes the journal.
fn go_back(
    workspace: &Workspace,
    site: &Site<'_>,
    begun: &Begun,
    intent: &Intent,
) -> Result<(), WorkspaceError> {
    let (mut in_the_way, mut restored) = (Vec::new(), Vec::new());
    for step in intent.steps.iter().rev() {
        let path = step.path();
        match step.back(site)? {
            Reversal::Untouched => {}
            Reversal::Blocked => in_the_way.push(path.clone()),
            Reversal::Restored => {
                let now = site.host.look(path);
                let now = now.map_err(WorkspaceError::kernel("statx", path, Layer::Host))?;
                restored.push((path.clone(), now.map(|now| now.stamp)));
            }
        }
    }
    if !in_the_way.is_empty() {
        return Err(WorkspaceError::InTheWay(in_the_way));
    }
    failpoint::reached().map_err(WorkspaceError::area("syncfs"))?;
    rustix::fs::syncfs(site.host).map_err(WorkspaceError::area("syncfs"))?;
    // To be moved there and back is no change that somebody else made.
    restored.retain(|(path, _)| !intent.disputed.contains(path));
    Since::remember(workspace.area.as_fd(), restored)?;
    give_up(workspace, begun)
}

fn finish(
    workspace: &Workspace,
    begun: &Begun,
    intent: &Intent,
    done: &Done,
) -> Result<(), WorkspaceError> {
    match &intent.action {
        Action::Apply => {
            let (parent, name) = staging_place(workspace, begun);
            undo::keep(workspace, intent, done, parent, &name)?;
        }
        Action::Undo(of) => {
            undo::finish(workspace, intent, done, of)?;
            wipe_staging(workspace, begun)?;
        }
    }
    close(open(workspace)?.as_fd())
}

/// The last file to go is the one by which an interruption is found.
fn close(journal: BorrowedFd<'_>) -> Result<(), WorkspaceError> {
    for name in [INTENT, APPLIED, ROLLBACK, BEGUN] {
        kept::remove(journal, name)?;
    }
    kept::sync(journal)
}

/// Nothing is lost if the note cannot be written: going forward is tried once more, and fails again.
fn mark_rollback(journal: BorrowedFd<'_>) {
    let _ = kept::write(journal, ROLLBACK, &());
}

fn open(workspace: &Workspace) -> Result<OwnedFd, WorkspaceError> {
    kept::directory(workspace.area.as_fd(), JOURNAL)
}

fn abandon_begun(workspace: &Workspace, begun: &Begun) {
    // What cannot be removed now is removed by the next call, which finds the journal open.
    let _ = give_up(workspace, begun);
}

/// Throws away what is staged, once nobody can go forward with it any more.
fn give_up(workspace: &Workspace, begun: &Begun) -> Result<(), WorkspaceError> {
    let journal = open(workspace)?;
    kept::remove(journal.as_fd(), INTENT)?;
    kept::sync(journal.as_fd())?;
    wipe_staging(workspace, begun)?;
    close(journal.as_fd())
}

fn staging_place<'workspace>(
    workspace: &'workspace Workspace,
    begun: &Begun,
) -> (BorrowedFd<'workspace>, String) {
    match begun.at {
        At::Area => (workspace.area.as_fd(), format!("staging-{}", begun.id)),
        At::Host => (workspace.host.as_fd(), format!(".stockade-apply-{}", begun.id)),
    }
}

fn open_staging(workspace: &Workspace, begun: &Begun) -> Result<OwnedFd, WorkspaceError> {
    let (parent, name) = staging_place(workspace, begun);
    kept::directory(parent, &name)
}

fn wipe_staging(workspace: &Workspace, begun: &Begun) -> Result<(), WorkspaceError> {
    let (parent, name) = staging_place(workspace, begun);
    wipe(parent, &name)
}

/// Removes a directory of our own with everything in it.
pub(crate) fn wipe(parent: BorrowedFd<'_>, name: &str) -> Result<(), WorkspaceError> {
    let failed = WorkspaceError::area("unlinkat");
    let wiped = failpoint::reached().and_then(|()| {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        sys::wipe::wipe(parent, &name)
    });
    wiped.map_err(failed)
}

/// No cage reaches the area.
fn hold_off(
    workspace: &Workspace,
    at: At,
    runs_code: RunsCode,
) -> Result<Option<HeldOff>, WorkspaceError> {
    match at {
        At::Area => Ok(None),
        At::Host => HeldOff::begin(&workspace.host, runs_code).map(Some),
    }
}

/// Objects can be renamed between two directories if both are on the same mount.
fn where_to_stage(workspace: &Workspace) -> Result<At, Errno> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let look = |directory: BorrowedFd<'_>| {
        let status = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted)?;
        let mount = status.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let device = (status.stx_dev_major, status.stx_dev_minor);
        Ok::<_, Errno>(mount.then_some((device, status.stx_mnt_id)))
    };
    let (area, host) = (look(workspace.area.as_fd())?, look(workspace.host.as_fd())?);
    Ok(if area.is_some() && area == host { At::Area } else { At::Host })
}

/// Staged objects reach the disk before the intent that relies on them.
fn sync_all(staging: BorrowedFd<'_>, workspace: &Workspace) -> Result<(), WorkspaceError> {
    failpoint::reached().map_err(WorkspaceError::area("syncfs"))?;
    rustix::fs::syncfs(staging).map_err(WorkspaceError::area("syncfs"))?;
    kept::sync(workspace.area.as_fd())
}

const JOURNAL: &str = "journal";
const BEGUN: &str = "begun";
const INTENT: &str = "intent";
const APPLIED: &str = "applied";
const ROLLBACK: &str = "rollback";
