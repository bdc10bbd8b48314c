//! Which way connections take to the gatekeeper: by packet rules, or where the kernel does not
//! offer them, by a listener for each port. The one question that is asked is the namespace's own:
//! the rules are written, and the kernel takes them or not.

use plan::GatekeeperPlan;
use plan::network::TRANSPARENT_PORT;
use rustix::io::Errno;
use sys::nftables::{self, RedirectRules};
use sys::packet_log::PacketLog;

use super::{failed, ports};
use crate::SetupFailure;

/// How connections arrive.
pub(super) enum Way {
    /// All at one listener. What is refused beside them is told by the packet log.
    Redirect(PacketLog),
    /// Each at the listener of its port. Others are answered by the kernel, and told by nobody.
    PerPort(Vec<u16>),
}

/// Installs the rules, or finds the ports that can do without them.
pub(super) fn choose(plan: &GatekeeperPlan) -> Result<Way, SetupFailure> {
    let errno = match install()? {
        Ok(log) => return Ok(Way::Redirect(log)),
        Err(errno) => errno,
    };
    ports::listened(plan).map(Way::PerPort).map_err(|reason| {
        let mut failure = failed("nf_tables", "packet rules", errno);
        failure.detail = Some(format!("nf_tables is not available here, and {reason}"));
        failure
    })
}

/// Installs the rules. The inner error is the kernel's word that it does not offer them.
pub(super) fn install() -> Result<Result<PacketLog, Errno>, SetupFailure> {
    let rules = RedirectRules { transparent_port: TRANSPARENT_PORT, log_group: LOG_GROUP };
    match nftables::install(rules) {
        Ok(()) => PacketLog::bind(LOG_GROUP)
            .map(Ok)
            .map_err(|errno| failed("nfnetlink_log", "the log of refused datagrams", errno)),
        Err(errno) if nftables::is_unavailable(errno) => Ok(Err(errno)),
        Err(errno) => Err(failed("nf_tables", "packet rules", errno)),
    }
}

const LOG_GROUP: u16 = 1;
