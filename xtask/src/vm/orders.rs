//! What the host asks of the machine, and what the machine answers: two small JSON documents, the
//! first on the payload's disk, the second through a port of its own beside the output.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::suite::{TestBinary, Totals};

/// What to do inside.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(super) enum Orders {
    /// A person does it.
    Nothing,
    /// Run one command.
    Command(Vec<String>),
    /// Run tests.
    Tests {
        /// The programs that hold them.
        binaries: Vec<StagedTests>,
        /// Those that are wanted have one of these words in their names.
        words: Vec<String>,
        /// The passes that are wanted; all of them, and the restrictions, if none is named.
        passes: Vec<String>,
    },
}

/// A program full of tests on the payload's disk.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(super) struct StagedTests {
    pub(super) package: String,
    pub(super) target: String,
    /// Its name among the payload's programs.
    pub(super) program: PathBuf,
    /// The directory of its package, from the project's root.
    pub(super) directory: PathBuf,
}

impl StagedTests {
    /// The same tests where the payload is mounted and the project was copied to.
    pub(super) fn located(&self, programs: &Path, project: &Path) -> TestBinary {
        TestBinary {
            package: self.package.clone(),
            target: self.target.clone(),
            executable: programs.join(&self.program),
            directory: project.join(&self.directory),
        }
    }
}

/// What came of it.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(super) enum Answer {
    /// The command's exit status.
    Ended(i32),
    /// How many tests passed, failed and were skipped.
    Tested(usize, usize, usize),
}

impl From<Totals> for Answer {
    fn from(totals: Totals) -> Self {
        Self::Tested(totals.passed, totals.failed, totals.skipped)
    }
}
