//! The limits of one cage, whatever mechanism holds them.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::backend::Obstacle;
use crate::numbers::{Limit, Numbers};
use crate::rlimits::Rlimits;
use crate::scope::Scope;
use crate::{LimitsError, Usage, v1, v2};

/// The limits of one cage, from before its start until after its end. Dropping it removes what was
/// made for it, as far as no process is left in it.
#[derive(Debug)]
pub struct Group {
    holder: Holder,
    numbers: Numbers,
    /// What to do if the cage's first process cannot be taken in.
    failure: Failure,
    rlimits: Option<Rlimits>,
    degradation: Option<Degradation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// Say so.
    Tell,
    /// Hold what resource limits can hold.
    Degrade,
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
    Scope(Box<Scope>),
}

impl Group {
    pub(crate) fn new(holder: Holder, numbers: Numbers) -> Self {
        Self { holder, numbers, failure: Failure::Tell, rlimits: None, degradation: None }
    }

    /// Has resource limits take the place of a control group that does not take processes in.
    pub(crate) fn with_fallback(self) -> Self {
        Self { failure: Failure::Degrade, ..self }
    }

    /// Has resource limits take the place of these.
    pub(crate) fn degraded(self, limits: Vec<Limit>, obstacle: Obstacle) -> Self {
        let rlimits = Rlimits::of(&self.numbers.only(&limits));
        let consequences = Rlimits::consequences(&limits);
        let Obstacle { why: reason, fix } = obstacle;
        let degradation = Degradation { limits, reason, consequences, fix };
        Self { rlimits: Some(rlimits), degradation: Some(degradation), ..self }
    }

    /// The group into which the cage's first process can be started (`CLONE_INTO_CGROUP`). It has to be
    /// adopted all the same.
    pub fn cgroup(&self) -> Option<BorrowedFd<'_>> {
        match &self.holder {
            Holder::Nothing | Holder::One(_) | Holder::Scope(_) => None,
            Holder::Two(group) => Some(group.cgroup()),
        }
    }

    /// Takes in the cage's first process. It must not have started anything yet, and must not before
    /// this has returned.
    pub fn adopt(&mut self, pid: Pid) -> Result<(), LimitsError> {
        let adopted = match &mut self.holder {
            Holder::Nothing => Ok(()),
            Holder::One(group) => group.adopt(pid),
            Holder::Two(group) => group.adopt(pid),
            Holder::Scope(scope) => scope.adopt(pid),
        };
        match adopted {
            Err(error) if self.failure == Failure::Degrade => {
                let group = Self::new(Holder::Nothing, self.numbers);
                let group = group.degraded(self.numbers.limits(), Obstacle::without_fix(&error));
                (self.rlimits, self.degradation) = (group.rlimits, group.degradation.clone());
            }
            other => other?,
        }
        self.rlimits.map_or(Ok(()), |rlimits| rlimits.set(pid))
    }

    /// What is not held as it should be. None where every limit is held in full.
    pub fn degradation(&self) -> Option<&Degradation> {
        self.degradation.as_ref()
    }

    /// Readable when [`Self::usage`] has news of a limit that was met, until that was called. Want of
    /// memory is always told; what else is depends on the mechanism.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        match &self.holder {
            Holder::Nothing => None,
            Holder::One(group) => group.watch(),
            Holder::Two(group) => group.watch(),
            Holder::Scope(scope) => scope.watch(),
        }
    }

    /// Whether anybody counts what the cage uses.
    pub fn counts(&self) -> bool {
        !matches!(self.holder, Holder::Nothing)
    }

    /// What the cage has used so far.
    pub fn usage(&self) -> Usage {
        match &self.holder {
            Holder::Nothing => Usage::default(),
            Holder::One(group) => group.usage(),
            Holder::Two(group) => group.usage(),
            Holder::Scope(scope) => scope.usage(),
        }
    }

    /// Keeps what the cage has used so far where its group may be gone before [`Self::usage`] is called:
    /// systemd removes a scope with its last process. For the moment in which the cage tells its end.
    pub fn keep_usage(&self) {
        if let Holder::Scope(scope) = &self.holder {
            let _kept = scope.usage();
        }
    }

    /// Whether the counters go with the cage's last process, so that this has to stay until
    /// [`Self::keep_usage`] was called.
    pub fn goes_with_its_last_process(&self) -> bool {
        matches!(self.holder, Holder::Scope(_))
    }

    /// Kills everything in the group, until nothing is left. Does nothing where no control group
    /// holds the cage: then its process id namespace is what ends it.
    pub fn kill(&self) -> Result<(), LimitsError> {
        match &self.holder {
            Holder::Nothing => Ok(()),
            Holder::One(group) => group.kill(Instant::now() + LONGEST_END),
            Holder::Two(group) => group.kill(Instant::now() + LONGEST_END),
            Holder::Scope(scope) => scope.kill(Instant::now() + LONGEST_END),
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
            Holder::Scope(scope) => scope.remove(Instant::now() + LONGEST_END)?,
        }
        Ok(usage)
    }
}

/// How long processes that were killed may take to end.
const LONGEST_END: Duration = Duration::from_secs(5);
