//! What must be there, and what must not, when the tree is finished: the launcher looks before the
//! program starts. And where the program starts.

use std::collections::BTreeSet;

use plan::{GuestPath, HostPath, SCRATCH};

use super::areas::Areas;
use super::base::is_home_private;
use super::tree::{Presence, Tree};
use super::views;
use crate::{FsAccess, HostFacts};

/// The first of the wished directory and the project that is granted, else the first that the cage
/// shows at all, else the home, else `/tmp`, which every cage has. A caller in `/` or `/tmp` means
/// the host's, not the cage's own.
pub(super) fn working_directory(
    tree: &Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
    home: &GuestPath,
) -> GuestPath {
    let wished = [&facts.working_directory, &facts.project];
    let granted = wished.into_iter().find(|path| areas.access(path) != FsAccess::Hide);
    let shown = granted.or_else(|| wished.into_iter().find(|path| is_shown(tree, areas, path)));
    if let Some(path) = shown {
        return GuestPath::same_as(path);
    }
    // A home below a grant may not exist: some accounts have none.
    let temporary = GuestPath::new(TEMPORARY).ok().filter(|_| !is_made(tree, home));
    temporary.unwrap_or_else(|| home.clone())
}

/// K46, V17: what the policy and the base layer promise.
pub(super) fn must_exist(
    tree: &Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
    home: &GuestPath,
) -> Vec<GuestPath> {
    let fixed = ["/dev/null", "/proc", SCRATCH, TEMPORARY];
    let fixed = fixed.into_iter().filter_map(|path| GuestPath::new(path).ok());
    let mut paths: Vec<GuestPath> = fixed.chain([home.clone()]).collect();
    paths.retain(|path| is_made(tree, path));
    let granted = areas.iter().filter(|(_, area)| area.access != FsAccess::Hide);
    // What a process of ours shows cannot be asked for yet.
    let granted = granted.filter(|(path, _)| views::served_around(facts, areas, path).is_none());
    paths.extend(granted.map(|(path, _)| GuestPath::same_as(path)));
    paths.sort();
    paths.dedup();
    paths
}

/// V17: what a mistake in the tree would let in. Only paths that no grant shows count.
pub(super) fn must_not_exist(
    tree: &Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
    home: &GuestPath,
) -> Vec<GuestPath> {
    let mut paths: BTreeSet<GuestPath> =
        NEVER_INSIDE.iter().filter_map(|path| GuestPath::new(*path).ok()).collect();
    if is_home_private(areas, home) {
        paths.extend(NEVER_IN_HOME.iter().filter_map(|name| home.join(name).ok()));
    }
    paths.extend(facts.project.join(".git").ok().map(|path| GuestPath::same_as(&path)));
    let hidden = areas.iter().filter(|(_, area)| area.access == FsAccess::Hide);
    paths.extend(hidden.map(|(path, _)| GuestPath::same_as(path)));
    paths.into_iter().filter(|path| tree.presence(path) == Presence::Absent).collect()
}

fn is_made(tree: &Tree, at: &GuestPath) -> bool {
    tree.presence(at) == Presence::Made
}

fn is_shown(tree: &Tree, areas: &Areas<'_>, path: &HostPath) -> bool {
    let at = GuestPath::same_as(path);
    match tree.presence(&at) {
        Presence::Made => !tree.is_hidden(&at),
        Presence::AsOnHost => areas.at(path).is_none_or(|area| area.access != FsAccess::Hide),
        Presence::Absent => false,
    }
}

const TEMPORARY: &str = "/tmp";

const NEVER_INSIDE: &[&str] = &[
    "/.oldroot",
    "/boot",
    "/etc/gshadow",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/sudoers",
    "/root/.ssh",
    "/run/containerd",
    "/run/dbus",
    "/run/docker.sock",
    "/run/systemd",
    "/run/user",
    "/sys",
    "/var/lib/docker",
    "/var/lib/stockade",
    "/var/run",
];

const NEVER_IN_HOME: &[&str] =
    &[".aws", ".bash_history", ".config/stockade", ".gnupg", ".local/state/stockade", ".ssh"];
