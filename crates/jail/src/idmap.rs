//! Copies of the granted trees, made by a privileged launcher beside the cage that is being built
//! and sent into it. Where the Plan says so they are idmapped: files of one owner on disk become
//! the cage's own. Never maps more than that one owner and group.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::{Bind, GuestPath, HostIds, Mapping, Overlay, Plan, SourceIndex};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;
use sys::channel::MAX_DESCRIPTORS;
use sys::clone::Namespaces;
use sys::holder::NamespaceHolder;
use sys::mount::{Depth, MountAttributes};

use crate::attributes::{LAYER, LOWER_LAYER};
use crate::control::{Channel, Order};
use crate::{SetupFailure, Step, attributes};

/// Makes a detached, attributed and where asked idmapped mount for every bind of the Plan and sends them to
/// the cage that is being built, in the Plan's order. What it returns has ended or is about to, and is to be
/// dropped when waiting for that delays nothing.
pub(crate) fn send_binds(
    plan: &Plan,
    sources: &[OwnedFd],
    control: &Channel,
) -> Result<Vec<NamespaceHolder>, SetupFailure> {
    let mut maps = OwnerMaps::of(plan);
    let mut made = Vec::new();
    for operation in &plan.walls.mounts {
        let layers = operation.overlay().map(|overlay| {
            let Overlay { lower, area, at, mapping, .. } = overlay;
            let layer = |source: &SourceIndex, set, shows| Wanted {
                source: *source,
                at,
                mapping: *mapping,
                set,
                depth: Depth::Single,
                shows,
            };
            [layer(lower, LOWER_LAYER, Shows::Host), layer(area, LAYER, Shows::Kept)]
        });
        let bind = operation.bind().map(|bind| {
            let Bind { source, at, mapping, .. } = bind;
            let (set, depth) = (attributes::attributes(operation), Depth::Recursive);
            Wanted { source: *source, at, mapping: *mapping, set, depth, shows: Shows::Host }
        });
        for wanted in bind.into_iter().chain(layers.into_iter().flatten()) {
            made.push(detach(&wanted, sources, &mut maps)?);
            // The cage attaches these while the next are made.
            if made.len() == MAX_DESCRIPTORS && send_batch(&mut made, control)? == Taker::Gone {
                return Ok(maps.ending);
            }
        }
    }
    send_batch(&mut made, control)?;
    Ok(maps.ending)
}

/// A mount to be made.
struct Wanted<'plan> {
    source: SourceIndex,
    at: &'plan GuestPath,
    mapping: Mapping,
    set: u64,
    depth: Depth,
    shows: Shows,
}

/// Whose files a mount shows.
#[derive(Clone, Copy)]
enum Shows {
    /// Those of a granted path.
    Host,
    /// What programs wrote, in the state directory.
    Kept,
}

/// Whether there is still somebody to take mounts. A cage that is gone has said why, and its word is
/// still to be read.
#[derive(PartialEq, Eq)]
enum Taker {
    There,
    Gone,
}

/// Sends mounts, if there are any, and lets go of them.
fn send_batch(made: &mut Vec<OwnedFd>, control: &Channel) -> Result<Taker, SetupFailure> {
    if made.is_empty() {
        return Ok(Taker::There);
    }
    let batch: Vec<BorrowedFd<'_>> = made.iter().map(AsFd::as_fd).collect();
    let sent = control.send(&Order::Binds, &batch);
    made.clear();
    match sent {
        Ok(()) => Ok(Taker::There),
        Err(Errno::PIPE | Errno::CONNRESET) => Ok(Taker::Gone),
        Err(errno) => {
            Err(SetupFailure::kernel(Step::Control, "the cage that is being built", errno))
        }
    }
}

fn detach(
    wanted: &Wanted<'_>,
    sources: &[OwnedFd],
    maps: &mut OwnerMaps,
) -> Result<OwnedFd, SetupFailure> {
    let Wanted { source, at, mapping, set, depth, shows } = *wanted;
    let mount_failed = |errno| SetupFailure::kernel(Step::Mount, at.to_string(), errno);
    let Some(opened) = sources.get(source.position()) else {
        return Err(SetupFailure::found(Step::Mount, at.to_string(), "its source is missing"));
    };
    let recursive = match depth {
        Depth::Recursive => OpenTreeFlags::AT_RECURSIVE,
        Depth::Single => OpenTreeFlags::empty(),
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | recursive;
    let tree = rustix::mount::open_tree(opened, c"", flags).map_err(mount_failed)?;
    let map = match mapping {
        Mapping::Plain => None,
        Mapping::Owner { uid, gid } => Some(maps.for_owner(uid, gid)?),
    };
    let change = MountAttributes { set, make_private: true, idmap: map.map(AsFd::as_fd) };
    sys::mount::set_attributes(tree.as_fd(), change, depth).map_err(|errno| {
        let cannot_map = errno == Errno::INVAL && mapping != Mapping::Plain;
        match (cannot_map, shows) {
            (true, Shows::Host) => SetupFailure::found(
                Step::Idmap,
                at.to_string(),
                "its file system cannot be mounted with mapped owners; start the cage as the \
                 files' owner instead of root",
            ),
            (true, Shows::Kept) => SetupFailure::found(
                Step::Overlay,
                at.to_string(),
                "the file system of the state directory cannot be mounted with mapped owners",
            ),
            (false, Shows::Host | Shows::Kept) => mount_failed(errno),
        }
    })?;
    Ok(tree)
}

/// The receiving side: mounts in the order of the Plan's binds.
pub(crate) struct Arrivals<'a> {
    control: &'a Channel,
    waiting: VecDeque<OwnedFd>,
}

impl<'a> Arrivals<'a> {
    pub(crate) fn new(control: &'a Channel) -> Self {
        Self { control, waiting: VecDeque::new() }
    }

    /// The next mount, once the launcher has made it.
    pub(crate) fn next(&mut self, at: &GuestPath) -> Result<OwnedFd, SetupFailure> {
        loop {
            if let Some(mount) = self.waiting.pop_front() {
                return Ok(mount);
            }
            match self.control.receive::<Order>() {
                Ok(Some((Order::Binds, batch))) if !batch.is_empty() => self.waiting.extend(batch),
                Ok(_) => {
                    let detail = "the launcher is gone or spoke out of turn";
                    return Err(SetupFailure::found(Step::Mount, at.to_string(), detail));
                }
                Err(errno) => return Err(SetupFailure::kernel(Step::Mount, at.to_string(), errno)),
            }
        }
    }
}

/// User namespaces that map one owner on disk to the cage's id, made once per owner.
struct OwnerMaps {
    cage: HostIds,
    known: Vec<((u32, u32), OwnedFd)>,
    ending: Vec<NamespaceHolder>,
}

impl OwnerMaps {
    fn of(plan: &Plan) -> Self {
        Self { cage: plan.host_ids(), known: Vec::new(), ending: Vec::new() }
    }

    fn for_owner(&mut self, uid: u32, gid: u32) -> Result<&OwnedFd, SetupFailure> {
        if let Some(position) = self.known.iter().position(|(owner, _)| *owner == (uid, gid)) {
            return self.known.get(position).map(|(_, map)| map).ok_or_else(|| missing(uid));
        }
        let (map, holder) = owner_map((uid, gid), self.cage)?;
        self.ending.push(holder);
        self.known.push(((uid, gid), map));
        self.known.last().map(|(_, map)| map).ok_or_else(|| missing(uid))
    }
}

pub(crate) fn owner_map(
    owner: (u32, u32),
    cage: HostIds,
) -> Result<(OwnedFd, NamespaceHolder), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Idmap, format!("uid {}", owner.0), errno);
    let holder = NamespaceHolder::start(Namespaces::USER).map_err(failed)?;
    holder.wait().map_err(failed)?;
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
    let map = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed)?;
    holder.end();
    Ok((map, holder))
}

fn missing(uid: u32) -> SetupFailure {
    SetupFailure::found(Step::Idmap, format!("uid {uid}"), "its map was not kept")
}
