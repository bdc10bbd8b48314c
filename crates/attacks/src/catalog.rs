//! All attacks in one list, in the order of SPECIFICATION.md.

use crate::attack::Network;
use crate::{Attack, configuration, files, ipc, kernel, network, processes};

/// Every attack from inside.
pub fn all() -> impl Iterator<Item = &'static Attack> {
    [
        files::ATTACKS,
        processes::ATTACKS,
        kernel::ATTACKS,
        ipc::ATTACKS,
        network::ATTACKS,
        configuration::ATTACKS,
    ]
    .into_iter()
    .flatten()
    .flat_map(|group| group.iter())
}

/// Those of the host's own network.
pub fn on_host() -> impl Iterator<Item = &'static Attack> {
    all().filter(|attack| attack.network == Network::Host)
}

/// Those of a world with servers and names.
pub fn in_world() -> impl Iterator<Item = &'static Attack> {
    all().filter(|attack| attack.network != Network::Host)
}

/// The attack of that name.
pub fn named(name: &str) -> Option<&'static Attack> {
    all().find(|attack| attack.name == name)
}

#[cfg(test)]
mod tests;
