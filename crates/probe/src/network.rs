//! Which way a cage's connections take to the gatekeeper on this machine.

use jail::{NetworkProbe, NetworkState, SetupFailure};
use rustix::io::Errno;

use super::{Layer, LayerState};

/// Judges what a trial has found.
pub(super) fn network_layer(tried: Result<NetworkProbe, SetupFailure>) -> Layer {
    let layer = |state, why: String, fix: Option<&str>| Layer {
        name: "network",
        state,
        required: false,
        why,
        fix: fix.map(str::to_owned),
    };
    match tried {
        Ok(NetworkProbe { state: NetworkState::Tproxy, .. }) => layer(
            LayerState::Present,
            "connections to any port are given to the gatekeeper by nf_tables".to_owned(),
            None,
        ),
        Ok(NetworkProbe { state: NetworkState::Redirect, .. }) => layer(
            LayerState::Present,
            "connections to any port are led to the gatekeeper by nf_tables, which translates \
             addresses: nft_tproxy would make long transfers faster"
                .to_owned(),
            Some("sudo modprobe nft_tproxy"),
        ),
        Ok(NetworkProbe { refusal, .. }) => layer(
            LayerState::Degraded,
            format!(
                "nf_tables is not available ({}): connections are led to the gatekeeper by a \
                 listener for each port, and every destination of a policy has to name its ports",
                refusal.map_or("it is not said why".to_owned(), |number| {
                    std::io::Error::from(Errno::from_raw_os_error(number)).to_string()
                })
            ),
            Some("sudo modprobe -a nf_tables nft_tproxy nft_log nft_reject_inet nfnetlink_log"),
        ),
        Err(failure) => layer(
            LayerState::Absent,
            format!("cages can have no destinations: {failure}"),
            Some("run cages with `--no-net`, or where a user namespace may set up its network"),
        ),
    }
}
