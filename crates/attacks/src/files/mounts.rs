//! Taking the mounts apart: peeling read-only binds and masks, leaving by a second root, mounting
//! over things, alone or as root of a new user namespace. T11

use std::fs;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsmount, fsopen, mount_remount, move_mount, open_tree, unmount,
};
use sys::raw::{self, Probe};

use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T11", "remount-writable", "makes a read-only mount writable", |scene| {
        remount_and_write(scene)
    })
    .harms()
    .twin(Twin::Namespaces),
    Attack::new(
        "T11",
        "mount-in-new-namespace",
        "becomes root of a new user namespace and mounts the project without its rules",
        |scene| {
            let place = scene.workplace()?;
            raw::leave_namespaces()?;
            rustix::mount::mount_bind_recursive(&scene.project, &place)?;
            Ok(Outcome::Succeeded("mounted".to_owned()))
        },
    )
    .twin(Twin::Namespaces),
    Attack::new("T11", "unmount-mask", "takes the mount off a hidden directory", |scene| {
        unmount(scene.project.join("private"), UnmountFlags::DETACH)?;
        Ok(Outcome::of_reading(&fs::read(scene.project.join("private/secret.txt"))?))
    })
    .steals()
    .twin(Twin::Namespaces),
    Attack::new("T11", "unmount-file-mask", "takes the mount off a hidden file", |scene| {
        unmount(scene.project.join("hidden.txt"), UnmountFlags::DETACH)?;
        Ok(Outcome::of_reading(&fs::read(scene.project.join("hidden.txt"))?))
    })
    .steals()
    .twin(Twin::Namespaces),
    Attack::new(
        "T11",
        "clone-tree-without-masks",
        "copies the project's mount alone, without what is mounted on it",
        clone_tree,
    )
    .steals()
    .twin(Twin::Namespaces),
    Attack::new("T11", "chroot-twice", "leaves a root by entering another", chroot_twice)
        .twin(Twin::Namespaces),
    Attack::new("T11", "new-file-system", "mounts a file system of its own", mount_new)
        .twin(Twin::Namespaces),
    Attack::new("T11", "bind-over-system", "mounts its own directory over `/etc`", |scene| {
        let own = scene.workplace()?;
        rustix::mount::mount_bind(&own, "/etc")?;
        Ok(Outcome::Succeeded("mounted".to_owned()))
    })
    .twin(Twin::Namespaces),
    Attack::call("T11", "call-mount", Probe::Mount),
    Attack::call("T11", "call-umount2", Probe::Umount2),
    Attack::call("T11", "call-pivot-root", Probe::PivotRoot).twin(Twin::Namespaces),
    Attack::call("T11", "call-chroot", Probe::Chroot),
    Attack::call("T11", "call-open-tree", Probe::OpenTree),
    Attack::call("T11", "call-move-mount", Probe::MoveMount).twin(Twin::Namespaces),
    Attack::call("T11", "call-fsopen", Probe::Fsopen).twin(Twin::Namespaces),
    Attack::call("T11", "call-fsconfig", Probe::Fsconfig),
    Attack::call("T11", "call-fsmount", Probe::Fsmount).twin(Twin::Namespaces),
    Attack::call("T11", "call-fspick", Probe::Fspick).twin(Twin::Namespaces),
    Attack::call("T11", "call-mount-setattr", Probe::MountSetattr),
];

fn remount_and_write(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let readonly = scene.project.join("readonly");
    mount_remount(&readonly, MountFlags::BIND | restrictions_of(&readonly)?, "")?;
    fs::write(scene.readonly_file(), scene.mark())?;
    Ok(Outcome::Attempted("remounted and written".to_owned()))
}

fn clone_tree(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(rustix::fs::CWD, &scene.project, flags)?;
    let file = rustix::fs::openat(
        &tree,
        "private/secret.txt",
        rustix::fs::OFlags::RDONLY,
        rustix::fs::Mode::empty(),
    )?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut fs::File::from(file), &mut bytes)?;
    Ok(Outcome::of_reading(&bytes))
}

fn chroot_twice(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let own = scene.workplace()?;
    let outer = fs::File::open("/")?;
    rustix::process::chroot(&own)?;
    rustix::process::fchdir(&outer)?;
    rustix::process::chroot("../../..")?;
    Ok(Outcome::Succeeded("went out of the root that it had entered".to_owned()))
}

fn mount_new(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let place = scene.workplace()?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&mount, "", rustix::fs::CWD, &place, flags)?;
    Ok(Outcome::Succeeded("mounted".to_owned()))
}

/// What the mount already forbids: root of a user namespace cannot take it away, and a change that
/// leaves it out is refused.
pub(crate) fn restrictions_of(path: &Path) -> std::io::Result<MountFlags> {
    let present = rustix::fs::statvfs(path)?.f_flag;
    let restrictions = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let present = restrictions.into_iter().filter(|(shown, _)| present.contains(*shown));
    Ok(present.fold(MountFlags::empty(), |flags, (_, flag)| flags | flag))
}
