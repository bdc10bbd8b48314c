//! The log as its writers see it: append, wait until it is durable, state how far it is.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::commit::Commit;
use crate::error::AuditError;
use crate::event::Event;
use crate::once::Once;
use crate::removal::Removal;
use crate::text::Name;
use crate::time::Timestamp;
use crate::writer::Writer;

#[cfg(test)]
mod tests;

/// A log that records can be appended to.
///
/// Many threads may share one, and many processes may have the same directory open: their records
/// make one chain.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let parent = tempfile::tempdir()?;
/// # let directory = parent.path().join("audit");
/// use stockade_audit::{Event, Log};
///
/// let log = Log::open(&directory)?;
/// log.record(&Event::SessionBegun { session_id: "s1".into(), project_id: "/srv/app".into() })?;
/// log.checkpoint()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    writer: Mutex<Writer>,
    commit: Commit,
}

/// A record's place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The record's number, from 1.
    pub sequence: u64,
}

impl Log {
    /// Opens the log in a directory, which is made for its owner alone if it is missing. Nothing is
    /// written before the first record.
    pub fn open(directory: &Path) -> Result<Self, AuditError> {
        Self::open_with_file_limit(directory, FILE_LIMIT)
    }

    /// The same with files that end when they have so many bytes.
    pub fn open_with_file_limit(directory: &Path, bytes: u64) -> Result<Self, AuditError> {
        Ok(Self {
            path: directory.to_owned(),
            writer: Mutex::new(Writer::open(directory, bytes)?),
            commit: Commit::default(),
        })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// Adds a record, which others can read at once and which is not durable yet.
    pub fn append(&self, event: &Event) -> Result<Position, AuditError> {
        if event.is_of_log() {
            return Err(AuditError::Reserved);
        }
        if let Some(errno) = self.commit.failure() {
            return Err(self.storage_failed(errno));
        }
        let mut writer = self.writer();
        let written = writer.append(event)?;
        let position = Position { sequence: written.reached.sequence };
        // Under the writer's lock, so that what was written last is noted last.
        self.commit.note_written(written);
        Ok(position)
    }

    /// Adds records that are to stand once in every file of the log under this name; none if they do.
    pub fn append_once(
        &self,
        name: &Name,
        events: impl FnOnce() -> Vec<Event>,
    ) -> Result<Option<Once>, AuditError> {
        let file = {
            let mut writer = self.writer();
            let file = writer.end()?.reached.file;
            if writer.is_noted(file, name)? {
                return Ok(None);
            }
            file
        };
        for event in events() {
            self.append(&event)?;
        }
        Ok(Some(Once { file, name: name.clone() }))
    }

    /// Notes that such records are durable, so that they are not added again.
    pub fn keep(&self, once: &Once) -> Result<(), AuditError> {
        self.writer().keep(once)
    }

    /// Returns when a record and all before it are durable.
    pub fn make_durable(&self, position: Position) -> Result<(), AuditError> {
        self.commit.wait_for(position.sequence).map_err(|errno| self.storage_failed(errno))
    }

    /// Adds a record and returns when it is durable.
    pub fn record(&self, event: &Event) -> Result<Position, AuditError> {
        let position = self.append(event)?;
        self.make_durable(position)?;
        Ok(position)
    }

    /// States, signed, how far the log is durable, so that nobody can cut off what is before. Makes
    /// it durable first.
    pub fn checkpoint(&self) -> Result<(), AuditError> {
        let written = match self.commit.written() {
            Some(written) => written,
            None => {
                let mut writer = self.writer();
                let end = writer.end()?;
                self.commit.note_written(end.clone());
                end
            }
        };
        let head = self.writer().sign_head(&written.reached)?;
        self.make_durable(Position { sequence: written.reached.sequence })?;
        match head {
            Some(head) => self.writer().move_head(&head),
            None => Ok(()),
        }
    }

    /// Ends the file that is written to if its first record is older than a moment.
    pub(crate) fn end_file_begun_before(&self, moment: Timestamp) -> Result<(), AuditError> {
        self.writer().end_file_begun_before(moment)
    }

    /// Records that the oldest files are removed, and states it durably. Returns whether it still could.
    pub(crate) fn state_removal(&self, removal: Removal) -> Result<bool, AuditError> {
        if let Some(errno) = self.commit.failure() {
            return Err(self.storage_failed(errno));
        }
        let mut writer = self.writer();
        let Some(written) = writer.state_removal(removal)? else { return Ok(false) };
        self.commit.note_written(written);
        Ok(true)
    }

    /// Removes the files of stated removals.
    pub(crate) fn remove_stated(&self) -> Result<(), AuditError> {
        self.writer().remove_stated()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn storage_failed(&self, source: Errno) -> AuditError {
        AuditError::StorageFailed { path: self.path.clone(), source }
    }
}

/// When a file ends and the next one begins.
const FILE_LIMIT: u64 = 64 * 1024 * 1024;
