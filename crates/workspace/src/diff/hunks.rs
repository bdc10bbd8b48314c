//! Hunks of one text file: for showing, and for choosing some of them. What is chosen is tied to the two files as
//! they were looked at.

use std::ops::Range;
use std::os::fd::AsFd as _;

use similar::DiffOp;

use crate::change::{Change, What};
use crate::content::{self, MOST_TEXT};
use crate::error::{Layer, WorkspaceError};
use crate::object::{Kind, Stamp};
use crate::path::TreePath;
use crate::{Workspace, merge};

/// The hunks of one file that was modified.
#[derive(Clone, Debug)]
pub struct FileHunks {
    /// Which file.
    pub path: TreePath,
    /// All of them at first; those that are left in the list are chosen.
    pub hunks: Vec<Hunk>,
    pub(crate) before: Stamp,
    pub(crate) after: Stamp,
}

/// Lines that belong together, with some around them.
#[derive(Clone, Debug)]
pub struct Hunk {
    /// As they are shown.
    pub lines: Vec<Line>,
    old: Range<usize>,
    new: Range<usize>,
    /// Lines of the old text, and those of the new one that take their place.
    replaced: Vec<(Range<usize>, Range<usize>)>,
}

/// One line of a hunk, with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// In both.
    Kept(Vec<u8>),
    /// In the old one alone.
    Removed(Vec<u8>),
    /// In the new one alone.
    Added(Vec<u8>),
}

impl Line {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Kept(bytes) | Self::Removed(bytes) | Self::Added(bytes) => bytes,
        }
    }
}

impl Hunk {
    /// Its first line in a diff.
    pub fn header(&self) -> String {
        let side = |range: &Range<usize>| {
            // A side without lines names the line before it.
            let first = if range.is_empty() { range.start } else { range.start + 1 };
            if range.len() == 1 { first.to_string() } else { format!("{first},{}", range.len()) }
        };
        format!("@@ -{} +{} @@", side(&self.old), side(&self.new))
    }
}

impl FileHunks {
    /// The hunks of a change; none where it is not a text file that was modified.
    pub fn of(workspace: &Workspace, change: &Change) -> Result<Option<Self>, WorkspaceError> {
        let (Some(before), Some(after)) = (change.before, change.after) else { return Ok(None) };
        let is_file = before.kind == Kind::File && after.kind == Kind::File;
        if change.what != What::Modified || !is_file {
            return Ok(None);
        }
        let Some((old, new)) = texts(workspace, &change.path)? else { return Ok(None) };
        let hunks = hunks(&merge::lines(&old), &merge::lines(&new));
        let path = change.path.clone();
        Ok(Some(Self { path, hunks, before: before.stamp, after: after.stamp }))
    }
}

/// The old and the new text of a file.
type Texts = (Vec<u8>, Vec<u8>);

/// Both texts of a file; none where one is not text.
fn texts(workspace: &Workspace, path: &TreePath) -> Result<Option<Texts>, WorkspaceError> {
    let upper = workspace.upper()?;
    let read = |root: &crate::beneath::Root, layer| {
        let text = root
            .parent(path)
            .and_then(|(parent, name)| content::whole(parent.as_fd(), name, MOST_TEXT));
        let text = text.map_err(WorkspaceError::kernel("read", path, layer))?;
        Ok(text.filter(|text| content::is_text(text)))
    };
    let old = read(&workspace.host, Layer::Host)?;
    let new = read(&upper, Layer::Upper)?;
    Ok(old.zip(new))
}

/// The host's text with the chosen hunks in it. The caller knows that both files are those of the hunks.
pub(crate) fn put_together(
    workspace: &Workspace,
    chosen: &FileHunks,
) -> Result<Option<Vec<u8>>, WorkspaceError> {
    let Some((old, new)) = texts(workspace, &chosen.path)? else { return Ok(None) };
    let (old, new) = (merge::lines(&old), merge::lines(&new));
    let mut replaced: Vec<&(Range<usize>, Range<usize>)> =
        chosen.hunks.iter().flat_map(|hunk| &hunk.replaced).collect();
    replaced.sort_unstable_by_key(|(old, new)| (old.start, new.start));
    let mut text = Vec::new();
    let mut at = 0;
    for (from, to) in replaced {
        let kept = old.get(at..from.start);
        let Some((kept, put)) = kept.zip(new.get(to.clone())) else { return Ok(None) };
        for line in kept.iter().chain(put) {
            text.extend_from_slice(line);
        }
        at = from.end;
    }
    for line in old.get(at..).unwrap_or_default() {
        text.extend_from_slice(line);
    }
    Ok(Some(text))
}

pub(super) fn hunks(old: &[&[u8]], new: &[&[u8]]) -> Vec<Hunk> {
    let groups = similar::group_diff_ops(merge::compare(old, new), AROUND);
    groups.iter().map(|group| hunk(group, old, new)).collect()
}

fn hunk(group: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) -> Hunk {
    let mut hunk = Hunk { lines: Vec::new(), old: 0..0, new: 0..0, replaced: Vec::new() };
    if let (Some(first), Some(last)) = (group.first(), group.last()) {
        hunk.old = first.old_range().start..last.old_range().end;
        hunk.new = first.new_range().start..last.new_range().end;
    }
    for operation in group {
        let (from, to) = (operation.old_range(), operation.new_range());
        let removed = old.get(from.clone()).unwrap_or_default().iter().map(|line| line.to_vec());
        if matches!(operation, DiffOp::Equal { .. }) {
            hunk.lines.extend(removed.map(Line::Kept));
            continue;
        }
        let added = new.get(to.clone()).unwrap_or_default().iter().map(|line| line.to_vec());
        hunk.lines.extend(removed.map(Line::Removed));
        hunk.lines.extend(added.map(Line::Added));
        hunk.replaced.push((from, to));
    }
    hunk
}

/// How many lines are shown around a change.
const AROUND: usize = 3;
