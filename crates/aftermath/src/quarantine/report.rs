//! What a sweep reports: every finding up to a bound, and how many more there are. A program can plant as many
//! names as it likes, and whoever keeps what was found, or shows it, must not have to pay for that. What is
//! still where it was has a bound of its own, so that it cannot be buried under what was renamed. What packages
//! bring has another, lower one: nobody reads about each of them.

use plan::HostPath;

use super::{Fate, Finding};

/// Findings in the order in which they were made.
#[derive(Default)]
pub(super) struct SweepReport {
    findings: Vec<Finding>,
    elsewhere: Fates,
    among_packages: Fates,
}

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where people work.
    Elsewhere,
    /// Below a directory of packages or builds.
    AmongPackages,
}

#[derive(Default)]
struct Fates {
    set_aside: Class,
    left: Class,
}

/// Findings of one fate.
#[derive(Default)]
struct Class {
    listed: usize,
    first_unlisted: Option<HostPath>,
    unlisted: usize,
}

impl SweepReport {
    /// Keeps a finding, or counts it.
    pub(super) fn add(&mut self, finding: Finding, place: Place) {
        let (fates, most) = match place {
            Place::Elsewhere => (&mut self.elsewhere, MOST_LISTED),
            Place::AmongPackages => (&mut self.among_packages, MOST_LISTED_AMONG_PACKAGES),
        };
        let (class, path) = match &finding {
            Finding::Quarantined { path, .. }
            | Finding::Kept { path, .. }
            | Finding::PutBack { path, .. } => (&mut fates.set_aside, path),
            Finding::Modified { path, .. }
            | Finding::PerhapsMoved { path, .. }
            | Finding::Undated { path, .. }
            | Finding::Closed { path, .. }
            | Finding::NotMoved { path, .. }
            | Finding::Gitlinks { path, .. }
            | Finding::Tracked { path, .. }
            | Finding::CheckedOut { path, .. }
            | Finding::Committed { path, .. }
            | Finding::CommitsUnknown { path }
            | Finding::IndexUnknown { path, .. }
            | Finding::NotSearched { path, .. }
            | Finding::More { path, .. } => (&mut fates.left, path),
        };
        if class.listed < most {
            class.listed += 1;
            self.findings.push(finding);
        } else {
            class.unlisted += 1;
            class.first_unlisted.get_or_insert_with(|| path.clone());
        }
    }

    /// All of them, with what was only counted at the end.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        let Self { mut findings, elsewhere, among_packages } = self;
        for Fates { set_aside, left } in [elsewhere, among_packages] {
            for (class, fate) in [(set_aside, Fate::SetAside), (left, Fate::Left)] {
                let count = class.unlisted;
                let more = class.first_unlisted.map(|path| Finding::More { path, count, fate });
                findings.extend(more);
            }
        }
        findings
    }
}

/// As many as a person may still read.
pub(super) const MOST_LISTED: usize = 128;

/// As many as show what happened.
const MOST_LISTED_AMONG_PACKAGES: usize = 8;
