//! Attacks on files: reading, writing or reaching what a cage does not grant.

mod descriptors;
mod handles;
mod links;
mod mounts;
mod proc_links;
mod protected;
mod readonly;
mod renames;
mod secrets;
mod strange_names;
mod system_files;
mod temporary;

use crate::Attack;

pub(crate) use mounts::restrictions_of;

/// The groups of this area.
pub(crate) const ATTACKS: &[&[Attack]] = &[
    links::ATTACKS,
    renames::ATTACKS,
    protected::ATTACKS,
    strange_names::ATTACKS,
    proc_links::ATTACKS,
    descriptors::ATTACKS,
    handles::ATTACKS,
    mounts::ATTACKS,
    temporary::ATTACKS,
    system_files::ATTACKS,
    secrets::ATTACKS,
    readonly::ATTACKS,
];
