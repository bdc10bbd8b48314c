//! What is worth knowing before a program runs: a flag that does nothing, a repository that git will
//! not find in the cage. Only words for a person; looks at the host and decides nothing.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use plan::render::for_shell;
use plan::{ByteString, HostPath, Plan, SourceIndex};
use policy::facts::ResolvedRule;
use policy::net::{Destination, Hosts};
use policy::shown::shortened;
use policy::{Network, RuleOrigin};
use rustix::fs::{Mode, OFlags};

use cage::prepare::{Prepared, Selection};

use crate::view::{View, view};

#[cfg(test)]
mod tests;

/// What there is to know about a cage that is ready.
pub fn of(prepared: &Prepared) -> Vec<String> {
    let mut notes = Vec::new();
    for (path, found) in &prepared.hidden_by_flags {
        let path = shortened(path);
        match found {
            ResolvedRule::NothingToHide => {
                notes.push(format!("there is nothing to hide at `{path}`"));
            }
            ResolvedRule::Found { source, .. } if is_of_every_cage(&prepared.plan, *source) => {
                notes.push(format!(
                    "`{path}` is not hidden: the cage does not have the host's there, but one of \
                     its own, which it cannot do without"
                ));
            }
            ResolvedRule::Found { .. } | ResolvedRule::AllowedAhead { .. } => {}
        }
    }
    if let Some((path, why)) = prepared.kept_locked.first() {
        let others = match prepared.kept_locked.len() - 1 {
            0 => String::new(),
            1 => " and one other path".to_owned(),
            others => format!(" and {others} other paths"),
        };
        notes.push(format!(
            "`{}`{others} cannot be changed inside, not by a checkout either, which would end half-done: {why}",
            shortened(path)
        ));
    }
    let start = prepared.plan.walls.working_directory.as_path();
    if let Some(worktree) = linked_worktree(start)
        && is_shown(&prepared.plan, &worktree.link)
        && !is_shown(&prepared.plan, &worktree.repository)
    {
        let repository = ByteString::from(worktree.repository.into_os_string());
        let flag = for_shell(&repository);
        notes.push(format!(
            "git keeps the data of this worktree in `{}`, which is not in the cage; `--ro {flag}` \
             lets the program read it, `--rw {flag}` commit as well",
            shortened(&repository)
        ));
    }
    notes
}

/// Flags that do not do what they are probably meant to.
pub fn of_flags(selection: &Selection) -> Vec<String> {
    let mut notes = of_unset_variables(selection);
    notes.extend(of_loopback(&selection.policy.net));
    notes
}

/// Addresses of a loopback that a flag allows where no name could lead to them: what the program finds
/// there is its own.
fn of_loopback(net: &Network) -> Vec<String> {
    if net.allow.keys().any(|entry| !matches!(entry.hosts(), Hosts::Network(_))) {
        return Vec::new();
    }
    let is_loopback = |entry: &Destination| match entry.hosts() {
        Hosts::Network(network) => network.addr().is_loopback(),
        _ => false,
    };
    let flags = net.allow.iter().filter_map(|(entry, origin)| match origin {
        RuleOrigin::Flag(flag) if is_loopback(entry) => Some((entry.ports(), flag)),
        _ => None,
    });
    flags
        .map(|(ports, flag)| {
            let port = if ports.first() == ports.last() { ports.first() } else { EXAMPLE_PORT };
            format!(
                "`{}` leads nowhere: inside, that address is the cage's own; `--host-port {port}` leads \
                 to the host's",
                shortened(flag)
            )
        })
        .collect()
}

/// Variables that a flag passes on and the caller does not have. A policy file may pass on what only
/// some of its users have; a flag means what is set here.
fn of_unset_variables(selection: &Selection) -> Vec<String> {
    let environment = &selection.surroundings.environment;
    let is_unset = |name: &str| environment.iter().all(|(set, _)| set != name);
    let rules = selection.policy.env.iter().filter(|(name, rule)| {
        let by_flag = matches!(rule.origin, RuleOrigin::Flag(_)) && rule.value.is_none();
        by_flag && is_unset(name)
    });
    rules
        .map(|(name, _)| format!("`{name}` is not set here, so `--env {name}` passes nothing on"))
        .collect()
}

/// A directory that shares a repository with another one (git-worktree(1)).
#[derive(Debug, PartialEq, Eq)]
struct Worktree {
    /// The file `.git` in it.
    link: PathBuf,
    /// The directory with everything that the worktrees share.
    repository: PathBuf,
}

/// The linked worktree that a directory lies in. The repository has to name the worktree as well:
/// a file that a program can write must not have its user asked for a grant of any directory.
fn linked_worktree(start: &Path) -> Option<Worktree> {
    let mut names = start.ancestors().map(|directory| directory.join(".git"));
    let link = names.find(|name| name.symlink_metadata().is_ok())?;
    let own_data = path_written_in(&link, b"gitdir: ")?;
    let back = path_written_in(&own_data.join("gitdir"), b"")?;
    if std::fs::canonicalize(back).ok()? != std::fs::canonicalize(&link).ok()? {
        return None;
    }
    let repository = path_written_in(&own_data.join("commondir"), b"")?;
    Some(Worktree { link, repository: std::fs::canonicalize(repository).ok()? })
}

/// The path that a small file holds after a prefix; a relative one begins at the file's directory.
fn path_written_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    // Neither waits for a FIFO's other end nor follows a link that takes the file's place.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    opened.take(LONGEST_LINE).read_to_end(&mut text).ok()?;
    let path = text.strip_prefix(prefix)?.split(|byte| *byte == b'\n').next()?;
    if path.is_empty() || path.contains(&0) {
        return None;
    }
    Some(file.parent()?.join(std::ffi::OsStr::from_bytes(path)))
}

/// Whether a cage has something of its own at a path, such as its `/etc`.
fn is_of_every_cage(plan: &Plan, source: SourceIndex) -> bool {
    let view = plan.source(source).map(|source| view(plan, &source.path));
    matches!(view, Some(View::Made { .. } | View::Own))
}

fn is_shown(plan: &Plan, path: &Path) -> bool {
    let path = HostPath::new(path.as_os_str().to_owned());
    path.is_ok_and(|path| matches!(view(plan, &path), View::Host { .. }))
}

const LONGEST_LINE: u64 = 4096;

/// For a flag that names more ports than one.
const EXAMPLE_PORT: u16 = 8080;
