//! Choosing what reaches the host, and staging it: fresh objects of the caller's own, made of what was reviewed.
//! What the host changed since is merged where that is certain and left alone otherwise. The journal does the rest.

mod stage;

use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd as _;

use policy::protected::{self, Object};

use crate::beneath::Root;
use crate::change::{Change, Changes, Conflict, What};
use crate::content::{self, MOST_TEXT};
use crate::diff::FileHunks;
use crate::error::WorkspaceError;
use crate::journal::{self, Action, Intent};
use crate::object::Kind;
use crate::path::TreePath;
use crate::writers::RunsCode;
use crate::{Workspace, base, merge};

use stage::{Content, Put, Stage};

/// What to apply.
#[derive(Clone, Debug)]
pub enum Selection {
    /// Everything.
    All,
    /// What these paths name, and what lies below them.
    Paths(Vec<TreePath>),
    /// Some hunks of some files, and other changes as a whole.
    Parts {
        /// What these paths name, and what lies below them.
        whole: Vec<TreePath>,
        /// The chosen hunks of other files.
        hunks: Vec<FileHunks>,
    },
}

/// What is done where host and cage both changed a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// Nothing: the host's stays.
    Never,
    /// The host gets the changes of both, where none contradicts another.
    WhereCertain,
}

/// What to apply, and what to do about conflicts.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which changes.
    pub selection: Selection,
    /// Where the cage's object takes the place of the host's although that changed since. To keep the host's, the
    /// change is discarded.
    pub force: Vec<TreePath>,
    /// What is done about the other conflicts.
    pub merging: Merging,
    /// What runs code on the host by its name alone is applied only where that very name is here, or a directory
    /// above it that is nothing but such names.
    pub confirmed: BTreeSet<TreePath>,
}

impl Request {
    /// All of a selection but conflicts and names that run code.
    pub fn of(selection: Selection) -> Self {
        let (merging, confirmed) = (Merging::Never, BTreeSet::new());
        Self { selection, force: Vec::new(), merging, confirmed }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The host has these as the cage saw them.
    pub applied: Vec<TreePath>,
    /// The host has the changes of both sides in these.
    pub merged: Vec<TreePath>,
    /// The host was changed here since: nothing was done.
    pub left: Vec<(TreePath, Conflict)>,
    /// Those of them where [`Merging::WhereCertain`] would have had an effect.
    pub mergeable: Vec<TreePath>,
    /// The name runs code on the host, and nobody has confirmed it: nothing was done.
    pub held: Vec<TreePath>,
}

/// What an apply would do, with nothing done.
pub(crate) fn preview(
    workspace: &Workspace,
    changes: &Changes,
    request: &Request,
) -> Result<Applied, WorkspaceError> {
    Ok(choose(workspace, changes, request)?.report)
}

/// Applies what is selected.
pub(crate) fn apply(
    workspace: &Workspace,
    changes: &Changes,
    request: &Request,
) -> Result<Applied, WorkspaceError> {
    let chosen = choose(workspace, changes, request)?;
    if chosen.is_empty() {
        return Ok(chosen.report);
    }
    let runs_code = match chosen.all().any(|change| change.protected.is_some()) {
        true => RunsCode::Perhaps,
        false => RunsCode::No,
    };
    let staging = journal::begin(workspace, runs_code)?;
    let upper = workspace.upper()?;
    let staged = Stage::new(workspace, &upper, &staging)
        .and_then(|stage| stage.all(&chosen.puts, &chosen.takes, &chosen.attributes));
    let steps = match staged {
        Ok(steps) => steps,
        Err(error) => {
            journal::abandon(workspace, &staging);
            return Err(error);
        }
    };
    let intent = Intent {
        id: staging.id().to_owned(),
        action: Action::Apply,
        steps,
        leave: chosen.report.merged.clone(),
        disputed: chosen.disputed,
        forget: chosen.forget,
    };
    journal::perform(workspace, staging, &intent)?;
    Ok(chosen.report)
}

/// What was chosen, by what has to be done about it.
#[derive(Default)]
struct Chosen<'changes> {
    report: Applied,
    puts: Vec<Put<'changes>>,
    takes: Vec<(TreePath, &'changes Change)>,
    attributes: Vec<&'changes Change>,
    disputed: Vec<TreePath>,
    forget: Vec<TreePath>,
}

impl Chosen<'_> {
    fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Every change that something is done about.
    fn all(&self) -> impl Iterator<Item = &Change> {
        let puts = self.puts.iter().map(|put| put.change);
        let takes = self.takes.iter().map(|(_, change)| *change);
        puts.chain(takes).chain(self.attributes.iter().copied())
    }
}

/// Decides about every change.
fn choose<'changes>(
    workspace: &Workspace,
    changes: &'changes Changes,
    request: &Request,
) -> Result<Chosen<'changes>, WorkspaceError> {
    let mut chosen = Chosen::default();
    if let Selection::Parts { hunks, .. } = &request.selection {
        choose_hunks(workspace, changes, hunks, &mut chosen)?;
    }
    let selected = select(changes, &request.selection)?;
    let mut decided = Vec::new();
    let mut unmade: Option<(&TreePath, Unmade)> = None;
    let mut gone: Option<&TreePath> = None;
    for change in changes.list.iter().filter(|change| selected.contains(&change.path)) {
        let above = unmade.filter(|(above, _)| change.path.is_within(above));
        let goes_too = gone.is_some_and(|gone| change.path.is_within(gone));
        let decision = match above {
            Some((_, Unmade::Left(conflict))) => Decision::Leave(conflict),
            Some((_, Unmade::Held)) => Decision::Hold,
            None if !goes_too && is_held(change, request) => Decision::Hold,
            None => decide(workspace, change, request)?,
        };
        // Nothing can be put into a directory that is not made.
        let is_directory = change.after.is_some_and(|after| after.is_directory());
        if above.is_none() && is_directory {
            unmade = match decision {
                Decision::Leave(conflict) => Some((&change.path, Unmade::Left(conflict))),
                Decision::Hold => Some((&change.path, Unmade::Held)),
                Decision::Apply | Decision::Merge(_) => unmade,
            };
        }
        match decision {
            Decision::Apply => {
                if goes(change) && !goes_too {
                    gone = Some(&change.path);
                }
                decided.push((change, Content::OfCage));
            }
            Decision::Merge(text) if request.merging == Merging::WhereCertain => {
                decided.push((change, Content::Text(text)));
            }
            Decision::Merge(_) => {
                let conflict = change.conflict.unwrap_or(Conflict::Changed);
                chosen.report.left.push((change.path.clone(), conflict));
                chosen.report.mergeable.push(change.path.clone());
            }
            Decision::Leave(conflict) => chosen.report.left.push((change.path.clone(), conflict)),
            Decision::Hold => chosen.report.held.push(change.path.clone()),
        }
    }
    sort_in(&mut chosen, decided);
    Ok(chosen)
}

/// Why a directory is not made.
#[derive(Clone, Copy)]
enum Unmade {
    Left(Conflict),
    Held,
}

/// Whether a change waits for somebody who confirms its name. A directory is made for what is confirmed in it.
fn is_held(change: &Change, request: &Request) -> bool {
    if change.protected.is_none() {
        return false;
    }
    let confirmed = &request.confirmed;
    let names = [Some(&change.path), change.former()];
    let mut names = names.into_iter().flatten();
    let is_confirmed =
        names.any(|name| confirmed.iter().any(|path| name == path || stands_for(path, name)));
    let is_directory = change.after.is_some_and(|after| after.is_directory());
    let holds_confirmed = || confirmed.iter().any(|path| path.is_within(&change.path));
    !(is_confirmed || is_directory && holds_confirmed())
}

/// Whether a directory that was named is one of names that run code, and means all that it holds: `.vscode` does,
/// `.git` and the project do not.
fn stands_for(named: &TreePath, path: &TreePath) -> bool {
    path.is_within(named) && protected::matches(named.as_bytes(), Object::Directory).is_some()
}

/// Whether a directory of the host goes, with everything in it.
fn goes(change: &Change) -> bool {
    let was_directory = change.before.is_some_and(|before| before.is_directory());
    was_directory && matches!(change.what, What::Deleted | What::TypeChanged)
}

/// What has to be done about the changes that are applied.
fn sort_in<'changes>(chosen: &mut Chosen<'changes>, decided: Vec<(&'changes Change, Content)>) {
    // What is in a directory that goes, goes with it.
    let gone = decided.iter().filter(|(change, _)| goes(change));
    let gone: HashSet<&TreePath> = gone.map(|(change, _)| &change.path).collect();
    let is_gone = |path: &TreePath| path.ancestors().any(|above| gone.contains(&above));
    for (change, content) in decided {
        let is_merged = matches!(content, Content::Text(_));
        let done = if is_merged { &mut chosen.report.merged } else { &mut chosen.report.applied };
        done.push(change.path.clone());
        if change.conflict.is_some() {
            chosen.disputed.push(change.path.clone());
        }
        let old = match &change.what {
            What::Deleted => Some(&change.path),
            What::Renamed { from } => Some(from),
            What::Added | What::Modified | What::TypeChanged | What::AttributesChanged => None,
        };
        chosen.takes.extend(old.filter(|old| !is_gone(old)).map(|old| (old.clone(), change)));
        let is_directory = change.after.is_some_and(|after| after.is_directory());
        match change.what {
            What::Deleted => {}
            What::AttributesChanged if is_directory => chosen.attributes.push(change),
            What::AttributesChanged
            | What::Added
            | What::Modified
            | What::TypeChanged
            | What::Renamed { .. } => chosen.puts.push(Put { change, content }),
        }
    }
}

/// Paths of all that is selected, with the directories that new things need.
fn select(changes: &Changes, selection: &Selection) -> Result<HashSet<TreePath>, WorkspaceError> {
    let paths: &[TreePath] = match selection {
        Selection::All => {
            return Ok(changes.list.iter().map(|change| change.path.clone()).collect());
        }
        Selection::Paths(paths) | Selection::Parts { whole: paths, .. } => paths,
    };
    let mut selected = HashSet::new();
    for path in paths {
        let named: Vec<_> = changes.list.iter().filter(|change| change.is_named_by(path)).collect();
        if named.is_empty() && !changes.refused.iter().any(|refused| refused.path.is_within(path)) {
            return Err(WorkspaceError::NotAChange(path.clone()));
        }
        selected.extend(named.into_iter().map(|change| change.path.clone()));
    }
    let made = changes.list.iter().filter(|change| {
        let is_directory = change.after.is_some_and(|after| after.is_directory());
        is_directory && matches!(change.what, What::Added | What::TypeChanged)
    });
    let made: HashSet<&TreePath> = made.map(|change| &change.path).collect();
    let above: Vec<TreePath> = selected.iter().flat_map(TreePath::ancestors).collect();
    selected.extend(above.into_iter().filter(|path| made.contains(path)));
    Ok(selected)
}

enum Decision {
    Apply,
    Merge(Vec<u8>),
    Leave(Conflict),
    Hold,
}

/// What a conflict means for one change.
fn decide(
    workspace: &Workspace,
    change: &Change,
    request: &Request,
) -> Result<Decision, WorkspaceError> {
    let Some(conflict) = change.conflict else { return Ok(Decision::Apply) };
    let is_known = match conflict {
        Conflict::Changed | Conflict::Made | Conflict::Gone => true,
        Conflict::Mounted | Conflict::Unreadable => false,
    };
    if is_known && request.force.iter().any(|path| change.is_named_by(path)) {
        return Ok(Decision::Apply);
    }
    let upper = workspace.upper()?;
    Ok(merged(workspace, &upper, change).map_or(Decision::Leave(conflict), Decision::Merge))
}

/// The text with the changes of both sides, where all three texts are known and nothing contradicts.
fn merged(workspace: &Workspace, upper: &Root, change: &Change) -> Option<Vec<u8>> {
    let (before, after) = (change.before?, change.after?);
    let are_files = before.kind == Kind::File && after.kind == Kind::File;
    if change.what != What::Modified || !are_files {
        return None;
    }
    let read = |root: &Root| {
        let (parent, name) = root.parent(&change.path).ok()?;
        content::whole(parent.as_fd(), name, MOST_TEXT).ok()?
    };
    let (ours, theirs) = (read(&workspace.host)?, read(upper)?);
    let base = base::text(workspace.area.as_fd(), workspace.host.as_fd(), &change.path)?;
    let are_text = [&base, &ours, &theirs].into_iter().all(|text| content::is_text(text));
    if !are_text { None } else { merge::merge(&base, &ours, &theirs) }
}

/// Some hunks of some files: the host's text with these changes in it.
fn choose_hunks<'changes>(
    workspace: &Workspace,
    changes: &'changes Changes,
    files: &[FileHunks],
    chosen: &mut Chosen<'changes>,
) -> Result<(), WorkspaceError> {
    for file in files {
        let found = changes.list.iter().find(|change| change.path == file.path);
        let change = found.ok_or_else(|| WorkspaceError::NotAChange(file.path.clone()))?;
        let stamps = change.before.zip(change.after);
        let stamps = stamps.map(|(before, after)| (before.stamp, after.stamp));
        let text = crate::diff::put_together(workspace, file)?;
        let (true, Some(text)) = (stamps == Some((file.before, file.after)), text) else {
            return Err(WorkspaceError::ChangedSinceReview(file.path.clone()));
        };
        if file.hunks.is_empty() {
            continue;
        }
        chosen.report.applied.push(file.path.clone());
        if change.conflict.is_some() {
            chosen.disputed.push(file.path.clone());
            chosen.forget.push(file.path.clone());
        }
        chosen.puts.push(Put { change, content: Content::Hunks(text) });
    }
    Ok(())
}
