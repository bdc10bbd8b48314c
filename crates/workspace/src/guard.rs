//! Changes that run code on the host although their names alone do not say so: judged by what the host has beside them.
//! Marks them, so that an apply waits for somebody who names them; decides nothing else.

use std::collections::{BTreeSet, HashMap};

use policy::protected::{self, Entry};

use crate::beneath::Root;
use crate::change::{Change, Changes, What};
use crate::object::{Kind, Object, Stamp};
use crate::path::TreePath;

/// What the host says about paths of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Guarded {
    /// What runs code, or is obeyed by something that does, because the host says so elsewhere.
    pub paths: BTreeSet<TreePath>,
    /// The device and inode of the program that runs this.
    pub program: Option<(u64, u64)>,
}

/// Marks what nothing has marked yet.
pub(crate) fn mark(changes: &mut Changes, host: &Root, guarded: &Guarded) {
    let completed = completed_repositories(changes, host);
    for change in changes.list.iter_mut().filter(|change| change.protected.is_none()) {
        let is_program = |before: &Object| {
            let Stamp { device, inode, .. } = before.stamp;
            guarded.program == Some((device, inode))
        };
        change.protected = if change.before.as_ref().is_some_and(is_program) {
            Some(&PROGRAM)
        } else if leads_to(change, &guarded.paths) {
            Some(&LED_TO)
        } else if completed.contains(&change.path) {
            Some(&REPOSITORY)
        } else {
            in_place_of_a_directory(change)
        };
    }
}

/// Whether a change is at or below such a path, or puts something else in the place of a directory above it.
fn leads_to(change: &Change, paths: &BTreeSet<TreePath>) -> bool {
    let stays_directory = change.after.is_none_or(|after| after.is_directory());
    paths.iter().any(|path| {
        change.path.is_within(path) || (!stays_directory && path.is_within(&change.path))
    })
}

/// A link that stands where a directory with names that run code would.
fn in_place_of_a_directory(change: &Change) -> Option<&'static Entry> {
    let is_link = change.after.is_some_and(|after| after.kind == Kind::Link);
    if is_link { protected::beginning(change.path.as_bytes()) } else { None }
}

/// What makes a repository of a directory that is none on the host: Git obeys the configuration that lies there from
/// then on, whoever has written it and when.
fn completed_repositories(changes: &Changes, host: &Root) -> BTreeSet<TreePath> {
    let mut by_directory: HashMap<TreePath, Vec<(&[u8], &Change)>> = HashMap::new();
    for change in &changes.list {
        let Some((parent, name)) = change.path.split() else { continue };
        let is_named_git = parent.split().is_some_and(|(_, own)| own.eq_ignore_ascii_case(b".git"));
        let makes = change.after.is_some() && change.what != What::AttributesChanged;
        if makes && !is_named_git && PARTS.iter().any(|part| name.eq_ignore_ascii_case(part)) {
            by_directory.entry(parent).or_default().push((name, change));
        }
    }
    let mut completed = BTreeSet::new();
    for (directory, parts) in by_directory {
        let has = |part: &&&[u8]| {
            let path = directory.join(part);
            path.is_ok_and(|path| host.look(&path).is_ok_and(|found| found.is_some()))
        };
        let on_host: Vec<&[u8]> = PARTS.iter().filter(has).copied().collect();
        let after = on_host.iter().copied().chain(parts.iter().map(|(name, _)| *name));
        if protected::is_repository(on_host.iter().copied()) || !protected::is_repository(after) {
            continue;
        }
        // Without one of these it is no repository; the others are only held where the host has these.
        let decides = |name: &[u8]| DECIDING.iter().any(|part| name.eq_ignore_ascii_case(part));
        let is_decided = on_host.iter().any(|part| decides(part));
        let held = parts.iter().filter(|(name, _)| is_decided || decides(name));
        completed.extend(held.map(|(_, change)| change.path.clone()));
    }
    completed
}

const PARTS: [&[u8]; 4] = [b"HEAD", b"commondir", b"objects", b"refs"];
const DECIDING: [&[u8]; 2] = [b"HEAD", b"commondir"];

static PROGRAM: Entry = Entry {
    pattern: "the program itself",
    object: protected::Object::Any,
    runs_by: "whoever starts stockade: it is the program itself",
    change: protected::Change::Never,
};

static LED_TO: Entry = Entry {
    pattern: "what something that runs code leads to",
    object: protected::Object::Any,
    runs_by: "what leads to it: the configuration of Git, or a link of a name that runs code",
    change: protected::Change::Never,
};

static REPOSITORY: Entry = Entry {
    pattern: "what completes a repository",
    object: protected::Object::Any,
    runs_by: "every Git command in the directory, which it makes a repository",
    change: protected::Change::Never,
};
