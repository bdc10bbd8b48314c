//! Cages for programs with many threads: a small process, forked before the first thread, bears
//! them all. The same cages as [`crate::spawn`] gives.

use std::os::fd::OwnedFd;

use jail::{LimitsHolder, ProgramStreams};
use plan::Plan;

use crate::gatekeeper::Gatekeeper;
use crate::outcome::SpawnError;
use crate::spawn::{Running, connect};

/// A running launcher process. Dropping it ends it and every cage that it bore.
#[derive(Debug)]
pub struct Launcher(jail::launcher::Launcher);

impl Launcher {
    /// Starts the launcher. Must be called while this process has a single thread.
    pub fn start() -> Result<Self, SpawnError> {
        Ok(Self(jail::launcher::Launcher::start(None)?))
    }

    /// Starts the Plan's program in a cage without a network, from any thread.
    pub fn spawn(
        &self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
    ) -> Result<Running, SpawnError> {
        let prepared = Gatekeeper::prepare(plan)?;
        let mut born = self.0.start_cage(plan, sources, streams, LimitsHolder::Nobody)?;
        let network = connect(&mut born, &prepared, None)?;
        Running::begin(born, network)
    }

    /// The same for a Plan with a network, which this gatekeeper holds it to.
    pub fn spawn_through(
        &self,
        gatekeeper: &Gatekeeper,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
    ) -> Result<Running, SpawnError> {
        let prepared = Gatekeeper::prepare(plan)?;
        let mut born = self.0.start_cage(plan, sources, streams, LimitsHolder::Nobody)?;
        let network = connect(&mut born, &prepared, Some(gatekeeper))?;
        Running::begin(born, network)
    }

    /// The launcher's process id.
    pub fn pid(&self) -> rustix::process::Pid {
        self.0.pid()
    }
}
