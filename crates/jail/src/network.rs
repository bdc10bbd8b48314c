//! A cage's network: a namespace of its own with loopback and nothing else. With a gatekeeper,
//! every address becomes the namespace's own, what programs connect to arrives at sockets that are
//! made here, and these are handed to the supervisor. One file for each mechanism.
//!
//! Never connects the namespace to anything, and keeps none of the sockets but the one that questions
//! about names come to where nobody answers them.

mod arrival;
mod inward;
mod listeners;
mod lookups;
mod ports;
mod probe;

use plan::network::SocketKind;
use plan::{NetworkPlan, Plan};
use rustix::io::Errno;
use sys::channel::MAX_DESCRIPTORS;

use crate::control::{Channel, HandOver};
use crate::{NetworkState, SetupFailure, StartError, Step};

use arrival::Arrival;
pub(crate) use inward::Inward;
pub(crate) use lookups::Lookups;
pub use probe::{NetworkProbe, probe_network};

/// A namespace that is as the Plan says.
pub(crate) struct Sealed {
    /// How connections reach the gatekeeper.
    pub(crate) state: NetworkState,
    /// Where pid 1 is asked for connections to ports inside.
    pub(crate) inward: Option<Inward>,
    /// Where pid 1 is asked about names, in a cage without a gatekeeper.
    pub(crate) lookups: Option<Lookups>,
}

/// Refuses a Plan whose network this enforcer cannot hold.
pub(crate) fn check(plan: &Plan) -> Result<(), StartError> {
    let NetworkPlan::Gatekeeper(network) = &plan.walls.network else { return Ok(()) };
    let refused = |reason: String| Err(StartError::Unsupported(reason));
    if network.host_ports.len() > MOST_HOST_PORTS {
        return refused(format!(
            "the cage's policy names {} ports of the host, and a cage can have {MOST_HOST_PORTS}; \
             remove some of `net.host_ports`",
            network.host_ports.len()
        ));
    }
    if let Some(port) =
        network.host_ports.iter().find(|port| ports::OF_THE_GATEKEEPER.contains(port))
    {
        return refused(format!(
            "port {port} of a cage's loopback is the gatekeeper's; remove it from `net.host_ports`"
        ));
    }
    Ok(())
}

/// How many descriptors pid 1 holds at once while it seals.
pub(crate) fn descriptors(plan: &NetworkPlan) -> usize {
    match plan {
        NetworkPlan::Loopback => 1,
        NetworkPlan::Gatekeeper(_) => MAX_DESCRIPTORS,
    }
}

/// Makes the namespace as the Plan says, and gives the supervisor the sockets that lead out of it.
/// Needs the capabilities of the namespace, whose loopback is up already.
pub(crate) fn seal(plan: &NetworkPlan, control: &Channel) -> Result<Sealed, SetupFailure> {
    let NetworkPlan::Gatekeeper(plan) = plan else {
        let (state, lookups) = (NetworkState::Loopback, Some(Lookups::listen()?));
        return Ok(Sealed { state, inward: None, lookups });
    };
    let reach = listeners::reach();
    // First of all: from here on nothing can leave, whatever else fails.
    sys::route::make_every_address_own(reach)
        .map_err(|refused| failed("RTM_NEWROUTE", refused.subject, refused.errno))?;
    suit_to_loopback();
    let arrival = arrival::choose(plan)?;
    let mut sockets = listeners::make(plan, &arrival, reach)?;
    let state = match arrival {
        Arrival::Rules(delivery, log) => {
            sockets.push((SocketKind::DeniedUdp, log.into_fd()));
            arrival::state(delivery)
        }
        Arrival::PerPort(_) => NetworkState::PerPort,
    };
    let inward = if plan.publish.is_empty() {
        None
    } else {
        let (inside, outside) =
            Inward::pair().map_err(|errno| failed("socketpair", "the way in", errno))?;
        sockets.push((SocketKind::Inward, outside));
        Some(inside)
    };
    let (kinds, sockets) = sockets.into_iter().unzip();
    control.hand_over(HandOver::Network(kinds), sockets)?;
    Ok(Sealed { state, inward, lookups: None })
}

/// Makes the namespace's TCP fit for connections that never leave it. Without it all works, and slower.
///
/// A program that makes many short connections has their ports again after a second, where the kernel
/// by itself would search longer and longer for a free one. And nobody measures and paces what only
/// goes from one socket to another: the host may have an algorithm that does so (`bbr`).
fn suit_to_loopback() {
    let _slower = std::fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "1");
    let _slower = std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
}

fn failed(call: &str, subject: impl Into<String>, errno: Errno) -> SetupFailure {
    SetupFailure {
        step: Step::Network,
        subject: subject.into(),
        errno: Some(errno.raw_os_error()),
        detail: Some(call.to_owned()),
    }
}

/// Two listeners for each, and room for the others in one packet.
const MOST_HOST_PORTS: usize = 100;
