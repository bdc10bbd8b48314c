//! Who asks for the cage: the ids of this process, whether it may map other ids, and which
//! directory is its home. Asks the kernel and the account file; never trusts a variable further
//! than to name a home.

use std::io::Read as _;

use plan::{HostIds, HostPath};
use policy::facts::Caller;
use rustix::thread::CapabilitySet;

use super::ResolveError;
use super::open::Opener;

#[cfg(test)]
mod tests;

/// The caller, with its home where that can be one.
pub(super) fn examine(home: Option<&HostPath>, opener: &Opener) -> Result<Caller, ResolveError> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let ids = HostIds { uid: uid.as_raw(), gid: gid.as_raw() };
    let privileged = uid.is_root();
    if privileged {
        require_power_of_root()?;
    }
    let home = home.map(|home| opener.anywhere(home).map_or(home.clone(), |opened| opened.path));
    Ok(Caller { ids, privileged, home: home.filter(can_be_of_one_user) })
}

/// Root may only start cages that act as somebody else, and that takes the power to map ids and to
/// make idmapped mounts of the host's own file systems. Anything less would be a cage that acts as
/// root.
pub fn require_power_of_root() -> Result<(), ResolveError> {
    let refused = |why| Err(ResolveError::RootWithoutPower { why });
    let capabilities = rustix::thread::capabilities(None)
        .map_err(|errno| ResolveError::kernel("capget", "this process", errno))?;
    if !capabilities.effective.contains(CapabilitySet::SYS_ADMIN) {
        return refused("lacks CAP_SYS_ADMIN (as in a container without --privileged)");
    }
    if !capabilities.effective.contains(CapabilitySet::SETUID | CapabilitySet::SETGID) {
        return refused("lacks CAP_SETUID or CAP_SETGID");
    }
    let map = std::fs::read_to_string("/proc/self/uid_map")
        .map_err(|error| kernel("read", "/proc/self/uid_map", &error))?;
    if !maps_every_id(&map) {
        return refused("is root in a user namespace only (as in a rootless container)");
    }
    Ok(())
}

/// Whether an id map is that of the initial user namespace: every id stands for itself.
fn maps_every_id(map: &str) -> bool {
    let mut lines = map.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let whole = lines.next().is_some_and(|fields| fields == ["0", "0", "4294967295"]);
    whole && lines.next().is_none()
}

/// Whether a directory can belong to one user. A home becomes a memory file system inside, so it
/// can be none that the cage needs for something else; and what lies below such a directory is the
/// user's own, which does not hold for the root, a system tree, or a place where many have theirs.
pub(super) fn can_be_of_one_user(path: &HostPath) -> bool {
    let shared = SHARED_DIRECTORIES.iter().any(|shared| path.as_bytes() == shared.as_bytes());
    !shared && !is_system_tree(path)
}

/// Whether a path belongs to the system: never idmapped, so that what only root may read there
/// stays unreadable to a cage that root starts.
pub(super) fn is_system_tree(path: &HostPath) -> bool {
    let is_within = |tree: &&str| {
        let below = path.as_bytes().strip_prefix(tree.as_bytes());
        matches!(below, Some([] | [b'/', ..]))
    };
    let within = |trees: &[&str]| trees.iter().any(is_within);
    within(SYSTEM_TREES) && !within(SOURCES_IN_SYSTEM_TREES)
}

/// The homes of all accounts of this host.
pub(super) fn account_homes() -> Result<Vec<AccountHome>, ResolveError> {
    // As much as most hosts have is read at once.
    let mut text = Vec::with_capacity(USUAL_ACCOUNT_BYTES);
    let file = match std::fs::File::open("/etc/passwd") {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(kernel("open", "/etc/passwd", &error)),
    };
    file.take(MOST_ACCOUNT_BYTES)
        .read_to_end(&mut text)
        .map_err(|error| kernel("read", "/etc/passwd", &error))?;
    Ok(parse_accounts(&text))
}

/// One account's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccountHome {
    pub(super) uid: u32,
    pub(super) home: HostPath,
}

/// Reads passwd(5). A line that is not an account is not an account.
fn parse_accounts(text: &[u8]) -> Vec<AccountHome> {
    let account = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b':');
        let uid = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
        let home = HostPath::new(fields.nth(2)?.to_vec()).ok()?;
        Some(AccountHome { uid, home })
    };
    text.split(|byte| *byte == b'\n').filter_map(account).collect()
}

fn kernel(call: &'static str, subject: &str, error: &std::io::Error) -> ResolveError {
    let errno = rustix::io::Errno::from_io_error(error).unwrap_or(rustix::io::Errno::IO);
    ResolveError::kernel(call, subject, errno)
}

const SHARED_DIRECTORIES: &[&str] = &[
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/scratch",
    "/srv",
    "/tmp",
    "/usr/local/src",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/tmp",
];

const SYSTEM_TREES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/run",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/cache",
    "/var/log",
    "/var/run",
    "/var/spool",
];

/// Where people put projects inside system trees; containers often have theirs there.
const SOURCES_IN_SYSTEM_TREES: &[&str] = &["/run/media", "/usr/local/src", "/usr/src"];

const MOST_ACCOUNT_BYTES: u64 = 4 * 1024 * 1024;
const USUAL_ACCOUNT_BYTES: usize = 8 * 1024;
