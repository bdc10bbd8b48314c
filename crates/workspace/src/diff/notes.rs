//! What a person must know beside the text of the changes, one line each: conflicts, names that run code, links
//! that lead out, and what is never applied.

use std::io::Write;

use policy::shown::shortened;

use crate::change::{Changes, What};
use crate::error::WorkspaceError;

/// Writes a line for each thing that needs attention; nothing if there is none.
pub fn write_notes(changes: &Changes, output: &mut dyn Write) -> Result<(), WorkspaceError> {
    let mut write = |line: String| writeln!(output, "{line}").map_err(WorkspaceError::Output);
    for change in &changes.list {
        let path = shortened(&change.path);
        if let Some(conflict) = change.conflict {
            write(format!("conflict: {path}: {conflict}"))?;
        }
        // An empty directory runs nothing; what is in a new one has a line of its own.
        let is_new_directory =
            change.what == What::Added && change.after.is_some_and(|after| after.is_directory());
        if let Some(entry) = change.protected.filter(|_| !is_new_directory) {
            write(format!("runs code: {path}: {}", entry.runs_by))?;
        }
        if change.leads_out {
            write(format!("link: {path}: it leads out of the workspace"))?;
        }
    }
    for refused in &changes.refused {
        write(format!("never applied: {}: {}", shortened(&refused.path), refused.reason))?;
    }
    Ok(())
}
