//! Says whether a log is what was written: every line as its hash says, every record behind the one
//! before it, every signature by the log's key, and nothing gone that the head states. Never changes
//! anything, and takes nothing that it reads for granted.

mod fault;
mod removed;
mod search;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::archive::{Archive, HeadFound, KeyFound, ReadError, Source};
use crate::directory::file_name;
use crate::error::AuditError;
use crate::event::Event;
use crate::hash::Hash;
use crate::head::{Head, Reached};
use crate::key::{KEY_FILE, is_signed};
use crate::line::Line;
use crate::lines::{Lines, Part, RawLine};
use crate::record::Record;
use crate::removal::Removal;
use crate::seal;
use crate::time::Timestamp;
use crate::writer::{CHECKPOINT_INTERVAL, checkpoint_message};
pub use fault::{Broken, Fault, VerifyError};

/// What somebody knows of the log from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The key that signs it, in hexadecimal digits.
    pub public_key: Option<String>,
    /// A head that was exported before.
    pub anchor: Option<Head>,
}

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key has 64 hexadecimal digits")]
pub struct NotAKey;

impl Expected {
    /// A key as somebody noted it, with small letters or capitals, and a head.
    pub fn new(key: Option<&str>, anchor: Option<Head>) -> Result<Self, NotAKey> {
        let public_key = key.map(str::to_ascii_lowercase);
        let is_key = |key: &str| key.len() == 64 && key.bytes().all(|one| one.is_ascii_hexdigit());
        if public_key.as_deref().is_some_and(|key| !is_key(key)) {
            return Err(NotAKey);
        }
        Ok(Self { public_key, anchor })
    }
}

/// A log that is what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records it has.
    pub records: u64,
    /// In how many files.
    pub files: usize,
    /// How many of the records are signed.
    pub checkpoints: u64,
    /// When the first was written.
    pub first: Option<Timestamp>,
    /// When the last was written.
    pub last: Option<Timestamp>,
    /// The key that signs it, in hexadecimal digits.
    pub public_key: String,
    /// The last record that the head covers: none up to it can have been cut off. It does not vouch for
    /// those after it, which only a directory has: they are written before they are stated.
    pub covered: u64,
    /// What dead writers left, and was set apart.
    pub recovered: Vec<Recovered>,
    /// Bytes behind the last record: somebody was writing, or died while doing so.
    pub unfinished: u64,
    /// Up to which record the log was removed by retention; 0 if nothing was. The first record that is
    /// there follows this one.
    pub removed: u64,
    /// The removals that are on record, as far as those records are still there.
    pub removals: Vec<RecordedRemoval>,
    /// Files that are stated as removed and still there. The next `prune` removes them.
    pub left_over: Vec<String>,
}

/// A removal and the record of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRemoval {
    /// The record.
    pub sequence: u64,
    /// When it was written.
    pub time: Timestamp,
    /// What was removed.
    pub removal: Removal,
}

/// Something that a dead writer left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The record that sets it apart.
    pub sequence: u64,
    /// The file.
    pub file: String,
    /// How many bytes.
    pub bytes: u64,
}

/// Verifies a log's directory, or a file that was exported from one.
pub fn verify(path: &Path, expected: &Expected) -> Result<Verified, VerifyError> {
    let archive = Archive::open(path)?;
    Verification::begin(&archive, expected)?.run()
}

struct Verification<'a> {
    archive: &'a Archive,
    /// Whether the caller knows the key from elsewhere.
    is_key_known: bool,
    /// Heads whose record must be there: the log's own, and one that was exported before.
    stated: Vec<(Reached, Statement)>,
    last_sequence: u64,
    last_hash: Hash,
    /// The key of the first record.
    public_key: Option<String>,
    /// Whether the last record says that the log goes on in another file.
    is_rotated: bool,
    opening: Opening,
    verified: Verified,
}

/// What a file that is not the first still needs before any other record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// The record that says after which file it goes on, or a checkpoint that is due.
    Anything,
    /// That record, unless whoever wrote the checkpoint was cut short behind it.
    Continuation,
    /// Nothing.
    Done,
}

/// Whose head it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statement {
    Own,
    Anchor,
}

/// Where in the log something is.
#[derive(Clone, Copy)]
struct Place<'a> {
    part: &'a Part,
    line: u64,
}

impl<'a> Verification<'a> {
    /// Looks at the heads and keys before any record.
    fn begin(archive: &'a Archive, expected: &Expected) -> Result<Self, VerifyError> {
        let about_head = |fault| Broken { file: "head".to_owned(), line: 0, sequence: 0, fault };
        let own = match &archive.head {
            HeadFound::Absent => None,
            HeadFound::Unreadable => return Err(about_head(Fault::ForgedHead).into()),
            HeadFound::Stated(head) => Some((head, Statement::Own)),
        };
        let anchor = expected.anchor.as_ref().map(|head| (head, Statement::Anchor));
        let mut stated = Vec::new();
        let mut public_key = expected.public_key.clone();
        for (head, statement) in anchor.into_iter().chain(own) {
            let broken = |fault| Broken { sequence: head.sequence(), ..about_head(fault) };
            let reached = head.reached().filter(|_| head.is_genuine());
            let reached = reached.ok_or_else(|| match statement {
                Statement::Own => broken(Fault::ForgedHead),
                Statement::Anchor => broken(Fault::ForgedAnchor),
            })?;
            let key = public_key.get_or_insert_with(|| head.public_key().to_owned());
            if key != head.public_key() {
                return Err(broken(Fault::OtherKey).into());
            }
            stated.push((reached, statement));
        }
        if let (KeyFound::Public(beside), Some(key)) = (&archive.key, &public_key)
            && beside != key
        {
            let file = KEY_FILE.to_owned();
            return Err(Broken { file, line: 0, sequence: 0, fault: Fault::OtherKey }.into());
        }
        let verified = Verified {
            records: 0,
            files: archive.parts.len(),
            checkpoints: 0,
            first: None,
            last: None,
            public_key: String::new(),
            covered: 0,
            recovered: Vec::new(),
            unfinished: 0,
            removed: 0,
            removals: Vec::new(),
            left_over: archive.left_over.iter().copied().map(file_name).collect(),
        };
        let mut verification = Self {
            archive,
            is_key_known: expected.public_key.is_some(),
            stated,
            last_sequence: 0,
            last_hash: Hash::NONE,
            public_key,
            is_rotated: false,
            opening: Opening::Done,
            verified,
        };
        verification.begin_behind_removed()?;
        Ok(verification)
    }

    fn run(mut self) -> Result<Verified, VerifyError> {
        for (expected, part) in (self.archive.first_number()..).zip(&self.archive.parts) {
            if part.number != expected {
                let missing = file_name(expected);
                return Err(self.broken(&missing, 0, Fault::FileMissing).into());
            }
            if expected > 1 {
                self.go_on_in(part)?;
            }
            self.read_part(part)?;
        }
        self.end()
    }

    /// Begins a file that is not the first: the one before it must say that the log goes on.
    fn go_on_in(&mut self, part: &Part) -> Result<(), VerifyError> {
        let mut lines = Lines::from(0);
        let first = lines.next(part).map_err(|errno| self.unreadable(part, errno))?;
        // What is missing before it, the record that says so among it, is told as such.
        let has_gap = first
            .and_then(|raw| Line::parse(raw.bytes).ok())
            .is_some_and(|line| line.sequence != self.last_sequence + 1);
        if !self.is_rotated && !has_gap {
            return Err(self.broken(&file_name(part.number), 0, Fault::StrayFile).into());
        }
        (self.is_rotated, self.opening) = (false, Opening::Anything);
        Ok(())
    }

    fn read_part(&mut self, part: &Part) -> Result<(), VerifyError> {
        let is_last = self.archive.parts.last().is_some_and(|last| last.number == part.number);
        let mut lines = Lines::from(0);
        let mut place = Place { part, line: 0 };
        loop {
            let read = lines.next(part).map_err(|errno| self.unreadable(part, errno))?;
            let Some(raw) = read else { return Ok(()) };
            place.line += 1;
            let parsed = Line::parse(raw.bytes).ok().filter(|_| raw.is_ended);
            let follows = parsed.is_some_and(|line| {
                (line.sequence, line.previous) == (self.last_sequence + 1, self.last_hash)
            });
            if self.is_export_over() {
                let fault = if follows { Fault::BeyondHead } else { Fault::TrailingBytes };
                return Err(self.broken_at(place, fault).into());
            }
            if self.is_rotated {
                return Err(self.broken_at(place, Fault::Misplaced).into());
            }
            if !raw.is_ended && is_last {
                self.verified.unfinished = raw.end - raw.offset;
                return Ok(());
            }
            if follows {
                let record = Record::parse(raw.bytes);
                let record = record.map_err(|_| self.broken_at(place, Fault::Changed))?;
                self.accept(&record, place)?;
            } else {
                let skipped = self.set_apart(part, &raw, place)?;
                (lines, place.line) = (Lines::from(skipped.end), skipped.line);
            }
        }
    }

    /// Whether this is an export, and the record that its head states was read. In a directory records
    /// may follow: they are written before they are stated.
    fn is_export_over(&self) -> bool {
        let is_own = |stated: &&(Reached, Statement)| stated.1 == Statement::Own;
        let own = self.stated.iter().find(is_own).map(|(reached, _)| reached.sequence);
        self.archive.source != Source::Directory
            && own.is_some_and(|sequence| sequence <= self.last_sequence)
    }

    /// Takes the next record.
    fn accept(&mut self, record: &Record, place: Place<'_>) -> Result<(), VerifyError> {
        let fault = self.fault_of(record, place);
        if let Some(fault) = fault {
            return Err(self.broken_at(place, fault).into());
        }
        self.count(record);
        self.is_rotated = record.name == "log.rotated";
        self.opening = match self.opening {
            Opening::Anything if record.name == "log.checkpoint" => Opening::Continuation,
            _ => Opening::Done,
        };
        self.compare_with_stated(record, place)
    }

    /// A head that states this record must state its hash.
    fn compare_with_stated(&self, record: &Record, place: Place<'_>) -> Result<(), VerifyError> {
        for (reached, statement) in &self.stated {
            if reached.sequence == record.sequence && reached.hash != record.hash {
                let fault = match statement {
                    Statement::Own => Fault::NotAsStated,
                    Statement::Anchor => Fault::NotAsAnchored,
                };
                let file = file_name(place.part.number);
                let (line, sequence) = (place.line, record.sequence);
                return Err(Broken { file, line, sequence, fault }.into());
            }
        }
        Ok(())
    }

    fn count(&mut self, record: &Record) {
        self.verified.records += 1;
        self.verified.first.get_or_insert(record.time);
        self.verified.last = Some(record.time);
        (self.last_sequence, self.last_hash) = (record.sequence, record.hash);
    }

    /// What is wrong with a record that follows the one before it: the log's own ones have a place.
    fn fault_of(&mut self, record: &Record, place: Place<'_>) -> Option<Fault> {
        let checkpoint_due = record.sequence.is_multiple_of(CHECKPOINT_INTERVAL);
        let event = if record.name.starts_with("log.") { record.event() } else { None };
        match event {
            Some(Event::LogBegun { public_key }) if record.sequence == 1 => {
                let key = self.public_key.get_or_insert_with(|| public_key.to_string());
                (*key != public_key.as_str()).then_some(Fault::OtherKey)
            }
            _ if record.sequence == 1 => Some(Fault::Misplaced),
            Some(Event::LogCheckpoint { public_key, signature }) => {
                let is_placed = checkpoint_due && self.opening != Opening::Continuation;
                self.fault_of_signed(record, public_key.as_str(), signature.as_str(), is_placed)
            }
            Some(Event::LogRotated { next, public_key, signature }) => {
                let names_next = next.as_str() == file_name(place.part.number.saturating_add(1));
                let is_placed = names_next && self.opening == Opening::Done;
                self.fault_of_signed(record, public_key.as_str(), signature.as_str(), is_placed)
            }
            _ if checkpoint_due => Some(Fault::ForgedCheckpoint),
            Some(Event::LogContinued { after, public_key }) => {
                let before = file_name(place.part.number.saturating_sub(1));
                let is_placed = self.opening != Opening::Done && after.as_str() == before;
                if self.public_key.as_deref() != Some(public_key.as_str()) {
                    Some(Fault::OtherKey)
                } else {
                    (!is_placed).then_some(Fault::Misplaced)
                }
            }
            Some(event @ Event::LogPruned { .. }) => self.fault_of_removal(record, &event),
            Some(_) => Some(Fault::Misplaced),
            None if record.name.starts_with("log.") => Some(Fault::Misplaced),
            None => (self.opening != Opening::Done).then_some(Fault::Misplaced),
        }
    }

    /// The same of one that vouches for all before it.
    fn fault_of_signed(
        &mut self,
        record: &Record,
        public_key: &str,
        signature: &str,
        is_placed: bool,
    ) -> Option<Fault> {
        self.verified.checkpoints += 1;
        let message = checkpoint_message(record.sequence, record.previous);
        if self.public_key.as_deref() != Some(public_key) {
            Some(Fault::OtherKey)
        } else if !is_signed(public_key, &message, signature) {
            Some(Fault::ForgedCheckpoint)
        } else {
            (!is_placed).then_some(Fault::Misplaced)
        }
    }

    /// Passes over what a dead writer left, if the next record sets it apart; else tells what is
    /// wrong with it.
    fn set_apart(
        &mut self,
        part: &Part,
        raw: &RawLine<'_>,
        place: Place<'_>,
    ) -> Result<seal::Sealed, VerifyError> {
        let after = seal::After { sequence: self.last_sequence, hash: self.last_hash };
        let sealed = seal::seal(part, raw.offset, place.line, after)
            .map_err(|errno| self.unreadable(part, errno))?;
        let Some(sealed) = sealed else {
            let parts = &self.archive.parts;
            let fault = search::classify(parts, part, raw, after)
                .map_err(|errno| self.unreadable(part, errno))?;
            return Err(self.broken_at(place, fault).into());
        };
        if self.public_key.as_ref() != Some(&sealed.public_key) {
            return Err(self.broken_at(place, Fault::OtherKey).into());
        }
        if !sealed.is_signed {
            return Err(self.broken_at(place, Fault::ForgedCheckpoint).into());
        }
        // A file that nothing whole is in is begun anew, so none begins with what is set apart.
        if self.opening == Opening::Anything {
            return Err(self.broken_at(place, Fault::Misplaced).into());
        }
        self.count(&sealed.record);
        self.compare_with_stated(&sealed.record, Place { line: sealed.line, ..place })?;
        self.opening = Opening::Done;
        self.verified.recovered.push(Recovered {
            sequence: sealed.record.sequence,
            file: file_name(part.number),
            bytes: sealed.bytes,
        });
        Ok(sealed)
    }

    /// What can be said only when everything was read.
    fn end(mut self) -> Result<Verified, VerifyError> {
        let Some(file) = self.archive.parts.last().map(|part| part.number) else {
            let first = file_name(self.archive.first_number());
            return Err(self.broken(&first, 0, Fault::FileMissing).into());
        };
        self.end_removals()?;
        for (reached, statement) in &self.stated {
            if reached.sequence > self.last_sequence {
                let fault = match statement {
                    Statement::Own => Fault::Truncated { stated: reached.sequence },
                    Statement::Anchor => Fault::TruncatedSinceAnchor { stated: reached.sequence },
                };
                return Err(self.broken(&file_name(file), 0, fault).into());
            }
            if *statement == Statement::Own {
                self.verified.covered = reached.sequence;
            }
        }
        if let Source::Export { trailing: 1.. } = self.archive.source {
            return Err(self.broken(&file_name(file), 0, Fault::TrailingBytes).into());
        }
        // A log gets its head right after its first record.
        if self.archive.head == HeadFound::Absent && self.last_sequence > 1 {
            return Err(self.broken("head", 0, Fault::HeadMissing).into());
        }
        if let Some(fault) = self.fault_of_key() {
            return Err(self.broken(KEY_FILE, 0, fault).into());
        }
        self.verified.public_key = self.public_key.unwrap_or_default();
        Ok(self.verified)
    }

    /// What is wrong with the key beside a log whose records are right: the log cannot go on with it.
    fn fault_of_key(&self) -> Option<Fault> {
        // It is made before the first record is written.
        let is_begun = self.last_sequence > 0;
        match &self.archive.key {
            KeyFound::Absent if is_begun && !self.is_key_known => Some(Fault::KeyMissing),
            KeyFound::Unusable => Some(Fault::KeyUnusable),
            KeyFound::Public(key) if is_begun && self.public_key.as_ref() != Some(key) => {
                Some(Fault::OtherKey)
            }
            KeyFound::Hidden | KeyFound::Absent | KeyFound::Public(_) => None,
        }
    }

    /// Something is wrong where the next record should be.
    fn broken_at(&self, place: Place<'_>, fault: Fault) -> Broken {
        self.broken(&file_name(place.part.number), place.line, fault)
    }

    fn broken(&self, file: &str, line: u64, fault: Fault) -> Broken {
        Broken { file: file.to_owned(), line, sequence: self.last_sequence + 1, fault }
    }

    fn unreadable(&self, part: &Part, source: rustix::io::Errno) -> ReadError {
        let path = self.archive.path.join(file_name(part.number));
        AuditError::Kernel { call: "read", path, source }.into()
    }
}
