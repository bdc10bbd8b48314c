//! What ends a program before it ends by itself: its time, its memory, somebody's order. Joins the
//! watchdog and the control group of one program for the supervisor that polls them, and knows which
//! of them came first. Only tells what is to be done; whoever watches over the program does it.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use jail::LimitsHolder;
use limits::{Degradation, Degraded, Group, Limiter, LimitsError, Usage};
use plan::{LimitsPlan, Plan};
use rustix::io::Errno;
use rustix::process::Pid;
use walls::Wall;

use crate::outcome::{EndReason, Outcome, SpawnError};
use crate::watchdog::{Ring, Watchdog};

#[cfg(test)]
mod tests;

/// The bounds of one program. Dropping it removes its control group, as far as nothing is left in it.
#[derive(Debug)]
pub struct Bounds {
    limits: LimitsPlan,
    group: Option<Group>,
    watchdog: Option<Watchdog>,
    verdict: Option<EndReason>,
}

impl Bounds {
    /// Makes what has to be there before a cage is born. Where the Plan has no limits that is
    /// nothing.
    pub fn prepare(plan: &Plan, degraded: Degraded) -> Result<Self, LimitsError> {
        let time_alone =
            LimitsPlan { walltime_sec: plan.walls.limits.walltime_sec, ..LimitsPlan::default() };
        let group = if plan.walls.limits == time_alone {
            None
        } else {
            Some(Limiter::discover().prepare(
                &plan.walls.limits,
                &plan.start.invocation,
                degraded,
            )?)
        };
        Ok(Self { limits: plan.walls.limits, group, watchdog: None, verdict: None })
    }

    /// The bounds of a program without a cage: its time.
    pub(crate) fn of_time(walltime: Option<Duration>) -> Self {
        let walltime_sec = walltime.map(|time| time.as_secs());
        let limits = LimitsPlan { walltime_sec, ..LimitsPlan::default() };
        Self { limits, group: None, watchdog: None, verdict: None }
    }

    /// For the launcher: these limits are held, and where the cage is to be born.
    pub(crate) fn holder(&self) -> LimitsHolder<'_> {
        LimitsHolder::Caller { birthplace: self.group.as_ref().and_then(Group::birthplace) }
    }

    /// Takes in the first process of a cage behind its shut gate, and lets its time begin.
    pub(crate) fn take_in(&mut self, pid: Pid) -> Result<(), SpawnError> {
        if let Some(group) = &mut self.group {
            group.adopt(pid)?;
        }
        self.arm().map_err(SpawnError::Supervise)
    }

    /// Lets the time begin.
    pub(crate) fn arm(&mut self) -> Result<(), Errno> {
        let walltime = self.limits.walltime_sec.map(Duration::from_secs);
        let walltime = walltime.filter(|_| walls::stands(Wall::WallTime));
        self.watchdog = walltime.map(Watchdog::arm).transpose()?;
        Ok(())
    }

    /// Readable when [`Self::listen`] has something to say.
    pub(crate) fn descriptors(&self) -> [Option<BorrowedFd<'_>>; 2] {
        let watchdog = self.watchdog.as_ref().map(Watchdog::descriptor);
        [watchdog, self.group.as_ref().and_then(Group::watch)]
    }

    /// What is to be done now that something happened.
    pub(crate) fn listen(&mut self) -> Result<Option<Ring>, Errno> {
        if self.verdict.is_none() && self.is_out_of_memory() {
            self.verdict = Some(EndReason::Oom);
            return Ok(Some(Ring::Kill));
        }
        let ring = self.watchdog.as_mut().map(Watchdog::listen).transpose()?.flatten();
        if ring.is_some() {
            self.verdict.get_or_insert(EndReason::WalltimeExceeded);
        }
        Ok(ring)
    }

    /// Somebody wants the program to end: it has the same time for it as one whose own is over.
    /// Tells what is to be done now, which is nothing if its end was already due.
    pub(crate) fn end(&mut self, reason: EndReason) -> Result<Option<Ring>, Errno> {
        if self.verdict.is_some() {
            return Ok(None);
        }
        self.verdict = Some(reason);
        self.watchdog = Some(Watchdog::in_grace()?);
        Ok(Some(Ring::Terminate))
    }

    /// Kills what is in the control group, if there is one.
    pub(crate) fn kill(&self) {
        if let Some(group) = &self.group {
            // Whatever is left ends with the first process of its cage.
            let _left = group.kill();
        }
    }

    /// Whether the program has run into its limit of memory. The kernel kills one process then or
    /// all of them; here it is always all.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.usage().is_some_and(|usage| usage.is_out_of_memory())
    }

    /// Whether the cage's first process has to stay until its usage is known.
    pub(crate) fn go_with_its_last_process(&self) -> bool {
        self.group.as_ref().is_some_and(Group::goes_with_its_last_process)
    }

    /// To be called when the cage has something to say, before anything is waited for.
    pub(crate) fn keep_usage(&self) {
        if let Some(group) = &self.group {
            group.keep_usage();
        }
    }

    /// What the program has used, as far as it was counted.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.group.as_ref().filter(|group| group.counts()).map(Group::usage)
    }

    /// Whether anything was made for the program.
    pub fn has_group(&self) -> bool {
        self.group.is_some()
    }

    /// Which limits are not held as they should be.
    pub fn degradation(&self) -> Option<&Degradation> {
        self.group.as_ref().and_then(Group::degradation)
    }

    /// Why the program was ended, if it was.
    pub(crate) fn verdict(&self) -> Option<EndReason> {
        self.verdict
    }

    /// What the bounds are.
    pub(crate) fn limits(&self) -> LimitsPlan {
        self.limits
    }

    /// Completes what is known of the end, of which a limit may have been the reason.
    pub(crate) fn judge(&mut self, outcome: &mut Outcome) {
        outcome.usage = self.usage();
        if outcome.usage.is_some_and(|usage| usage.is_out_of_memory()) {
            self.verdict.get_or_insert(EndReason::Oom);
        }
        if let Some(verdict) = self.verdict {
            outcome.reason = verdict;
        }
    }

    /// Removes the control group of a program of which nothing is left.
    pub(crate) fn remove(self) -> Result<(), LimitsError> {
        self.group.map_or(Ok(()), |group| group.remove().map(drop))
    }
}
