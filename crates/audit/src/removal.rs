//! What retention has removed: where it ended, signed. It stands in the log as `log.pruned`, and in a
//! file beside the log, where it is the anchor that the first record still there follows. Says what was
//! removed; never removes anything.

use std::fmt;
use std::io::Read as _;

use rustix::fs::OFlags;

use crate::directory::{Directory, file_name, number_of};
use crate::error::AuditError;
use crate::event::Event;
use crate::hash::Hash;
use crate::key::{Key, is_signed};
use crate::line::LONGEST_LINE;
use crate::text::Name;
use crate::time::Timestamp;

/// The oldest files of a log, which a rule has removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The number of the last of these files.
    pub(crate) last_file: u32,
    /// The first record in them.
    pub first_sequence: u64,
    /// The last record in them.
    pub last_sequence: u64,
    pub(crate) last_hash: Hash,
    /// When the first was written.
    pub first_time: Timestamp,
    /// When the last was written.
    pub last_time: Timestamp,
    /// How many bytes they had.
    pub bytes: u64,
    /// The rule, as `keep-days 30`.
    pub rule: String,
}

/// A removal and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedRemoval {
    pub(crate) removal: Removal,
    pub(crate) public_key: String,
    signature: String,
}

/// What was found of an anchor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnchorFound {
    /// Nothing: nothing was removed.
    Absent,
    /// Something that is not an anchor.
    Unreadable,
    /// An anchor, genuine or not.
    Stated(Box<SignedRemoval>),
}

impl fmt::Display for Removal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_sequence, last_sequence, first_time, last_time, bytes, .. } = self;
        write!(
            formatter,
            "records {first_sequence} to {last_sequence}, from {first_time} to {last_time}, {bytes} \
             bytes up to `{}`",
            self.last_file()
        )
    }
}

impl Removal {
    /// The last of the files.
    pub fn last_file(&self) -> String {
        file_name(self.last_file)
    }

    pub(crate) fn sign(self, key: &Key) -> SignedRemoval {
        let (public_key, signature) = (key.public(), key.sign(&self.message()));
        SignedRemoval { removal: self, public_key, signature }
    }

    fn message(&self) -> String {
        let Self { last_file, first_sequence, last_sequence, last_hash, .. } = self;
        let Self { first_time, last_time, bytes, rule, .. } = self;
        format!(
            "stockade audit removal 1\n{}\n{first_sequence}\n{last_sequence}\n{last_hash}\n\
             {first_time}\n{last_time}\n{bytes}\n{rule}\n",
            file_name(*last_file)
        )
    }
}

impl SignedRemoval {
    /// What a record says; none if it is another one, or not in the form of this one.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let Event::LogPruned {
            last_file,
            first_seq,
            last_seq,
            last_hash,
            first_time,
            last_time,
            bytes,
            rule,
            public_key,
            signature,
        } = event
        else {
            return None;
        };
        let removal = Removal {
            last_file: number_of(last_file.as_str())?,
            first_sequence: *first_seq,
            last_sequence: *last_seq,
            last_hash: Hash::parse(last_hash.as_str())?,
            first_time: Timestamp::parse_canonical(first_time.as_str())?,
            last_time: Timestamp::parse_canonical(last_time.as_str())?,
            bytes: *bytes,
            rule: rule.to_string(),
        };
        // Whoever has a key of their own can sign any number; none may be one that cannot be counted on from.
        let is_possible = removal.last_file < u32::MAX / 2
            && (1..=removal.last_sequence).contains(&removal.first_sequence)
            && removal.last_sequence < u64::MAX / 2;
        let (public_key, signature) = (public_key.to_string(), signature.to_string());
        is_possible.then_some(Self { removal, public_key, signature })
    }

    /// The record of it.
    pub(crate) fn event(&self) -> Event {
        let Removal { first_sequence, last_sequence, last_hash, bytes, rule, .. } = &self.removal;
        Event::LogPruned {
            last_file: self.removal.last_file().into(),
            first_seq: *first_sequence,
            last_seq: *last_sequence,
            last_hash: Name::from(last_hash.to_string()),
            first_time: self.removal.first_time.to_string().into(),
            last_time: self.removal.last_time.to_string().into(),
            bytes: *bytes,
            rule: rule.into(),
            public_key: Name::from(&self.public_key),
            signature: Name::from(&self.signature),
        }
    }

    /// Whether its own key has signed it.
    pub(crate) fn is_genuine(&self) -> bool {
        is_signed(&self.public_key, &self.removal.message(), &self.signature)
    }

    /// Whether a key has signed it.
    pub(crate) fn is_signed_with(&self, key: &Key) -> bool {
        self.public_key == key.public() && self.signature == key.sign(&self.removal.message())
    }

    /// Puts it beside the log, durably.
    pub(crate) fn store(&self, directory: &Directory) -> Result<(), AuditError> {
        let mut text = serde_json::to_vec(&self.event())
            .map_err(|error| AuditError::Unwritable(error.to_string()))?;
        text.push(b'\n');
        directory.make_file(ANCHOR_FILE, &text)
    }
}

impl AnchorFound {
    /// The anchor of a log.
    pub(crate) fn of(directory: &Directory) -> Result<Self, AuditError> {
        let Some(file) = directory.file_if_any(ANCHOR_FILE, OFlags::RDONLY)? else {
            return Ok(Self::Absent);
        };
        let mut bytes = Vec::new();
        let read = std::fs::File::from(file).take(LONGEST_LINE as u64).read_to_end(&mut bytes);
        let event: Option<Event> = read.ok().and_then(|_| serde_json::from_slice(&bytes).ok());
        Ok(event.map_or(Self::Unreadable, |event| Self::from_event(&event)))
    }

    /// What stands in the place of an anchor.
    pub(crate) fn from_event(event: &Event) -> Self {
        SignedRemoval::of(event).map_or(Self::Unreadable, |stated| Self::Stated(Box::new(stated)))
    }

    /// What it states.
    pub(crate) fn stated(&self) -> Option<&SignedRemoval> {
        match self {
            Self::Stated(stated) => Some(stated),
            Self::Absent | Self::Unreadable => None,
        }
    }
}

/// The file of the anchor.
pub(crate) const ANCHOR_FILE: &str = "removed";
