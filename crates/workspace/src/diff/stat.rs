//! The summary by file: how many lines came and went, or how many bytes a binary file has.

use std::io::Write;

use policy::shown::shortened;
use similar::DiffOp;

use super::{Side, Style, sides, sizes};
use crate::change::{Change, Changes, What};
use crate::error::WorkspaceError;
use crate::{Workspace, merge};

/// How much of a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Lines {
        inserted: usize,
        deleted: usize,
    },
    Binary,
    /// A directory, or permissions alone.
    NoContent,
}

/// Writes one line for each file, and one for all of them.
pub fn write_stat(
    workspace: &Workspace,
    changes: &Changes,
    style: Style,
    output: &mut dyn Write,
) -> Result<(), WorkspaceError> {
    let (mut inserted_all, mut deleted_all, mut files) = (0, 0, 0_usize);
    let upper = workspace.upper()?;
    for change in &changes.list {
        let extent = extent(&sides(workspace, &upper, change)?);
        let text = match extent {
            Extent::Lines { inserted, deleted } => {
                inserted_all += inserted;
                deleted_all += deleted;
                format!("{} {}", inserted + deleted, bar(inserted, deleted, style))
            }
            Extent::Binary => format!("Bin{}", sizes(change)),
            Extent::NoContent => word(change).to_owned(),
        };
        files += 1;
        let line = format!(" {:<40} | {text}", name(change));
        writeln!(output, "{}", line.trim_end()).map_err(WorkspaceError::Output)?;
    }
    let plural = if files == 1 { "" } else { "s" };
    writeln!(
        output,
        " {files} path{plural} changed, {inserted_all} insertions(+), {deleted_all} deletions(-)"
    )
    .map_err(WorkspaceError::Output)
}

pub(super) fn extent((old, new): &(Side, Side)) -> Extent {
    match (old, new) {
        (Side::Missing, Side::Missing) => Extent::NoContent,
        (Side::Binary, _) | (_, Side::Binary) => Extent::Binary,
        (old, new) => {
            let (old, new) = (merge::lines(old.bytes()), merge::lines(new.bytes()));
            let (mut inserted, mut deleted) = (0, 0);
            for operation in merge::compare(&old, &new) {
                if !matches!(operation, DiffOp::Equal { .. }) {
                    inserted += operation.new_range().len();
                    deleted += operation.old_range().len();
                }
            }
            if (inserted, deleted) == (0, 0) && !(old.is_empty() && new.is_empty()) {
                return Extent::NoContent;
            }
            Extent::Lines { inserted, deleted }
        }
    }
}

fn name(change: &Change) -> String {
    match change.former() {
        Some(from) => format!("{} => {}", shortened(from), shortened(&change.path)),
        None => shortened(&change.path),
    }
}

fn word(change: &Change) -> &'static str {
    match change.what {
        What::Added => "new",
        What::Deleted => "deleted",
        What::AttributesChanged => "permissions",
        What::Modified | What::TypeChanged | What::Renamed { .. } => "",
    }
}

/// Signs in proportion, twenty at most.
fn bar(inserted: usize, deleted: usize, style: Style) -> String {
    let all = (inserted + deleted).max(1);
    let scale = |count: usize| {
        let signs = if all > WIDTH { count * WIDTH / all } else { count };
        if count > 0 { signs.max(1) } else { 0 }
    };
    let (plus, minus) = ("+".repeat(scale(inserted)), "-".repeat(scale(deleted)));
    match style {
        Style::Coloured => {
            format!("{}{plus}{}{minus}{}", super::GREEN, super::RED, super::PLAIN)
        }
        Style::Plain | Style::Terminal => format!("{plus}{minus}"),
    }
}

const WIDTH: usize = 20;
