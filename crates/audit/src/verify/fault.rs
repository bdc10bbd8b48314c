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
    /// The log has no head.
    HeadMissing,
    /// Another key was used than the log began with, or than is expected.
    OtherKey,
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
            Self::HeadMissing => "head_missing",
            Self::OtherKey => "other_key",
        }
    }
}

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, sequence, fault } = self;
        write!(formatter, "`{file}`")?;
        if *line > 0 {
            write!(formatter, " line {line}")?;
        }
        write!(formatter, ": ")?;
        match fault {
            Fault::Changed => write!(formatter, "record {sequence} was changed"),
            Fault::Replaced => {
                write!(formatter, "record {sequence} or the one before it was replaced")
            }
            Fault::Missing { next } if next - 1 == *sequence => {
                write!(formatter, "record {sequence} is missing")
            }
            Fault::Missing { next } => {
                write!(formatter, "records {sequence} to {} are missing", next - 1)
            }
            Fault::Reordered => {
                write!(formatter, "record {sequence} was moved: it stands further on")
            }
            Fault::Inserted => {
                write!(formatter, "a line was inserted where record {sequence} should be")
            }
            Fault::Misplaced => {
                write!(formatter, "record {sequence} is not one that the log puts there")
            }
            Fault::FileMissing => {
                write!(formatter, "the file is missing, and with it the records from {sequence} on")
            }
            Fault::StrayFile => write!(
                formatter,
                "the log does not go on in this file: none of the records before {sequence} says so"
            ),
            Fault::BeyondHead => write!(
                formatter,
                "record {sequence} was added: it stands behind the last one that the export's head \
                 states"
            ),
            Fault::TrailingBytes => write!(
                formatter,
                "something was added that is not record {sequence}: it stands behind the last one \
                 that the export's head states"
            ),
            Fault::Truncated { stated } => {
                write!(formatter, "the end was cut off: records {sequence} to {stated} are missing")
            }
            Fault::TruncatedSinceAnchor { stated } => write!(
                formatter,
                "the end was cut off, and the head set back: the anchor states record {stated}, and \
                 those from {sequence} on are missing"
            ),
            Fault::NotAsStated => {
                write!(formatter, "record {sequence} is not the one that the head states")
            }
            Fault::NotAsAnchored => {
                write!(formatter, "record {sequence} is not the one that the anchor states")
            }
            Fault::ForgedCheckpoint => {
                write!(formatter, "record {sequence} is not a checkpoint signed by the log's key")
            }
            Fault::ForgedHead => write!(formatter, "it is not a head signed by its key"),
            Fault::ForgedAnchor => write!(formatter, "the anchor is not signed by its key"),
            Fault::HeadMissing => {
                write!(formatter, "it is missing; records from {sequence} on may be too")
            }
            Fault::OtherKey => write!(formatter, "another key was used than the log's own"),
        }
    }
}
