//! The ports of loopbacks: each can be listened on, by one listener, and leads one way.

use super::PlanDefect;
use crate::network::{GATEKEEPER_PORTS, MOST_PORTS};
use crate::{GatekeeperPlan, NetworkPlan};

pub(super) fn check(network: &NetworkPlan) -> Result<(), PlanDefect> {
    let NetworkPlan::Gatekeeper(GatekeeperPlan { host_ports, publish, .. }) = network else {
        return Ok(());
    };
    check_list("host ports", host_ports)?;
    check_list("published ports", publish)?;
    match publish.iter().find(|port| host_ports.contains(port)) {
        Some(port) => Err(defect("published ports", *port, "is also a host port")),
        None => Ok(()),
    }
}

fn check_list(list: &'static str, ports: &[u16]) -> Result<(), PlanDefect> {
    if ports.len() > MOST_PORTS {
        let value = u64::try_from(ports.len()).unwrap_or(u64::MAX);
        return Err(PlanDefect::Range { field: "number of ports", value });
    }
    let mut previous = 0;
    for port in ports {
        // The first can only fail this by being 0, which is no port.
        if *port <= previous {
            return Err(defect(list, *port, "is 0, unsorted or repeated"));
        }
        if GATEKEEPER_PORTS.contains(port) {
            return Err(defect(list, *port, "is the gatekeeper's own"));
        }
        previous = *port;
    }
    Ok(())
}

fn defect(list: &'static str, port: u16, problem: &'static str) -> PlanDefect {
    PlanDefect::Port { list, port, problem }
}
