//! What retention has removed: the first record that is there must follow what the anchor states, the
//! anchor must be signed by the log's key, and a record of the log must say the same.

use super::fault::{Broken, Fault, VerifyError};
use super::{Opening, RecordedRemoval, Statement, Verification};
use crate::event::Event;
use crate::record::Record;
use crate::removal::{ANCHOR_FILE, AnchorFound, SignedRemoval};

impl Verification<'_> {
    /// Begins behind what the anchor states, before any record is read.
    pub(super) fn begin_behind_removed(&mut self) -> Result<(), VerifyError> {
        let stated = match &self.archive.removed {
            AnchorFound::Absent => return Ok(()),
            AnchorFound::Unreadable => return Err(about_anchor(0, Fault::ForgedRemoval).into()),
            AnchorFound::Stated(stated) => stated,
        };
        let removal = &stated.removal;
        let broken = |fault| about_anchor(removal.last_sequence, fault);
        if !stated.is_genuine() {
            return Err(broken(Fault::ForgedRemoval).into());
        }
        if *self.public_key.get_or_insert_with(|| stated.public_key.clone()) != stated.public_key {
            return Err(broken(Fault::OtherKey).into());
        }
        (self.last_sequence, self.last_hash) = (removal.last_sequence, removal.last_hash);
        // Only files that say so are removed.
        self.is_rotated = true;
        self.verified.removed = removal.last_sequence;
        self.hold_to_stated(removal.last_sequence)
    }

    /// A head from elsewhere whose record was removed cannot be compared with anything but its end.
    fn hold_to_stated(&self, removed: u64) -> Result<(), VerifyError> {
        for (reached, statement) in &self.stated {
            let differs = reached.sequence == removed && reached.hash != self.last_hash;
            let fault = match statement {
                Statement::Anchor if reached.sequence < removed => {
                    Fault::AnchorRemoved { through: removed }
                }
                Statement::Anchor if differs => Fault::NotAsAnchored,
                Statement::Own if differs => Fault::NotAsStated,
                Statement::Anchor | Statement::Own => continue,
            };
            return Err(about_anchor(reached.sequence, fault).into());
        }
        Ok(())
    }

    /// What is wrong with a record of a removal.
    pub(super) fn fault_of_removal(&mut self, record: &Record, event: &Event) -> Option<Fault> {
        let Some(signed) = SignedRemoval::of(event) else { return Some(Fault::ForgedRemoval) };
        if self.public_key.as_ref() != Some(&signed.public_key) {
            return Some(Fault::OtherKey);
        }
        if !signed.is_genuine() {
            return Some(Fault::ForgedRemoval);
        }
        if self.opening != Opening::Done {
            return Some(Fault::Misplaced);
        }
        let removal = signed.removal;
        // Whoever was cut short before the anchor leaves a record of what did not happen.
        let begins = removal.first_sequence;
        self.verified.removals.retain(|earlier| earlier.removal.last_sequence < begins);
        let (sequence, time) = (record.sequence, record.time);
        self.verified.removals.push(RecordedRemoval { sequence, time, removal });
        None
    }

    /// The anchor must be on record: nothing is removed that is not.
    pub(super) fn end_removals(&mut self) -> Result<(), VerifyError> {
        let removed = self.verified.removed;
        self.verified.removals.retain(|one| one.removal.last_sequence <= removed);
        let Some(stated) = self.archive.removed.stated() else { return Ok(()) };
        if self.verified.removals.last().is_none_or(|last| last.removal != stated.removal) {
            return Err(about_anchor(removed, Fault::RemovalNotOnRecord).into());
        }
        Ok(())
    }
}

fn about_anchor(sequence: u64, fault: Fault) -> Broken {
    Broken { file: ANCHOR_FILE.to_owned(), line: 0, sequence, fault }
}
