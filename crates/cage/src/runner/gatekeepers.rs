//! The gatekeeper that serves every cage of a runner: started when the first cage with a network
//! comes, and another one after it has ended. K15, K192

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jail::launcher::Launcher;
use rustix::process::Pid;

use super::watch::{Key, Subject, Watch};
use crate::egress::Egress;
use crate::error::RunError;
use crate::gatekeeper::Gatekeeper;
use crate::outcome::SpawnError;

/// Starts gatekeepers, one at a time.
#[derive(Debug)]
pub(super) struct Gatekeepers {
    /// A process that starts gatekeepers alone. It never sees a Plan, so what it forks has nothing of
    /// one in its memory.
    launcher: Mutex<Option<Launcher>>,
    egress: Egress,
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    key: Key,
    gatekeeper: Arc<Gatekeeper>,
}

/// What came of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attended {
    /// There is nothing more to do.
    Done,
    /// The gatekeeper is gone.
    Lost,
}

impl Gatekeepers {
    pub(super) fn new(launcher: Launcher, egress: Egress) -> Self {
        Self { launcher: Mutex::new(Some(launcher)), egress, current: Mutex::default() }
    }

    /// The one that serves cages now. `key` is for one that has to be started.
    /// Also tells whether that is because another one is gone.
    pub(super) fn one(
        &self,
        key: Key,
        watch: &Watch,
    ) -> (Result<Arc<Gatekeeper>, RunError>, Attended) {
        let mut current = self.current();
        let mut attended = Attended::Done;
        match current.take() {
            Some(Current { gatekeeper, .. }) if gatekeeper.is_gone() => {
                stop_watching(&gatekeeper, watch);
                attended = Attended::Lost;
            }
            Some(serving) => {
                let gatekeeper = Arc::clone(&serving.gatekeeper);
                *current = Some(serving);
                return (Ok(gatekeeper), attended);
            }
            None => {}
        }
        let started = self.start(key, watch);
        *current = started.as_ref().ok().map(|gatekeeper| {
            let gatekeeper = Arc::clone(gatekeeper);
            Current { key, gatekeeper }
        });
        (started, attended)
    }

    fn start(&self, key: Key, watch: &Watch) -> Result<Arc<Gatekeeper>, RunError> {
        let launcher = self.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        let launcher = launcher.as_ref().ok_or(RunError::Closing)?;
        let Egress { resolvers, settings } = &self.egress;
        let started = Gatekeeper::start_through(launcher, resolvers, settings.clone())?;
        let watched = watch.add(started.gone(), key, Subject::Gone).and_then(|()| {
            match started.resolver_changes() {
                Some(changes) => watch.add(changes, key, Subject::Resolvers),
                None => Ok(()),
            }
        });
        watched.map_err(SpawnError::Supervise)?;
        Ok(Arc::new(started))
    }

    /// The process that serves cages now.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.current().as_ref().map(|current| current.gatekeeper.pid())
    }

    /// The process that starts them.
    pub(super) fn launcher_pid(&self) -> Option<Pid> {
        let launcher = self.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        launcher.as_ref().map(Launcher::pid)
    }

    /// What the supervisor saw about one.
    pub(super) fn attend(&self, key: Key, subject: Subject, watch: &Watch) -> Attended {
        let mut current = self.current();
        let Some(Current { gatekeeper, .. }) = current.as_ref().filter(|one| one.key == key) else {
            return Attended::Done;
        };
        match subject {
            Subject::Resolvers => gatekeeper.look_at_resolvers(),
            Subject::Gone => {
                stop_watching(gatekeeper, watch);
                *current = None;
                return Attended::Lost;
            }
            _ => {}
        }
        Attended::Done
    }

    /// Ends the one that runs, and starts no more.
    pub(super) fn close(&self) {
        *self.current() = None;
        *self.launcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        // A thread that panicked while it held the lock has left the state as it was.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stop_watching(gatekeeper: &Gatekeeper, watch: &Watch) {
    watch.remove(gatekeeper.gone());
    if let Some(changes) = gatekeeper.resolver_changes() {
        watch.remove(changes);
    }
}
