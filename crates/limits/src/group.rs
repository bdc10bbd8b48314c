//! The limits of one cage, whatever mechanism holds them.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::numbers::Limit;
use crate::rlimits::Rlimits;
use crate::{LimitsError, Usage, v1, v2};

/// The limits of one cage, from before its birth until after its end. Dropping it removes what was
/// made for it, as far as no process is left in it.
#[derive(Debug)]
pub struct Group {
    pub(crate) holder: Holder,
    pub(crate) rlimits: Option<Rlimits>,
    pub(crate) degradation: Option<Degradation>,
}

/// Which limits of a cage are not held as they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degradation {
    /// The limits.
    pub limits: Vec<Limit>,
    /// What was in the way.
    pub reason: String,
    /// What holds instead, in words.
    pub consequences: Vec<String>,
    /// What to do about it.
    pub fix: String,
}

#[derive(Debug)]
pub(crate) enum Holder {
    /// There is nothing to hold, or only resource limits do.
    Nothing,
    One(v1::Group),
    Two(v2::Group),
}

impl Group {
    pub(crate) fn new(holder: Holder) -> Self {
        Self { holder, rlimits: None, degradation: None }
    }

    /// The group into which the cage's first process can be born (`CLONE_INTO_CGROUP`). It has to be
    /// adopted all the same.
    pub fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        match &self.holder {
            Holder::Nothing | Holder::One(_) => None,
            Holder::Two(group) => Some(group.birthplace()),
        }
    }

    /// Takes in the cage's first process. It must not have started anything yet, and must not before
    /// this has returned.
    pub fn adopt(&mut self, pid: Pid) -> Result<(), LimitsError> {
        match &self.holder {
            Holder::Nothing => {}
            Holder::One(group) => group.adopt(pid)?,
            Holder::Two(group) => group.adopt(pid)?,
        }
        self.rlimits.map_or(Ok(()), |rlimits| rlimits.set(pid))
    }

    /// What is not held as it should be. None where every limit is held in full.
    pub fn degradation(&self) -> Option<&Degradation> {
        self.degradation.as_ref()
    }

    /// Readable when [`Self::usage`] has news of a limit that was met, and until that was called.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        match &self.holder {
            Holder::Nothing => None,
            Holder::One(group) => group.watch(),
            Holder::Two(group) => group.watch(),
        }
    }

    /// What the cage has used so far.
    pub fn usage(&self) -> Usage {
        match &self.holder {
            Holder::Nothing => Usage::default(),
            Holder::One(group) => group.usage(),
            Holder::Two(group) => group.usage(),
        }
    }

    /// Kills everything in the group, until nothing is left. Does nothing where no control group
    /// holds the cage: then its process id namespace is what ends it.
    pub fn kill(&self) -> Result<(), LimitsError> {
        match &self.holder {
            Holder::Nothing => Ok(()),
            Holder::One(group) => group.kill(Instant::now() + LONGEST_END),
            Holder::Two(group) => group.kill(Instant::now() + LONGEST_END),
        }
    }

    /// Reads the last usage and removes what was made for the cage, all of whose processes have been
    /// killed or have ended. Waits for the last one to be gone.
    pub fn remove(mut self) -> Result<Usage, LimitsError> {
        let usage = self.usage();
        match &mut self.holder {
            Holder::Nothing => {}
            Holder::One(group) => group.remove(Instant::now() + LONGEST_END)?,
            Holder::Two(group) => group.remove(Instant::now() + LONGEST_END)?,
        }
        Ok(usage)
    }
}

/// How long processes that were killed may take to end.
const LONGEST_END: Duration = Duration::from_secs(5);
