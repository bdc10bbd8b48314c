//! How a cage's first process comes into its namespaces: together with them, or into ones that were made
//! while its caller was still finding out what the cage has to be. The first costs a process less, the second
//! is there sooner. Whatever fails, no process stays behind.

use std::os::fd::{BorrowedFd, OwnedFd};

use plan::{Identity, IdentityMap, Plan};
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces, fork_into};
use sys::holder::NamespaceHolder;
use sys::signal::SignalSet;

use crate::bare_mounts::BareMounts;
use crate::start::{Child, LimitsHolder, start_in};
use crate::streams::ProgramStreams;
use crate::{SetupFailure, StartError, Step, identity};

/// Namespaces of one cage that are being made, or are made and empty. They are the same for every Plan.
/// Dropping it gives them back.
#[derive(Debug)]
pub struct Premade(NamespaceHolder);

impl Premade {
    /// Begins to make them. The process must have a single thread, now and until the cage is started.
    pub fn begin() -> Result<Self, StartError> {
        let holder = NamespaceHolder::start(Namespaces::AHEAD).map_err(failed)?;
        Ok(Self(holder))
    }

    /// Starts a cage in them, as [`crate::start`] does.
    pub fn start(
        self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<Child, StartError> {
        start_in(Origin::Premade(self.0), plan, sources, streams, limits)
    }
}

/// Where the namespaces of a first process come from.
pub(crate) enum Origin<'a> {
    /// They exist, or are about to.
    Premade(NamespaceHolder),
    /// They are made with it: that of mounts as a copy of these, or of this process's own.
    New(Option<&'a BareMounts>),
}

impl Origin<'_> {
    /// Maps the ids of namespaces that exist before anybody lives in them, and says whether it did.
    pub(crate) fn map_ids(&self, plan: &Plan) -> Result<bool, SetupFailure> {
        let Self::Premade(holder) = self else { return Ok(false) };
        holder.wait().map_err(failed)?;
        identity::map(holder.pid(), &plan.walls.identity, plan.host_ids())?;
        Ok(true)
    }

    /// Starts the first process, whose whole life is `life`; all its signals are blocked, and its loopback
    /// may be down. Returns what held the namespaces until now, to be reaped.
    pub(crate) fn start_first_process(
        self,
        identity: &Identity,
        cgroup: Option<BorrowedFd<'_>>,
        life: &mut dyn FnMut(),
    ) -> Result<(Pid, OwnedFd, Option<NamespaceHolder>), SetupFailure> {
        match self {
            Self::Premade(holder) => {
                let further = Namespaces::PID.and(Namespaces::CGROUP);
                let (pid, pidfd) = holder.start_child(further, cgroup, life).map_err(failed)?;
                holder.end();
                Ok((pid, pidfd, Some(holder)))
            }
            Self::New(mounts) => {
                // Who looks paths up in the cage's namespace needs the host's mounts there.
                let mounts = mounts.filter(|_| is_built_from_outside(identity));
                let (pid, pidfd) = fork(cgroup, mounts, life).map_err(failed)?;
                Ok((pid, pidfd, None))
            }
        }
    }
}

/// Whether a privileged launcher sends the mounts of a cage with this identity.
pub(crate) fn is_built_from_outside(identity: &Identity) -> bool {
    identity.map == IdentityMap::Unowned
}

fn fork(
    cgroup: Option<BorrowedFd<'_>>,
    mounts: Option<&BareMounts>,
    life: &mut dyn FnMut(),
) -> Result<(Pid, OwnedFd), Errno> {
    // What a user sends to the whole group must not end the child before it has its own session.
    let mask = sys::signal::set_mask(&SignalSet::full())?;
    let mut fork = || match fork_into(Namespaces::ALL, cgroup)? {
        Forked::Parent { pid, pidfd } => Ok((pid, pidfd)),
        Forked::Child => {
            life();
            sys::exec::exit_now(0)
        }
    };
    let forked = match mounts {
        Some(mounts) => mounts.visit(fork),
        None => fork(),
    };
    // Should this ever fail, the caller lets go of its channel, at whose end the child ends.
    sys::signal::set_mask(&mask)?;
    forked
}

pub(crate) fn failed(errno: Errno) -> SetupFailure {
    SetupFailure::kernel(Step::Namespaces, "the cage", errno)
}
