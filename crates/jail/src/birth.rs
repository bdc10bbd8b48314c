//! How a cage's first process comes into its namespaces: into ones that were made ahead, while its
//! caller was still finding out what it has to do, or together with them. The first is there sooner,
//! the second costs a process less. Whatever fails, no process stays behind.

use std::os::fd::BorrowedFd;

use plan::{Identity, IdentityMap};
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces, fork_into};
use sys::nursery::{Furniture as Shelf, Newborn};
use sys::signal::SignalSet;

use crate::bare_mounts::BareMounts;
use crate::control::{Channel, Order};
use crate::furniture::Furniture;
use crate::{Nursery, SetupFailure, Step, identity};

/// Where the first process is born.
pub(crate) enum Cradle<'a> {
    /// In namespaces that exist, or are about to.
    Ahead(Nursery),
    /// In namespaces that are made with it: of mounts, a copy of these or of this process's own.
    AtOnce(Option<&'a BareMounts>),
}

/// What is left to do for a first process that has just been born.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespacing {
    /// Nothing: ids are mapped and loopback is up.
    Complete,
    /// Its ids are not mapped and its loopback is down.
    Bare,
}

impl Cradle<'_> {
    /// One in which a cage with these ids can be born, in a control group if it is to be: namespaces whose
    /// ids are mapped are for those alone.
    pub(crate) fn for_cage(self, identity: &Identity, group: Option<BorrowedFd<'_>>) -> Self {
        let suits = |nursery: &Nursery| {
            nursery.is_for(identity) && (group.is_none() || nursery.can_put_into_groups())
        };
        match self {
            Self::Ahead(nursery) if suits(&nursery) => Self::Ahead(nursery),
            // Who looks paths up in the cage's namespace needs the host's mounts there.
            Self::AtOnce(mounts) if is_built_from_outside(identity) => Self::AtOnce(mounts),
            Self::Ahead(_) | Self::AtOnce(_) => Self::AtOnce(None),
        }
    }

    pub(crate) fn gives(&self) -> Namespacing {
        match self {
            Self::Ahead(_) => Namespacing::Complete,
            Self::AtOnce(_) => Namespacing::Bare,
        }
    }

    /// Bears the first process, whose whole life is `life`; all its signals are blocked. Returns what
    /// has to be kept until it has started.
    pub(crate) fn bear(
        self,
        identity: &Identity,
        birthplace: Option<BorrowedFd<'_>>,
        life: &mut dyn FnMut(Furniture),
    ) -> Result<(Newborn, Option<Nursery>), SetupFailure> {
        match self {
            Self::Ahead(mut nursery) => {
                nursery.map(identity)?;
                let mut life = |shelf: Shelf| life(Furniture::of(shelf));
                let newborn = nursery.made.bear(birthplace, &mut life).map_err(failed)?;
                Ok((newborn, Some(nursery)))
            }
            Self::AtOnce(mounts) => {
                let mut life = || life(Furniture::default());
                Ok((fork(birthplace, mounts, &mut life).map_err(failed)?, None))
            }
        }
    }
}

/// Whether a privileged launcher sends the mounts of a cage with this identity.
pub(crate) fn is_built_from_outside(identity: &Identity) -> bool {
    matches!(identity.map, IdentityMap::Unowned(_))
}

impl Namespacing {
    /// The supervisor's part of what is left to do.
    pub(crate) fn complete_from_outside(
        self,
        process: Pid,
        identity: &Identity,
        control: &Channel,
    ) -> Result<(), SetupFailure> {
        if self == Self::Complete {
            return Ok(());
        }
        identity::map(process, identity.ids())?;
        control.send(&Order::Mapped, &[]).map_err(failed)
    }

    /// The first process's own part. Both are done side by side.
    pub(crate) fn complete_from_inside(self, control: &Channel) -> Result<(), SetupFailure> {
        if self == Self::Complete {
            return Ok(());
        }
        sys::loopback::bring_up()
            .map_err(|errno| SetupFailure::kernel(Step::Namespaces, "loopback", errno))?;
        match control.receive::<Order>() {
            Ok(Some((Order::Mapped, _))) => Ok(()),
            Ok(_) => {
                let detail = "it is gone or spoke out of turn";
                Err(SetupFailure::found(Step::Control, "the supervisor", detail))
            }
            Err(errno) => Err(SetupFailure::kernel(Step::Control, "the supervisor", errno)),
        }
    }
}

fn fork(
    birthplace: Option<BorrowedFd<'_>>,
    mounts: Option<&BareMounts>,
    life: &mut dyn FnMut(),
) -> Result<Newborn, Errno> {
    // What a user sends to the whole group must not end the child before it has its own session.
    let mask = sys::signal::set_mask(&SignalSet::full())?;
    let mut fork = || {
        let forked = fork_into(Namespaces::ALL, birthplace);
        if let Ok(Forked::Child) = forked {
            life();
            sys::exec::exit_now(0)
        }
        forked
    };
    let forked = match mounts {
        Some(mounts) => mounts.visit(fork),
        None => fork(),
    };
    // Should this ever fail, the caller lets go of its channel, at whose end the child ends.
    sys::signal::set_mask(&mask)?;
    match forked? {
        Forked::Parent { pid, pidfd } => Ok(Newborn { pid, pidfd }),
        Forked::Child => Err(Errno::CHILD),
    }
}

pub(crate) fn failed(errno: Errno) -> SetupFailure {
    SetupFailure::kernel(Step::Namespaces, "the cage", errno)
}
