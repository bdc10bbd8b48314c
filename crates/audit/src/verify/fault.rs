//! What can be wrong with a log, and how it is told.

use std::fmt;

use crate::archive::ReadError;

/// Why a log was not found to be what was written.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It is not.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
}

/// Where a log is not what was written. The first such place: what comes after it proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub file: String,
    /// The line in it, from 1; 0 where none is meant.
    pub line: u64,
    /// The record that should be there.
    pub sequence: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The line is not what was written.
    Changed,
    /// The record was written in place of another, or the one before it was.
    Replaced,
    /// Records up to this one are gone.
    Missing {
        /// The first one that is there.
        next: u64,
    },
    /// The record stands further on.
    Reordered,
    /// A line stands here that does not belong to the log.
    Inserted,
    /// A record of the log itself stands where the log does not put it.
    Misplaced,
    /// A file of the log is gone.
    FileMissing,
    /// A file in which the log does not go on: the one before it does not end with saying so.
    StrayFile,
    /// A record behind the one that the head of an export states. Nothing vouches for it.
    BeyondHead,
    /// Something that is no record, behind the last one of an export.
    TrailingBytes,
    /// The log ends too early.
    Truncated {
        /// The record that the head states.
        stated: u64,
    },
    /// The log ends before what was exported as an anchor.
    TruncatedSinceAnchor {
        /// The record that the anchor states.
        stated: u64,
    },
    /// The record is not the one that the head states.
    NotAsStated,
    /// The record is not the one that the anchor states.
    NotAsAnchored,
    /// A checkpoint is missing, or its signature is not by the log's key.
    ForgedCheckpoint,
    /// The head is not signed by its key, or is none.
    ForgedHead,
    /// The anchor is not signed by its key.
    ForgedAnchor,
    /// The statement of what retention removed is none, or is not signed by its key.
    ForgedRemoval,
    /// No record says what the statement of what was removed says.
    RemovalNotOnRecord,
    /// The record that the anchor states was removed by retention.
    AnchorRemoved {
        /// The last record that was removed.
        through: u64,
    },
    /// The log has no head.
    HeadMissing,
    /// Another key was used than the log began with, or than is expected.
    OtherKey,
    /// The records are what was written, and the key that signs them is gone.
    KeyMissing,
    /// The records are what was written, and what lies in place of the key is none.
    KeyUnusable,
}

impl Fault {
    /// The word for it that stays.
    pub fn code(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Replaced => "replaced",
            Self::Missing { .. } => "missing",
            Self::Reordered => "reordered",
            Self::Inserted => "inserted",
            Self::Misplaced => "misplaced",
            Self::FileMissing => "file_missing",
            Self::StrayFile => "stray_file",
            Self::BeyondHead => "beyond_head",
            Self::TrailingBytes => "trailing_bytes",
            Self::Truncated { .. } => "truncated",
            Self::TruncatedSinceAnchor { .. } => "truncated_since_anchor",
            Self::NotAsStated => "not_as_stated",
            Self::NotAsAnchored => "not_as_anchored",
            Self::ForgedCheckpoint => "forged_checkpoint",
            Self::ForgedHead => "forged_head",
            Self::ForgedAnchor => "forged_anchor",
            Self::ForgedRemoval => "forged_removal",
            Self::RemovalNotOnRecord => "removal_not_on_record",
            Self::AnchorRemoved { .. } => "anchor_removed",
            Self::HeadMissing => "head_missing",
            Self::OtherKey => "other_key",
            Self::KeyMissing => "key_missing",
            Self::KeyUnusable => "key_unusable",
        }
    }
}

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.file)?;
        if self.line > 0 {
            write!(formatter, " line {}", self.line)?;
        }
        write!(formatter, ": {}", self.fault.sentence(self.sequence))
    }
}

impl Fault {
    /// What is said of it where this record should be.
    fn sentence(self, record: u64) -> String {
        match self {
            Self::Changed => format!("record {record} was changed"),
            Self::Replaced => format!("record {record} or the one before it was replaced"),
            Self::Missing { next } if next - 1 == record => format!("record {record} is missing"),
            Self::Missing { next } => format!("records {record} to {} are missing", next - 1),
            Self::Reordered => format!("record {record} was moved: it stands further on"),
            Self::Inserted => format!("a line was inserted where record {record} should be"),
            Self::Misplaced => format!("record {record} is not one that the log puts there"),
            Self::FileMissing => {
                format!("the file is missing, and with it the records from {record} on")
            }
            Self::StrayFile => format!(
                "the log does not go on in this file: none of the records before {record} says so"
            ),
            Self::BeyondHead => format!(
                "record {record} was added: the head of the export states that it ends before it"
            ),
            Self::TrailingBytes => format!(
                "something was added that is not record {record}: the head of the export states that \
                 it ends before it"
            ),
            Self::Truncated { stated } => {
                format!("the end was cut off: records {record} to {stated} are missing")
            }
            Self::TruncatedSinceAnchor { stated } => format!(
                "the end was cut off, and the head set back: the anchor states record {stated}, and \
                 those from {record} on are missing"
            ),
            Self::NotAsStated => format!("record {record} is not the one that the head states"),
            Self::NotAsAnchored => format!("record {record} is not the one that the anchor states"),
            Self::ForgedCheckpoint => {
                format!("record {record} is not a checkpoint signed by the log's key")
            }
            Self::ForgedHead => "it is not a head signed by its key".to_owned(),
            Self::ForgedAnchor => "the anchor is not signed by its key".to_owned(),
            Self::ForgedRemoval => {
                "the statement of what was removed is not signed by the log's key".to_owned()
            }
            Self::RemovalNotOnRecord => {
                format!("no record says that the records up to {record} were removed")
            }
            Self::AnchorRemoved { through } => format!(
                "the anchor states record {record}, and those up to {through} were removed by \
                 retention; compare with an anchor that was exported after that"
            ),
            Self::HeadMissing => format!("it is missing; records from {record} on may be too"),
            Self::OtherKey => "another key was used than the log's own".to_owned(),
            Self::KeyMissing => format!(
                "it is missing, so record {record} cannot be added; nothing is wrong with those \
                 before it, and a copy that has no key is verified with `--key`"
            ),
            Self::KeyUnusable => format!(
                "it is not a key, so record {record} cannot be added; nothing is wrong with those \
                 before it"
            ),
        }
    }
}
