//! What mounts of a policy need of the host: the directories that stores lie in, and the device by which the kernel asks
//! a process of ours for files. Opens nothing in a store and asks nobody far away.

use std::collections::BTreeMap;

use plan::{ByteString, HostPath, MountedFrom, SourceIndex};
use policy::{FsAccess, FsRule, Mount, Policy};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::error::{PathProblem, RuleProblem};
use super::open::Opener;
use super::sources::Sources;
use super::{Places, ResolveError, Surroundings, rules};

/// What was opened for them.
#[derive(Default)]
pub(super) struct Mounts {
    pub(super) stores: BTreeMap<HostPath, (SourceIndex, ByteString)>,
    pub(super) fuse: Option<SourceIndex>,
    pub(super) inside: Option<SourceIndex>,
}

/// Opens it.
pub(super) fn resolve(
    policy: &Policy,
    surroundings: &Surroundings,
    places: &Places<'_>,
    opener: &Opener,
    sources: &mut Sources,
) -> Result<Mounts, ResolveError> {
    let mut found = Mounts::default();
    let mut problems = Vec::new();
    let is_served = |mount: &&Mount| match mount.from {
        MountedFrom::Store(_) | MountedFrom::Remote(_) | MountedFrom::Inside(_) => true,
        MountedFrom::Memory | MountedFrom::Directory(_) => false,
    };
    for mount in policy.mounts.values().filter(is_served) {
        if found.fuse.is_none() {
            found.fuse = Some(device(opener, sources)?);
        }
        if matches!(mount.from, MountedFrom::Inside(_)) && found.inside.is_none() {
            found.inside = Some(own_program(surroundings, opener, sources)?);
        }
        let MountedFrom::Store(path) = &mount.from else { continue };
        match directory(path, mount, places, opener) {
            Ok((directory, name)) => {
                let directory = sources.add(directory)?;
                found.stores.insert(path.clone(), (directory, name));
            }
            Err(problem) => problems.push(RuleProblem {
                path: path.clone(),
                access: FsAccess::ReadWrite,
                origin: mount.origin.clone(),
                problem,
            }),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(ResolveError::Rules(problems)) }
}

/// The program of this process, which serves calls inside of a cage as well.
fn own_program(
    surroundings: &Surroundings,
    opener: &Opener,
    sources: &mut Sources,
) -> Result<SourceIndex, ResolveError> {
    let refused = |why| ResolveError::Device { path: "stockade", why };
    let path = surroundings.executable.as_ref();
    let path = path.ok_or_else(|| refused("this process does not know its own program"))?;
    let opened = opener.anywhere(path);
    let opened = opened.map_err(|_| refused("the program of this process is gone"))?;
    if opened.status.file_type != FileType::RegularFile {
        return Err(refused("the program of this process is no file"));
    }
    sources.add(opened)
}

/// The directory of a store, and the name of its file, which may still be missing.
fn directory(
    path: &HostPath,
    mount: &Mount,
    places: &Places<'_>,
    opener: &Opener,
) -> Result<(super::open::Opened, ByteString), PathProblem> {
    let name = path.file_name().ok_or(PathProblem::NotADirectory)?.to_vec();
    let above = path.parent().ok_or(PathProblem::NotADirectory)?;
    let (reach, origin) = (mount.reach, mount.origin.clone());
    let rule = FsRule { access: FsAccess::ReadWrite, path: above, reach, origin };
    let opened = rules::open(&rule, places, opener)?.ok_or(PathProblem::NotADirectory)?;
    if !opened.status.is_directory() {
        return Err(PathProblem::NotADirectory);
    }
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let kind = rustix::fs::statat(&opened.descriptor, name.as_slice(), flags);
    match kind.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile) | Err(rustix::io::Errno::NOENT) => Ok((opened, name.into())),
        Ok(FileType::Directory) => Err(PathProblem::WrongKind { kind: "a directory" }),
        Ok(FileType::Symlink) => Err(PathProblem::WrongKind { kind: "a symlink" }),
        Ok(_) => Err(PathProblem::WrongKind { kind: "no file" }),
        Err(errno) => Err(PathProblem::Kernel { call: "look at", errno }),
    }
}

/// The device, if the cage's first process will be able to open it: it does so with the caller's ids.
pub(super) fn device(opener: &Opener, sources: &mut Sources) -> Result<SourceIndex, ResolveError> {
    let refused = |why| ResolveError::Device { path: FUSE, why };
    let path = HostPath::new(FUSE).map_err(|_| refused("its path is none"))?;
    let opened = opener.anywhere(&path).map_err(|_| {
        refused(
            "this host has no FUSE; load it with `modprobe fuse`, or give a container the device",
        )
    })?;
    let makes =
        (rustix::fs::major(opened.status.represents), rustix::fs::minor(opened.status.represents));
    if opened.status.file_type != FileType::CharacterDevice || makes != NUMBER {
        return Err(refused("it is another file"));
    }
    // Not only its mode decides: a container can be kept from devices.
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    if rustix::fs::open(FUSE, flags, Mode::empty()).is_err() {
        return Err(refused(
            "this user may not open it; let everybody, with `chmod 666 /dev/fuse`",
        ));
    }
    sources.add(opened)
}

const FUSE: &str = "/dev/fuse";
const NUMBER: (u32, u32) = (10, 229);
