//! How much a workspace takes and how old it is, for a list of sessions. Reads only, and stops at a bound.

use std::os::fd::AsFd as _;

use crate::Workspace;
use crate::beneath::{self, Root};
use crate::error::WorkspaceError;
use crate::object::{Moment, Object};
use crate::path::TreePath;
use crate::since::Since;

/// What a workspace takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// On the disk, with what is kept for an undo.
    pub bytes: u64,
    /// In the upper layer.
    pub names: usize,
    /// Whether there are more than were counted.
    pub is_partial: bool,
    /// When its first run began.
    pub begun: Moment,
    /// When a program last changed something.
    pub changed: Option<Moment>,
}

pub(crate) fn usage(workspace: &Workspace) -> Result<Usage, WorkspaceError> {
    let since = Since::read(workspace.area.as_fd())?;
    let mut usage =
        Usage { bytes: 0, names: 0, is_partial: false, begun: since.first(), changed: None };
    let upper = workspace.upper()?;
    let (names, changed) = add(&mut usage, &upper, workspace.most_names);
    (usage.names, usage.changed) = (names, changed);
    if let Ok(undo) = beneath::open_directory(workspace.area.as_fd(), b"undo") {
        add(&mut usage, &Root::new(undo), workspace.most_names);
    }
    Ok(usage)
}

/// Adds a tree up. What cannot be read is not counted.
fn add(usage: &mut Usage, root: &Root, most: usize) -> (usize, Option<Moment>) {
    let (mut names, mut changed) = (0, None);
    let mut pending = vec![TreePath::root()];
    while let Some(path) = pending.pop() {
        let Ok(opened) = root.directory(&path) else {
            usage.is_partial = true;
            continue;
        };
        let left = most.saturating_sub(names);
        let Ok(found) = beneath::names(opened.as_fd(), left) else {
            usage.is_partial = true;
            continue;
        };
        names += found.len();
        for name in found {
            let Ok(Some(object)) = Object::at(&opened, &name) else { continue };
            usage.bytes = usage.bytes.saturating_add(object.bytes_used);
            changed = changed.max(Some(object.stamp.changed));
            if object.is_directory() {
                match path.join(&name) {
                    Ok(path) => pending.push(path),
                    Err(_) => usage.is_partial = true,
                }
            }
        }
    }
    (names, changed)
}
