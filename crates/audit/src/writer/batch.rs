//! Lines that are written together, chained to the record before them, and what signed ones sign. Writes
//! nothing itself.

use super::CHECKPOINT_INTERVAL;
use crate::error::AuditError;
use crate::event::Event;
use crate::hash::Hash;
use crate::line;
use crate::tail::Last;
use crate::time::Timestamp;

/// Lines that are written together.
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    pub(super) last: Last,
}

impl Lines {
    pub(super) fn after(last: Last) -> Self {
        Self { bytes: Vec::with_capacity(1024), last }
    }

    pub(super) fn next_is_checkpoint(&self) -> bool {
        (self.last.sequence + 1).is_multiple_of(CHECKPOINT_INTERVAL)
    }

    /// What the next record signs, if it signs something.
    pub(super) fn next_message(&self) -> String {
        checkpoint_message(self.last.sequence + 1, self.last.hash)
    }

    pub(super) fn push(&mut self, event: &Event) -> Result<(), AuditError> {
        let sequence = self.last.sequence + 1;
        let hash = line::write(&mut self.bytes, sequence, Timestamp::now(), self.last.hash, event)?;
        let is_rotation = matches!(event, Event::LogRotated { .. });
        self.last = Last { sequence, hash, is_rotation };
        Ok(())
    }
}

/// What a signed record signs.
pub(crate) fn checkpoint_message(sequence: u64, previous: Hash) -> String {
    format!("stockade audit checkpoint 1\n{sequence}\n{previous}\n")
}

/// What a record signs that sets something apart.
pub(crate) fn recovered_message(
    sequence: u64,
    previous: Hash,
    offset: u64,
    bytes: u64,
    sha256: &str,
) -> String {
    let checkpoint = checkpoint_message(sequence, previous);
    format!("{checkpoint}{offset}\n{bytes}\n{sha256}\n")
}
