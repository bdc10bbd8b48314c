//! A log in one file, to be verified elsewhere: its head, and its files as they are. The key that
//! signs stays where it is.

use std::io::{self, Read as _, Seek as _, Write};
use std::path::Path;

use crate::archive::{Archive, EXPORT_VERSION, ExportHeader, ExportedFile, HeadFound, ReadError};
use crate::directory::file_name;
use crate::head::Head;

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The log has no head that could go with it.
    #[error("the log in `{}` has no head that can be read", .0.display())]
    NoHead(std::path::PathBuf),
    /// The copy failed.
    #[error("the log could not be copied")]
    Copy(#[from] io::Error),
}

/// The head of the log in a directory: an anchor, if it is kept where the log's owner cannot reach.
pub fn anchor(directory: &Path) -> Result<Head, ExportError> {
    match Archive::of_directory(directory)?.head {
        HeadFound::Stated(head) => Ok(head),
        HeadFound::Absent | HeadFound::Unreadable => Err(ExportError::NoHead(directory.to_owned())),
    }
}

/// Writes the log in a directory to one file, up to the record that its head states: nothing would
/// vouch for those behind it, and whoever has the file could add some of their own.
pub fn export(directory: &Path, output: &mut dyn Write) -> Result<Head, ExportError> {
    let mut archive = Archive::of_directory(directory)?;
    let HeadFound::Stated(head) = archive.head.clone() else {
        return Err(ExportError::NoHead(directory.to_owned()));
    };
    let reached = head.reached().ok_or_else(|| ExportError::NoHead(directory.to_owned()))?;
    archive.cut_at(&reached);
    let files = archive
        .parts
        .iter()
        .map(|part| ExportedFile { name: file_name(part.number), bytes: part.length })
        .collect();
    let header = ExportHeader { stockade_audit_export: EXPORT_VERSION, head: head.clone(), files };
    serde_json::to_writer(&mut *output, &header).map_err(io::Error::from)?;
    output.write_all(b"\n")?;
    for part in archive.parts {
        let mut file = std::fs::File::from(part.file);
        file.seek(io::SeekFrom::Start(part.begin))?;
        let copied = io::copy(&mut file.take(part.length), output)?;
        if copied < part.length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    output.flush()?;
    Ok(head)
}
