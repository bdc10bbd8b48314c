//! Mounts, compared by where their files come from: the place inside is nobody's but the cage's. What is in memory is
//! nothing of anybody's; a directory of the host is given by its rule of `fs`.

use plan::{Access, HostPath, MountedFrom};

use super::{Refusal, RefusalKind};
use crate::access::AccessMap;
use crate::{FsAccess, FsRule, Mount, Policy};

/// Every mount of the request whose files the holder does not hold, or holds less well.
pub(super) fn refuse_more(held: &Policy, asked: &Policy, refused: &mut Vec<Refusal>) {
    let files = AccessMap::new(&held.fs);
    for mount in asked.mounts.values() {
        let best = holding(held, mount);
        let is_held = match &mount.from {
            MountedFrom::Memory | MountedFrom::Directory(_) => true,
            MountedFrom::Store(path) => {
                writable(&files, path).is_some_and(|rule| mount.reach <= rule.reach)
                    || holds(best, mount)
            }
            MountedFrom::Remote(_) => holds(best, mount),
            // Whether a call may write is the cage's business, not the mount's.
            MountedFrom::Inside(_) => best.is_some(),
        };
        if !is_held {
            refused.push(Refusal {
                kind: RefusalKind::Mounts,
                subject: mount.from.to_string(),
                asked: words(mount.access).to_owned(),
                held: best.map_or("nothing", |held| words(held.access)).to_owned(),
                asked_at: Some(mount.origin.clone()),
                held_at: best.map(|held| held.origin.clone()),
            });
        }
    }
}

/// The mount of the holder that gives most of the same files.
fn holding<'held>(held: &'held Policy, asked: &Mount) -> Option<&'held Mount> {
    let same = held.mounts.values().filter(|mount| mount.from.holds(&asked.from));
    same.max_by_key(|mount| (mount.access, mount.reach))
}

fn holds(held: Option<&Mount>, asked: &Mount) -> bool {
    held.is_some_and(|held| asked.access <= held.access && asked.reach <= held.reach)
}

/// The rule by which a file may be changed.
fn writable<'held>(files: &AccessMap<'held>, path: &HostPath) -> Option<&'held FsRule> {
    files.at(path).filter(|rule| rule.access == FsAccess::ReadWrite)
}

fn words(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    }
}
