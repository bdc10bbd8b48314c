//! Idmapped copies of granted trees, made by a privileged launcher before the fork: files of one
//! owner on disk become the cage's own. Never maps more than that one owner and group.

use std::os::fd::{AsFd, OwnedFd};

use plan::{HostIds, Mapping, MountOp, Plan};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;
use sys::clone::NamespaceHolder;

use crate::{SetupFailure, Step, identity, tree};

/// Detached mounts for the binds of a Plan, by position in its list of operations.
pub(crate) type DetachedTrees = Vec<Option<OwnedFd>>;

/// Makes a detached, attributed and where asked idmapped mount for every bind of the Plan.
pub(crate) fn detach_binds(
    plan: &Plan,
    sources: &[OwnedFd],
) -> Result<DetachedTrees, SetupFailure> {
    let cage = identity::host_ids(&plan.identity);
    let mut maps = OwnerMaps { cage, known: Vec::new() };
    let mut trees = Vec::with_capacity(plan.mounts.len());
    for operation in &plan.mounts {
        let MountOp::Bind { source, at, mapping, .. } = operation else {
            trees.push(None);
            continue;
        };
        let opened = usize::try_from(source.0).ok().and_then(|index| sources.get(index));
        let Some(opened) = opened else {
            return Err(SetupFailure::found(Step::Mount, at.to_string(), "its source is missing"));
        };
        let mount_failed = |errno| SetupFailure::kernel(Step::Mount, at.to_string(), errno);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = rustix::mount::open_tree(opened, c"", flags).map_err(mount_failed)?;
        let map = match mapping {
            Mapping::Plain => None,
            Mapping::Owner { uid, gid } => Some(maps.for_owner(*uid, *gid)?),
        };
        tree::set_bind_attributes(tree.as_fd(), operation, map.map(AsFd::as_fd)).map_err(
            |errno| match (mapping, errno) {
                (Mapping::Owner { .. }, Errno::INVAL) => SetupFailure::found(
                    Step::Idmap,
                    at.to_string(),
                    "its file system cannot be mounted with mapped owners; start the cage as the \
                     files' owner instead of root",
                ),
                _ => mount_failed(errno),
            },
        )?;
        trees.push(Some(tree));
    }
    Ok(trees)
}

/// User namespaces that map one owner on disk to the cage's id, made once per owner.
struct OwnerMaps {
    cage: HostIds,
    known: Vec<((u32, u32), OwnedFd)>,
}

impl OwnerMaps {
    fn for_owner(&mut self, uid: u32, gid: u32) -> Result<&OwnedFd, SetupFailure> {
        if let Some(position) = self.known.iter().position(|(owner, _)| *owner == (uid, gid)) {
            return self.known.get(position).map(|(_, map)| map).ok_or_else(|| missing(uid));
        }
        let map = owner_map((uid, gid), self.cage)?;
        self.known.push(((uid, gid), map));
        self.known.last().map(|(_, map)| map).ok_or_else(|| missing(uid))
    }
}

fn owner_map(owner: (u32, u32), cage: HostIds) -> Result<OwnedFd, SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Idmap, format!("uid {}", owner.0), errno);
    let holder = NamespaceHolder::new().map_err(failed)?;
    let process = format!("/proc/{}", holder.pid().as_raw_nonzero());
    let write = |file: &str, line: String| -> Result<(), Errno> {
        let path = format!("{process}/{file}");
        let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file.as_fd(), line.as_bytes())?;
        Ok(())
    };
    write("uid_map", format!("{} {} 1\n", owner.0, cage.uid)).map_err(failed)?;
    write("gid_map", format!("{} {} 1\n", owner.1, cage.gid)).map_err(failed)?;
    let path = format!("{process}/ns/user");
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)
}

fn missing(uid: u32) -> SetupFailure {
    SetupFailure::found(Step::Idmap, format!("uid {uid}"), "its map was not kept")
}
