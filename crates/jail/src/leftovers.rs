//! What a program leaves in the cage's own memory, looked at by pid 1 before it goes: files that somebody may
//! miss, and memory that had no room left. Looks at a bounded number of names.

use std::collections::BTreeSet;

use plan::{GuestPath, MountOp, Plan, TmpfsPurpose};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use crate::control::{Observation, Observed};

/// What is worth a word.
pub(crate) fn look(plan: &Plan) -> Vec<Observed> {
    let memory = plan.walls.mounts.iter().filter(|operation| {
        matches!(operation.tmpfs_purpose(), Some(TmpfsPurpose::Private | TmpfsPurpose::Scratch))
    });
    let full = memory.map(MountOp::at).filter(|at| is_full(at));
    let full = full.map(|at| observed(Observation::Full, at.clone()));
    let gone = missed(plan).into_iter().map(|at| observed(Observation::Vanished, at));
    full.chain(gone).take(MOST_TOLD).collect()
}

fn observed(what: Observation, path: GuestPath) -> Observed {
    Observed { what, path, count: 1 }
}

fn is_full(at: &GuestPath) -> bool {
    rustix::fs::statvfs(at.as_bytes()).is_ok_and(|space| {
        let bytes = space.f_bavail.saturating_mul(space.f_frsize);
        space.f_blocks > 0 && (bytes < LITTLE || (space.f_files > 0 && space.f_ffree == 0))
    })
}

/// New names beside what the Plan has in a home of memory. A name with a dot is a program's own business.
fn missed(plan: &Plan) -> Vec<GuestPath> {
    let home = &plan.walls.identity.home;
    let mounts = &plan.walls.mounts;
    let is_memory = |operation: &&MountOp| {
        operation.at() == home && operation.tmpfs_purpose() == Some(TmpfsPurpose::Private)
    };
    if !mounts.iter().any(|operation| is_memory(&operation)) {
        return Vec::new();
    }
    let below = mounts.iter().map(MountOp::at).filter(|at| at.is_within(home));
    let planned: BTreeSet<&[u8]> = below.clone().map(GuestPath::as_bytes).collect();
    let made = mounts.iter().filter_map(|operation| match operation {
        MountOp::Directory { at, .. } => Some(at),
        MountOp::Hosts { .. } => None,
        MountOp::Bind(_) | MountOp::Overlay(_) | MountOp::File { .. } | MountOp::Symlink { .. } => {
            None
        }
        MountOp::Served(_) | MountOp::Tmpfs { .. } => None,
        MountOp::Mask { .. } | MountOp::MaskIfPresent { .. } => None,
        MountOp::Proc { .. } | MountOp::Devpts { .. } | MountOp::SealReadOnly { .. } => None,
    });
    // A directory that something is mounted on is not memory of the home's.
    let mounted: BTreeSet<&[u8]> = below
        .clone()
        .filter(|at| mounts.iter().any(|one| one.is_mount() && one.at() == *at))
        .map(GuestPath::as_bytes)
        .collect();
    let made = made.filter(|at| at.is_within(home) && !mounted.contains(at.as_bytes()));
    let places = std::iter::once(home).chain(made).take(MOST_PLACES);
    let new = places.flat_map(names_in);
    new.filter(|at| !planned.contains(at.as_bytes()) && has_contents(at)).take(MOST_TOLD).collect()
}

fn names_in(place: &GuestPath) -> Vec<GuestPath> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(directory) = rustix::fs::openat(CWD, place.as_bytes(), flags, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&directory) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok).take(MOST_NAMES);
    let told = entries.filter(|entry| {
        let name = entry.file_name().to_bytes();
        !name.starts_with(b".") && !OF_TOOLS.contains(&name)
    });
    told.filter_map(|entry| place.join(entry.file_name().to_bytes()).ok()).collect()
}

/// An empty file or directory is nobody's work.
fn has_contents(at: &GuestPath) -> bool {
    let stat = rustix::fs::statat(CWD, at.as_bytes(), AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => stat.st_size > 0,
        // A directory of a memory file system has 20 bytes for each name in it.
        FileType::Directory => stat.st_size > EMPTY_DIRECTORY,
        _ => false,
    })
}

const LITTLE: u64 = 64 * 1024;
const MOST_PLACES: usize = 64;
const MOST_NAMES: usize = 512;
const MOST_TOLD: usize = 32;
const EMPTY_DIRECTORY: i64 = 40;

/// What build tools keep in a home under a plain name.
const OF_TOOLS: &[&[u8]] = &[b"go", b"snap"];
