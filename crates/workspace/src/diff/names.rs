//! The names of what changed, one on each line, for a person or a script. A name with anything unusual in it is
//! quoted as Git does, so that no name can be taken for two.

use std::io::Write;

use super::shown;
use crate::change::Changes;
use crate::error::WorkspaceError;
use crate::path::TreePath;

/// Writes the path of each change.
pub fn write_names(changes: &Changes, output: &mut dyn Write) -> Result<(), WorkspaceError> {
    for change in &changes.list {
        writeln!(output, "{}", quoted_name(&change.path)).map_err(WorkspaceError::Output)?;
    }
    Ok(())
}

/// A path as Git would print it.
pub fn quoted_name(path: &TreePath) -> String {
    shown::quoted(b"", path)
}
