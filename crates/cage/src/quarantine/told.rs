//! What a sweep tells: every finding up to a bound, and how many more there are. A program can plant as many
//! names as it likes, and whoever keeps what was found, or shows it, must not have to pay for that. What is
//! still where it was has a bound of its own, so that it cannot be buried under what was renamed.

use plan::HostPath;

use super::{Fate, Finding};

/// Findings in the order in which they were made.
#[derive(Default)]
pub(super) struct Told {
    findings: Vec<Finding>,
    set_aside: Class,
    left: Class,
}

/// Findings of one fate.
#[derive(Default)]
struct Class {
    told: usize,
    first_untold: Option<HostPath>,
    untold: usize,
}

impl Told {
    /// Keeps a finding, or counts it.
    pub(super) fn tell(&mut self, finding: Finding) {
        let (class, path) = match &finding {
            Finding::Quarantined { path, .. } => (&mut self.set_aside, path),
            Finding::Modified { path, .. }
            | Finding::PerhapsMoved { path, .. }
            | Finding::Undated { path, .. }
            | Finding::Closed { path, .. }
            | Finding::NotMoved { path, .. }
            | Finding::NotSearched { path, .. }
            | Finding::More { path, .. } => (&mut self.left, path),
        };
        if class.told < MOST_TOLD {
            class.told += 1;
            self.findings.push(finding);
        } else {
            class.untold += 1;
            class.first_untold.get_or_insert_with(|| path.clone());
        }
    }

    /// All of them, with what was only counted at the end.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        let Self { mut findings, set_aside, left } = self;
        for (class, fate) in [(set_aside, Fate::SetAside), (left, Fate::Left)] {
            let more =
                class.first_untold.map(|path| Finding::More { path, count: class.untold, fate });
            findings.extend(more);
        }
        findings
    }
}

/// As many as a person may still read.
pub(super) const MOST_TOLD: usize = 128;
