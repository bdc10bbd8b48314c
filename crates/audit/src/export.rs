//! A log in one file, to be verified elsewhere: its head, and its files as they are. The key that
//! signs stays where it is.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::archive::{Archive, EXPORT_VERSION, ExportHeader, ExportedFile, HeadFound, ReadError};
use crate::directory::file_name;
use crate::head::{Head, read_at};
use crate::lines::Part;
use crate::removal::SignedRemoval;

#[cfg(test)]
mod tests;

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The log has no head that could go with it.
    #[error("the log in `{}` has no head that can be read", .0.display())]
    NoHead(std::path::PathBuf),
    /// Something is gone that the head states.
    #[error("the log in `{}` ends before its head says, or a file of it is gone", .0.display())]
    Incomplete(std::path::PathBuf),
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

/// Writes the log in a directory to one file, see [`Export`].
pub fn export(directory: &Path, output: &mut dyn Write) -> Result<Head, ExportError> {
    let mut export = Export::open(directory)?;
    io::copy(&mut export, output)?;
    output.flush()?;
    Ok(export.head)
}

/// A log on its way into one file, up to the record that its head states: nothing would vouch for
/// those behind it, and whoever has the file could add some of their own.
///
/// Is the log as it was when this was opened, however long it takes to read; nobody who writes to the
/// log waits for it.
#[derive(Debug)]
pub struct Export {
    head: Head,
    length: u64,
    header: io::Cursor<Vec<u8>>,
    /// What is left of the files.
    parts: VecDeque<Part>,
}

impl Export {
    /// Opens the log in a directory.
    pub fn open(directory: &Path) -> Result<Self, ExportError> {
        let mut archive = Archive::of_directory(directory)?;
        let HeadFound::Stated(head) = archive.head.clone() else {
            return Err(ExportError::NoHead(directory.to_owned()));
        };
        let reached = head.reached().ok_or_else(|| ExportError::NoHead(directory.to_owned()))?;
        archive.cut_at(&reached);
        if !archive.reaches(&reached) {
            return Err(ExportError::Incomplete(directory.to_owned()));
        }
        let files = archive
            .parts
            .iter()
            .map(|part| ExportedFile { name: file_name(part.number), bytes: part.length })
            .collect();
        let removed = archive.removed.stated().map(SignedRemoval::event);
        let (stockade_audit_export, head_copy) = (EXPORT_VERSION, head.clone());
        let header = ExportHeader { stockade_audit_export, head: head_copy, removed, files };
        let mut header = serde_json::to_vec(&header).map_err(io::Error::from)?;
        header.push(b'\n');
        let of_parts: u64 = archive.parts.iter().map(|part| part.length).sum();
        let length = of_parts + header.len() as u64;
        let (header, parts) = (io::Cursor::new(header), archive.parts.into());
        Ok(Self { head, length, header, parts })
    }

    /// How far the log goes in it, and who has signed that.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Export {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let of_header = self.header.read(buffer)?;
        if of_header > 0 || buffer.is_empty() {
            return Ok(of_header);
        }
        while let Some(part) = self.parts.front_mut() {
            if part.length == 0 {
                self.parts.pop_front();
                continue;
            }
            let wanted = usize::try_from(part.length).unwrap_or(usize::MAX).min(buffer.len());
            let window = buffer.get_mut(..wanted).unwrap_or_default();
            let count = read_at(&part.file, window, part.begin)?;
            // Files only grow, unless somebody cuts them.
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            part.begin += count as u64;
            part.length -= count as u64;
            return Ok(count);
        }
        Ok(0)
    }
}
