//! Changes for another program: one JSON object. Paths are text where they are UTF-8, with `\xNN` for other bytes.

use std::io::Write;

use serde::Serialize;

use super::stat::{Extent, extent};
use super::{Style, Writer, sides};
use crate::Workspace;
use crate::change::{Change, Changes, Conflict};
use crate::error::WorkspaceError;
use crate::object::{Kind, Object};
use crate::path::TreePath;

/// Writes the changes as JSON.
pub fn write_json(
    workspace: &Workspace,
    changes: &Changes,
    output: &mut dyn Write,
) -> Result<(), WorkspaceError> {
    serde_json::to_writer(&mut *output, &report(workspace, changes, Text::LeftOut)?)
        .map_err(std::io::Error::from)
        .and_then(|()| writeln!(output))
        .map_err(WorkspaceError::Output)
}

/// Changes as they are serialized.
#[derive(Serialize)]
pub struct Report<'changes> {
    changes: Vec<Written<'changes>>,
    refused: Vec<WrittenRefusal<'changes>>,
}

/// Whether each change comes with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// It does not.
    LeftOut,
    /// As a unified diff, with U+FFFD for what is not UTF-8, until there are so many bytes in all; later changes
    /// have none.
    UpTo(usize),
}

/// The changes as they are serialized.
pub fn report<'changes>(
    workspace: &Workspace,
    changes: &'changes Changes,
    text: Text,
) -> Result<Report<'changes>, WorkspaceError> {
    let upper = workspace.upper()?;
    let writer = Writer { workspace, upper: &upper, style: Style::Plain };
    let mut left = match text {
        Text::LeftOut => 0,
        Text::UpTo(most) => most,
    };
    let mut list = Vec::with_capacity(changes.list.len());
    for change in &changes.list {
        let mut written = Written::new(change, extent(&sides(workspace, &upper, change)?));
        if left > 0 {
            let mut diff = Vec::new();
            writer.change(change, &mut diff)?;
            left = left.saturating_sub(diff.len());
            if left > 0 {
                written.diff = Some(String::from_utf8_lossy(&diff).into_owned());
            }
        }
        list.push(written);
    }
    let refused = changes
        .refused
        .iter()
        .map(|refused| WrittenRefusal { path: &refused.path, reason: refused.reason.to_string() });
    Ok(Report { changes: list, refused: refused.collect() })
}

#[derive(Serialize)]
struct WrittenRefusal<'changes> {
    path: &'changes TreePath,
    reason: String,
}

#[derive(Serialize)]
struct Written<'change> {
    path: &'change TreePath,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'change TreePath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<WrittenObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<WrittenObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    insertions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletions: Option<usize>,
    binary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protected: Option<WrittenProtection>,
    leads_out: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct WrittenObject {
    kind: Kind,
    size: u64,
    mode: String,
}

#[derive(Serialize)]
struct WrittenProtection {
    pattern: &'static str,
    runs_by: &'static str,
}

impl<'change> Written<'change> {
    fn new(change: &'change Change, extent: Extent) -> Self {
        let (insertions, deletions) = match extent {
            Extent::Lines { inserted, deleted } => (Some(inserted), Some(deleted)),
            Extent::Binary | Extent::NoContent => (None, None),
        };
        let object = |object: Object| WrittenObject {
            kind: object.kind,
            size: object.size,
            mode: format!("{:04o}", object.mode),
        };
        Self {
            path: &change.path,
            change: change.what.word(),
            from: change.former(),
            before: change.before.map(object),
            after: change.after.map(object),
            insertions,
            deletions,
            binary: extent == Extent::Binary,
            conflict: change.conflict.map(Conflict::word),
            protected: change
                .protected
                .map(|entry| WrittenProtection { pattern: entry.pattern, runs_by: entry.runs_by }),
            leads_out: change.leads_out,
            diff: None,
        }
    }
}
