//! How a cage's connections would arrive here, found out by closing a namespace that nobody
//! will live in. Changes nothing that outlives it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sys::channel::Waiting;
use sys::clone::{Forked, Namespaces};

use super::{arrival, failed, listeners};
use crate::control::Channel;
use crate::{NetworkState, SetupFailure, Step};

/// What a namespace could be made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkProbe {
    /// How connections would reach the gatekeeper.
    pub state: NetworkState,
    /// Why not by packet rules, where that is so.
    pub refusal: Option<i32>,
}

/// Tries it, from a process with a single thread.
pub fn probe_network() -> Result<NetworkProbe, SetupFailure> {
    let namespaces = |errno| SetupFailure::kernel(Step::Namespaces, "a trial", errno);
    let (control, inside) = Channel::pair().map_err(namespaces)?;
    let child = sys::clone::fork_into(Namespaces::USER.and(Namespaces::NET), None);
    match child.map_err(namespaces)? {
        Forked::Child => {
            drop(control);
            // A parent that is gone has no use for the result.
            let _told = inside.send(&close_this_namespace(), &[]);
            sys::exec::exit_now(0)
        }
        Forked::Parent { pidfd, .. } => {
            drop(inside);
            let found = receive(&control);
            reap(&pidfd);
            found.map_err(|errno| SetupFailure::kernel(Step::Control, "a trial", errno))?
        }
    }
}

fn close_this_namespace() -> Result<NetworkProbe, SetupFailure> {
    sys::loopback::bring_up().map_err(|errno| failed("SIOCSIFFLAGS", "loopback", errno))?;
    sys::route::make_every_address_own(listeners::reach())
        .map_err(|refused| failed("RTM_NEWROUTE", refused.subject, refused.errno))?;
    Ok(match arrival::install()? {
        Ok((delivery, _)) => NetworkProbe { state: arrival::state(delivery), refusal: None },
        Err(errno) => {
            NetworkProbe { state: NetworkState::PerPort, refusal: Some(errno.raw_os_error()) }
        }
    })
}

fn receive(control: &Channel) -> Result<Result<NetworkProbe, SetupFailure>, Errno> {
    let receive = || sys::channel::receive(control.as_fd(), LONGEST_RESULT, Waiting::Allowed);
    let (packet, _) = rustix::io::retry_on_intr(receive)?.ok_or(Errno::BADMSG)?;
    serde_json::from_slice(&packet).map_err(|_| Errno::BADMSG)
}

fn reap(process: &OwnedFd) {
    let id = || rustix::process::WaitId::PidFd(process.as_fd());
    let options = rustix::process::WaitIdOptions::EXITED;
    while let Err(Errno::INTR) = rustix::process::waitid(id(), options) {}
}

const LONGEST_RESULT: usize = 4096;
