//! Retention: which of a log's oldest files are not kept any longer, by age or by size. Files go whole and
//! from the oldest on; nothing is removed from a log that is not what was written, because that would
//! cover up what was done to it.

use std::path::Path;

use crate::archive::{Archive, ReadError};
use crate::directory::file_name;
use crate::error::AuditError;
use crate::line::Line;
use crate::lines::{Lines, Part};
use crate::log::Log;
use crate::removal::Removal;
use crate::tail::{self, Last};
use crate::time::Timestamp;
use crate::verify::{Expected, VerifyError, verify};

#[cfg(test)]
mod tests;

/// What of a log is kept. Without a rule everything is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// A file goes when its last record is older than so many days.
    pub days: Option<u32>,
    /// The oldest files go until the rest has at most so many bytes.
    pub bytes: Option<u64>,
}

/// What retention did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// What was removed, if anything.
    pub removal: Option<Removal>,
    /// How many files stay.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The log is not what was written, or cannot be read.
    #[error("nothing was removed from the log")]
    NotVerified(#[from] VerifyError),
    /// The removal could not be recorded, or a file not be removed.
    #[error("the log cannot be pruned")]
    Log(#[from] AuditError),
}

impl From<ReadError> for PruneError {
    fn from(error: ReadError) -> Self {
        Self::NotVerified(error.into())
    }
}

impl Retention {
    /// Whether it lets go of anything at all.
    pub fn is_any(&self) -> bool {
        self.days.is_some() || self.bytes.is_some()
    }

    /// Reads a size as a person writes it: `500000`, `512K`, `100M`, `2G` or `1T`, in powers of 1,024.
    pub fn size(given: &str) -> Option<u64> {
        let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
        let with_unit = |(unit, power): &(char, u32)| Some((given.strip_suffix(*unit)?, *power));
        let (digits, power) = units.iter().find_map(with_unit).unwrap_or((given, 0));
        // `parse` alone would take a sign.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = digits.parse().ok().filter(|_| is_number)?;
        number.checked_mul(1 << power)
    }

    /// What it would remove from the log in a directory.
    pub fn plan(&self, directory: &Path) -> Result<Pruned, PruneError> {
        self.plan_at(directory, Timestamp::now())
    }

    fn plan_at(&self, directory: &Path, now: Timestamp) -> Result<Pruned, PruneError> {
        let archive = Archive::of_directory(directory)?;
        let mut ends = Vec::new();
        // The last one is written to.
        if let Some((_, rotated)) = archive.parts.split_last() {
            for part in rotated {
                ends.push((part, end_of(&archive, part)?));
            }
        }
        let (count, rule) = self.count(&archive, &ends, now);
        let bytes = archive.parts.iter().map(|part| part.length);
        let (files, left) = (archive.parts.len() - count, bytes.skip(count).sum());
        let removal = match ends.get(..count).and_then(<[_]>::split_last) {
            Some(((part, (last, last_time)), _)) => {
                let removed = archive.parts.iter().take(count);
                Some(Removal {
                    last_file: part.number,
                    first_sequence: archive
                        .removed
                        .stated()
                        .map_or(1, |stated| stated.removal.last_sequence + 1),
                    last_sequence: last.sequence,
                    last_hash: last.hash,
                    first_time: first_time(&archive)?.unwrap_or(*last_time),
                    last_time: *last_time,
                    bytes: removed.map(|part| part.length).sum(),
                    rule,
                })
            }
            None => None,
        };
        Ok(Pruned { removal, files, bytes: left })
    }

    /// How many files go, and by which rule: the one that reaches furthest, or both.
    fn count(
        &self,
        archive: &Archive,
        ends: &[(&Part, (Last, Timestamp))],
        now: Timestamp,
    ) -> (usize, String) {
        let oldest = self.oldest(now);
        let is_old = |(_, (_, time)): &&(&Part, (Last, Timestamp))| Some(*time) < oldest;
        let by_age = oldest.map_or(0, |_| ends.iter().take_while(is_old).count());
        let mut total: u64 = archive.parts.iter().map(|part| part.length).sum();
        let mut by_size = 0;
        for (part, _) in ends {
            if self.bytes.is_none_or(|most| total <= most) {
                break;
            }
            total -= part.length;
            by_size += 1;
        }
        let count = by_age.max(by_size);
        let mut rules = Vec::new();
        rules.extend(self.days.filter(|_| by_age == count).map(|days| format!("keep-days {days}")));
        rules.extend(
            self.bytes.filter(|_| by_size == count).map(|bytes| format!("keep-size {bytes}")),
        );
        (count, rules.join(", "))
    }

    /// Before which moment a record is too old.
    fn oldest(&self, now: Timestamp) -> Option<Timestamp> {
        let age = u64::from(self.days?) * MICROSECONDS_OF_DAY;
        Timestamp::from_microseconds(now.microseconds().saturating_sub(age))
    }
}

impl Log {
    /// Removes the oldest files of the log, as far as rules say, and finishes what somebody left who was
    /// cut short while doing so. A removal is on record before anything is gone.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned, PruneError> {
        self.prune_at(retention, Timestamp::now())
    }

    fn prune_at(&self, retention: &Retention, now: Timestamp) -> Result<Pruned, PruneError> {
        // Where nothing is recorded there is nothing to begin a log for.
        Archive::of_directory(self.directory())?;
        if let Some(oldest) = retention.oldest(now) {
            self.end_file_begun_before(oldest)?;
        }
        self.remove_stated()?;
        let mut pruned = retention.plan_at(self.directory(), now)?;
        if let Some(removal) = pruned.removal.clone() {
            verify(self.directory(), &Expected::default())?;
            if !self.state_removal(removal)? {
                pruned.removal = None;
            }
            self.remove_stated()?;
        }
        Ok(pruned)
    }
}

/// The last record of a file that the log has gone on behind.
fn end_of(archive: &Archive, part: &Part) -> Result<(Last, Timestamp), AuditError> {
    let path = archive.path.join(file_name(part.number));
    let last = tail::last_record_and_time(&part.file, part.length)
        .map_err(|source| AuditError::Kernel { call: "read", path, source })?;
    last.filter(|(last, _)| last.is_rotation).ok_or_else(|| AuditError::Damaged {
        path: archive.path.clone(),
        problem: format!("the end of `{}` is not as it was", file_name(part.number)),
    })
}

/// When the first record that is there was written.
fn first_time(archive: &Archive) -> Result<Option<Timestamp>, AuditError> {
    let Some(part) = archive.parts.first() else { return Ok(None) };
    let path = archive.path.join(file_name(part.number));
    let mut lines = Lines::from(0);
    let first = lines.next(part);
    let first = first.map_err(|source| AuditError::Kernel { call: "read", path, source })?;
    Ok(first.and_then(|raw| Line::parse(raw.bytes).ok()).map(|line| line.time))
}

const MICROSECONDS_OF_DAY: u64 = 86_400 * 1_000_000;
