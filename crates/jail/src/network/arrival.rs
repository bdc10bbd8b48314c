//! How connections arrive at the gatekeeper: by packet rules that give them to its listener, or
//! where the kernel does not offer those, by rules that translate addresses, or without any, by a
//! listener for each port. The one question that is asked is the namespace's own: the rules are
//! written, and the kernel takes them or not.

use plan::GatekeeperPlan;
use plan::network::TRANSPARENT_PORT;
use rustix::io::Errno;
use sys::nftables::{self, Delivery, LeadingRules};
use sys::packet_log::PacketLog;

use super::{failed, ports};
use crate::{NetworkState, SetupFailure};

/// How connections arrive.
pub(super) enum Arrival {
    /// All at one listener. What is refused beside them is told by the packet log.
    Rules(Delivery, PacketLog),
    /// Each at the listener of its port. Others are answered by the kernel, and told by nobody.
    PerPort(Vec<u16>),
}

/// Installs the rules, or finds the ports that can do without them.
pub(super) fn choose(plan: &GatekeeperPlan) -> Result<Arrival, SetupFailure> {
    let errno = match install()? {
        Ok((delivery, log)) => return Ok(Arrival::Rules(delivery, log)),
        Err(errno) => errno,
    };
    ports::listened(plan).map(Arrival::PerPort).map_err(|reason| {
        let mut failure = failed("nf_tables", "packet rules", errno);
        failure.detail = Some(format!("nf_tables is not available here, and {reason}"));
        failure
    })
}

/// Installs the best rules that there are. The inner error is the kernel's word that it offers none.
pub(super) fn install() -> Result<Result<(Delivery, PacketLog), Errno>, SetupFailure> {
    let mut refusal = Errno::NOENT;
    for delivery in [Delivery::Assigned, Delivery::Translated] {
        let rules =
            LeadingRules { delivery, transparent_port: TRANSPARENT_PORT, log_group: LOG_GROUP };
        match nftables::install(rules) {
            Ok(()) => {
                return PacketLog::bind(LOG_GROUP).map(|log| Ok((delivery, log))).map_err(
                    |errno| failed("nfnetlink_log", "the log of refused datagrams", errno),
                );
            }
            Err(errno) if nftables::is_unavailable(errno) => refusal = errno,
            Err(errno) => return Err(failed("nf_tables", "packet rules", errno)),
        }
    }
    Ok(Err(refusal))
}

/// What is told of rules that hold.
pub(super) fn state(delivery: Delivery) -> NetworkState {
    match delivery {
        Delivery::Assigned => NetworkState::Tproxy,
        Delivery::Translated => NetworkState::Redirect,
    }
}

const LOG_GROUP: u16 = 1;
