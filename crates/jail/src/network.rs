//! What a cage's network may be: its own namespace with loopback, up, and nothing else. Never
//! connects it to anything.

use plan::{NetworkPlan, Plan};

use crate::StartError;

/// Refuses a Plan whose network this enforcer cannot hold.
pub(crate) fn check(plan: &Plan) -> Result<(), StartError> {
    match plan.network {
        NetworkPlan::Loopback => Ok(()),
        NetworkPlan::Gatekeeper(_) => Err(StartError::Unsupported(
            "the cage's policy allows network destinations, and this build has no gatekeeper to \
             hold it to them; remove `net.allow` or pass `--no-net`"
                .to_owned(),
        )),
    }
}
