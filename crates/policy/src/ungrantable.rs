//! What no front end can grant, whoever asks: one list. A directory with control sockets is as
//! good as what listens on them (a read-only bind does not stop `connect`), kernel file systems
//! reach beyond the cage, and the supervisor's own state is what holds the cage.
//!
//! Lexical; `resolve` asks again with the path that it really found. Never asks the host.

use plan::HostPath;

use crate::secrets;
use crate::shown::shown;

/// Why a path cannot be granted, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be granted: {reason}", shown(.path))]
pub struct Ungrantable {
    /// The path that was asked for.
    pub path: HostPath,
    /// What stands against it.
    pub reason: String,
    /// What to do instead.
    pub hint: &'static str,
}

/// Refuses a grant of the whole root, of a listed path, of anything above one and, where the list
/// says so, of anything inside one.
///
/// `own_state` are the supervisor's state and configuration directories: refused themselves and
/// inside. A wider grant (a home) has them hidden instead, see [`crate::secrets::hidden_paths`].
pub fn check(path: &HostPath, own_state: &[HostPath]) -> Result<(), Ungrantable> {
    let refuse = |reason: String, hint| Err(Ungrantable { path: path.clone(), reason, hint });
    if path.as_bytes() == b"/" {
        return refuse("it is the whole file system".to_owned(), GRANT_LESS);
    }
    if own_state.iter().any(|own| path.is_within(own)) {
        return refuse("it holds the supervisor's own state".to_owned(), NOT_NEEDED);
    }
    if GRANTABLE_AFTER_ALL.iter().any(|pattern| place(path, pattern).is_at_or_inside()) {
        return Ok(());
    }
    for entry in LIST.iter().filter(|entry| !entry.is_plainly_apart(path)) {
        match (place(path, entry.path), entry.scope) {
            (Place::At, _) | (Place::Inside, Scope::Tree) => {
                return refuse(entry.reason.to_owned(), entry.hint);
            }
            (Place::Above, _) => {
                return refuse(
                    format!("`{}` lies inside: {}", entry.path, entry.reason),
                    GRANT_LESS,
                );
            }
            (Place::Inside, Scope::Itself) | (Place::Apart, _) => {}
        }
    }
    Ok(())
}

/// Whether a directory is too broad to be granted without being named: the root, a home, anything
/// above one, or a tree of the system. `homes` are the homes that are known, the caller's first.
pub fn is_home_or_system_tree(path: &HostPath, homes: &[HostPath]) -> bool {
    let above_a_home = homes.iter().any(|home| home.is_within(path));
    let conventional_home = ["/home/*", "/root"]
        .iter()
        .any(|home| matches!(place(path, home), Place::At | Place::Above));
    let in_system = SYSTEM_TREES.iter().any(|tree| place(path, tree).is_at_or_inside());
    let top_level = SYSTEM_DIRECTORIES.iter().any(|directory| place(path, directory) == Place::At);
    above_a_home || conventional_home || in_system || top_level || check(path, &[]).is_err()
}

/// Whether a path that somebody else declares is given only to a user who names it: a home or above one, a
/// tree of the system, or a well-known secret.
pub fn needs_a_grant_by_name(path: &HostPath, homes: &[HostPath]) -> bool {
    let known: Vec<&HostPath> = homes.iter().collect();
    is_home_or_system_tree(path, homes) || !secrets::holding(&known, path).is_empty()
}

struct Entry {
    /// Absolute; `*` in a component stands for any characters.
    path: &'static str,
    /// How many bytes of it come before the first `*`.
    literal: usize,
    scope: Scope,
    reason: &'static str,
    hint: &'static str,
}

impl Entry {
    /// One look, which is enough for most entries: every grant is compared with every one.
    fn is_plainly_apart(&self, path: &HostPath) -> bool {
        let path = path.as_bytes();
        let last = self.literal.min(path.len()).saturating_sub(1);
        path.get(last) != self.path.as_bytes().get(last)
    }
}

#[derive(Clone, Copy)]
enum Scope {
    /// The path and everything inside.
    Tree,
    /// The path; what lies inside can be granted by name.
    Itself,
}

const fn tree(path: &'static str, reason: &'static str, hint: &'static str) -> Entry {
    Entry { path, literal: literal_length(path), scope: Scope::Tree, reason, hint }
}

const fn itself(path: &'static str, reason: &'static str, hint: &'static str) -> Entry {
    Entry { path, literal: literal_length(path), scope: Scope::Itself, reason, hint }
}

const fn literal_length(pattern: &str) -> usize {
    let mut rest = pattern.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'*' {
            break;
        }
        rest = after;
    }
    pattern.len() - rest.len()
}

const GRANT_LESS: &str = "grant the directories below it that are needed, one by one";
const NOT_NEEDED: &str = "nothing inside a cage needs it";
const SOCKETS: &str = "control sockets of the host live there, and whoever reaches one commands \
                       what listens on it";

const LIST: &[Entry] = &[
    tree("/proc", "it shows the host's processes", "a cage has a `/proc` of its own"),
    tree("/sys", "it is the kernel's own configuration", NOT_NEEDED),
    tree("/dev", "it holds the host's devices", "a cage has a `/dev` of its own"),
    tree("/run", SOCKETS, NOT_NEEDED),
    tree("/var/run", SOCKETS, NOT_NEEDED),
    tree("/boot", "it holds what the machine starts from", NOT_NEEDED),
    tree("/tmp/.X11-unix", SOCKETS, NOT_NEEDED),
    tree("/tmp/.ICE-unix", SOCKETS, NOT_NEEDED),
    tree("/tmp/.XIM-unix", SOCKETS, NOT_NEEDED),
    tree("/tmp/.font-unix", SOCKETS, NOT_NEEDED),
    tree("/tmp/ssh-*", SOCKETS, NOT_NEEDED),
    tree("/tmp/tmux-*", SOCKETS, NOT_NEEDED),
    tree("/tmp/screen-*", SOCKETS, NOT_NEEDED),
    tree("/tmp/dbus-*", SOCKETS, NOT_NEEDED),
    tree("/tmp/vscode-*", SOCKETS, NOT_NEEDED),
    tree("/tmp/systemd-private-*", "it is private to a service of the host", NOT_NEEDED),
    itself("/tmp", SOCKETS, "a cage has a `/tmp` of its own; name the directory inside it"),
    itself("/var/tmp", SOCKETS, "a cage has a `/tmp` of its own; name the directory inside it"),
    tree("/var/lib/docker", "it holds every container of the host", NOT_NEEDED),
    tree("/var/lib/containerd", "it holds every container of the host", NOT_NEEDED),
    tree("/var/lib/containers", "it holds every container of the host", NOT_NEEDED),
    tree("/var/lib/kubelet", "it holds every container of the host", NOT_NEEDED),
    tree("/var/lib/lxc", "it holds every container of the host", NOT_NEEDED),
    tree("/var/lib/lxd", SOCKETS, NOT_NEEDED),
    tree("/var/snap/lxd", SOCKETS, NOT_NEEDED),
];

/// Parts of listed trees that are ordinary files: mounted disks, and where some distributions
/// keep their programs.
const GRANTABLE_AFTER_ALL: &[&str] =
    &["/run/media/*/*", "/run/current-system", "/run/opengl-driver"];

/// Trees in which no project lives.
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
    "/lost+found",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
    "/var/cache",
    "/var/log",
    "/var/spool",
    "/nix/store",
    "/gnu/store",
];

/// Directories of the system below which a project may well live.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/home",
    "/media",
    "/mnt",
    "/nix",
    "/opt",
    "/srv",
    "/usr",
    "/usr/local",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/www",
    "/run/media",
    "/run/media/*",
];

/// Where a path lies as seen from a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    At,
    Above,
    Inside,
    Apart,
}

impl Place {
    fn is_at_or_inside(self) -> bool {
        matches!(self, Self::At | Self::Inside)
    }
}

/// Compares byte by byte, and so is done with most patterns after two or three. A `*` can only stand at the end of a component.
fn place(path: &HostPath, pattern: &str) -> Place {
    let mut path = match path.as_bytes() {
        b"/" => b"",
        below_root => below_root,
    };
    let mut pattern = pattern.as_bytes();
    loop {
        match (path.split_first(), pattern.split_first()) {
            (None, None) => return Place::At,
            (_, Some((b'*', rest))) => {
                let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
                path = path.get(end..).unwrap_or_default();
                pattern = rest;
            }
            (None, Some((b'/', _))) => return Place::Above,
            (Some((b'/', _)), None) => return Place::Inside,
            (Some((found, path_rest)), Some((wanted, pattern_rest))) if found == wanted => {
                (path, pattern) = (path_rest, pattern_rest);
            }
            _ => return Place::Apart,
        }
    }
}

#[cfg(test)]
mod tests;
