//! All attacks and sieges in one list, in the order of SPECIFICATION.md.

use crate::{Attack, Siege, configuration, files, ipc, kernel, processes};

/// Every attack from inside.
pub fn all() -> impl Iterator<Item = &'static Attack> {
    [files::ATTACKS, processes::ATTACKS, kernel::ATTACKS, ipc::ATTACKS, configuration::ATTACKS]
        .into_iter()
        .flatten()
        .flat_map(|group| group.iter())
}

/// The attack of that name.
pub fn named(name: &str) -> Option<&'static Attack> {
    all().find(|attack| attack.name == name)
}

/// Every attack from the host's side.
pub fn sieges() -> impl Iterator<Item = &'static Siege> {
    crate::sieges::SIEGES.iter().flat_map(|group| group.iter())
}

#[cfg(test)]
mod tests;
