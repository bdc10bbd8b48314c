//! What one sweep may cost. A program decides how much there is to look at, and whoever started it waits for
//! the end of the look. Counts, and asks the clock; what was not looked at for want of it is told elsewhere.

use std::time::{Duration, Instant};

use crate::quarantine::Unsearched;

/// The most that one sweep may cost.
#[derive(Clone, Copy, Debug)]
pub(in crate::quarantine) struct Limits {
    /// Names that are read: about a second's work.
    pub(in crate::quarantine) names: usize,
    /// Bytes of files that are read, but for indexes.
    pub(in crate::quarantine) bytes: usize,
    /// Bytes of indexes: those of a million files have less.
    pub(in crate::quarantine) index_bytes: usize,
    /// Time in all.
    pub(in crate::quarantine) time: Duration,
    /// Names below directories of packages and builds, which are searched after all others.
    pub(in crate::quarantine) names_among_packages: usize,
    /// Time for these. A disk may have to be read for what nobody has touched in months.
    pub(in crate::quarantine) time_among_packages: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            names: 1_000_000,
            bytes: 64 << 20,
            index_bytes: 128 << 20,
            time: Duration::from_secs(10),
            names_among_packages: 300_000,
            time_among_packages: Duration::from_secs(2),
        }
    }
}

/// What is left of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    names: usize,
    ends: Instant,
}

impl Allowance {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { names: limits.names, ends: Instant::now() + limits.time }
    }

    /// The part of it for directories of packages and builds.
    pub(super) fn among_packages(self, limits: &Limits) -> Self {
        let ends = self.ends.min(Instant::now() + limits.time_among_packages);
        Self { names: limits.names_among_packages, ends }
    }

    /// Takes one name, if any is left.
    pub(super) fn take_name(&mut self) -> bool {
        let is_left = self.names > 0;
        self.names = self.names.saturating_sub(1);
        is_left
    }

    /// Why nothing more may be looked at, if so.
    pub(super) fn is_over(&self) -> Option<Unsearched> {
        if self.names == 0 {
            Some(Unsearched::TooManyNames)
        } else if self.is_late() {
            Some(Unsearched::TooLong)
        } else {
            None
        }
    }

    /// Whether the time is over.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// Takes what was used of `limits` away from them.
    pub(super) fn charge_packages(&self, limits: &mut Limits, begun: Instant) {
        limits.names_among_packages = self.names;
        limits.time_among_packages = limits.time_among_packages.saturating_sub(begun.elapsed());
    }
}
