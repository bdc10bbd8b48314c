//! The processes that start a runner's cages. A launcher has one thread and starts one cage at a time, so
//! a machine with several processors has several of them. Never replaces one that is gone: its cages
//! went with it, and whoever runs this is told so.

use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jail::launcher::Launcher;
use jail::{Child, LimitsHolder, ProgramStreams, StartError};
use plan::Plan;
use rustix::process::Pid;

use crate::error::RunError;

/// The launchers.
#[derive(Debug)]
pub(super) struct Launchers {
    /// None when the runner is closed.
    each: Mutex<Vec<Arc<Launcher>>>,
    /// Whether one was found to be gone.
    lost: AtomicBool,
}

impl Launchers {
    /// Forks them, while this process has a single thread.
    pub(super) fn start() -> Result<Self, StartError> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let each = (0..processors.min(MOST)).map(|_| Launcher::start(None).map(Arc::new));
        let each = Mutex::new(each.collect::<Result<_, _>>()?);
        Ok(Self { each, lost: AtomicBool::new(false) })
    }

    /// Lets the launcher that fewest wait for start a cage, and returns that launcher.
    pub(super) fn start_cage(
        &self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<(Child, Arc<Launcher>), RunError> {
        if self.lost.load(Ordering::Relaxed) {
            return Err(StartError::LauncherGone.into());
        }
        let free = self.each().iter().min_by_key(|launcher| launcher.callers()).cloned();
        let launcher = free.ok_or(RunError::Closing)?;
        let child = launcher.start_cage(plan, sources, streams, limits);
        if matches!(child, Err(StartError::LauncherGone)) {
            self.lost.store(true, Ordering::Relaxed);
        }
        Ok((child?, launcher))
    }

    pub(super) fn pids(&self) -> Vec<Pid> {
        self.each().iter().map(|launcher| launcher.pid()).collect()
    }

    /// Ends them, as soon as nobody waits for one.
    pub(super) fn close(&self) {
        self.each().clear();
    }

    fn each(&self) -> MutexGuard<'_, Vec<Arc<Launcher>>> {
        self.each.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More would wait for what the kernel does for one cage at a time.
const MOST: usize = 8;
