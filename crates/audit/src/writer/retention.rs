//! Removing the oldest files of a log: first a record, then the anchor, then the files. Whoever is
//! cut short between two of these leaves a log that can be verified, and the next one goes on. Never
//! removes the file that is written to, nor one that the anchor does not name.

use std::sync::Arc;

use super::{EXCLUSIVE, Writer};
use crate::commit::Written;
use crate::directory::file_name;
use crate::error::AuditError;
use crate::head::Head;
use crate::line::Line;
use crate::lines::{Lines, Part};
use crate::once;
use crate::removal::{AnchorFound, Removal};
use crate::tail::Tail;
use crate::time::Timestamp;

impl Writer {
    /// The numbers of the files that are not stated as removed; none of them may be missing.
    pub(super) fn numbers(&mut self) -> Result<Vec<u32>, AuditError> {
        let removed = self.removed()?.map_or(0, |removal| removal.last_file);
        let mut numbers = self.directory.numbers()?;
        numbers.retain(|number| *number > removed);
        let mut places = (removed + 1..).zip(&numbers);
        let missing = match places.find(|(place, number)| place != *number) {
            Some((missing, _)) => missing,
            None if numbers.is_empty() && removed > 0 => removed + 1,
            None => return Ok(numbers),
        };
        Err(self.directory.damaged(format!("`{}` is gone", file_name(missing))))
    }

    /// What the anchor states. One that somebody else has written is not gone on behind.
    pub(super) fn removed(&mut self) -> Result<Option<Removal>, AuditError> {
        let stated = match AnchorFound::of(&self.directory)? {
            AnchorFound::Absent => return Ok(None),
            AnchorFound::Unreadable => None,
            AnchorFound::Stated(stated) => Some(stated),
        };
        self.load_key()?;
        let key = self.key.as_ref();
        match stated.filter(|stated| key.is_some_and(|key| stated.is_signed_with(key))) {
            Some(stated) => Ok(Some(stated.removal)),
            None => {
                let problem = "the statement of what was removed is not signed with its key";
                Err(self.directory.damaged(problem.to_owned()))
            }
        }
    }

    /// Ends the file that is written to if its first record is older than a moment, so that it can be
    /// removed some day however little is written.
    pub(crate) fn end_file_begun_before(&mut self, moment: Timestamp) -> Result<(), AuditError> {
        let lock = Arc::clone(&self.lock);
        let _locked = self.directory.lock(&lock, EXCLUSIVE)?;
        let mut tail = self.current_tail()?;
        if self.begun(&tail)?.is_some_and(|begun| begun < moment) {
            tail = self.rotate(tail)?;
        }
        self.tail = Some(tail);
        Ok(())
    }

    /// When the first record of a file was written.
    fn begun(&self, tail: &Tail) -> Result<Option<Timestamp>, AuditError> {
        let name = file_name(tail.number);
        let file = rustix::io::fcntl_dupfd_cloexec(&*tail.file, 0)
            .map_err(self.directory.failed("dup", &name))?;
        let part = Part { number: tail.number, file, begin: 0, length: tail.size };
        let mut lines = Lines::from(0);
        let first = lines.next(&part).map_err(self.directory.failed("read", &name))?;
        Ok(first.and_then(|raw| Line::parse(raw.bytes).ok()).map(|line| line.time))
    }

    /// Records a removal and states it in the anchor, both durably; the files stay. None if somebody else
    /// has removed something since it was planned.
    pub(crate) fn state_removal(
        &mut self,
        removal: Removal,
    ) -> Result<Option<Written>, AuditError> {
        let lock = Arc::clone(&self.lock);
        let _locked = self.directory.lock(&lock, EXCLUSIVE)?;
        let removed = self.removed()?.map_or(0, |removal| removal.last_sequence);
        if removal.first_sequence != removed + 1 {
            return Ok(None);
        }
        self.load_key()?;
        let Some(key) = &self.key else { return Ok(None) };
        let signed = removal.sign(key);
        let written = self.append_locked(&signed.event())?;
        let name = file_name(written.reached.file);
        // INVARIANT: the record of a removal outlives it, so it is never in a file that goes.
        if written.reached.file <= signed.removal.last_file {
            return Err(self.directory.damaged(format!("`{name}` is still written to")));
        }
        rustix::fs::fdatasync(&*written.file).map_err(self.directory.failed("fdatasync", &name))?;
        let Some(key) = &self.key else { return Ok(None) };
        let head = Head::sign(&written.reached, key);
        // A head that states a record of a removed file could not be held to anything.
        self.move_head_locked(&head)?.sync(&self.directory)?;
        signed.store(&self.directory)?;
        Ok(Some(written))
    }

    /// Removes the files that the anchor names. Needs no lock: nobody reads or counts them any more.
    pub(crate) fn remove_stated(&mut self) -> Result<(), AuditError> {
        let Some(removal) = self.removed()? else { return Ok(()) };
        let mut numbers = self.directory.numbers()?;
        numbers.retain(|number| *number <= removal.last_file);
        for number in &numbers {
            self.directory.remove_file(&file_name(*number))?;
            once::forget(&self.directory, *number);
        }
        if numbers.is_empty() { Ok(()) } else { self.directory.sync() }
    }
}
