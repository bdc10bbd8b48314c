//! What the kernel itself offers: its version, mounts, files that processes serve, system call filters, landlock; and where
//! it would take the memory of a crashed program.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope,
};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;

use super::{Layer, LayerState, Privilege, SystemFiles};

/// A kernel's version, as far as features depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    pub(super) fn of_this_kernel() -> Option<Self> {
        let name = rustix::system::uname();
        Self::parse(&name.release().to_string_lossy())
    }

    pub(super) fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|character: char| !character.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some(Self { major, minor })
    }
}

pub(super) fn version_layer(version: Option<&Version>) -> Layer {
    let Version { major, minor } = OLDEST_KERNEL;
    let (state, why) = match version {
        Some(version) if *version >= OLDEST_KERNEL => {
            (LayerState::Present, format!("Linux {}.{}", version.major, version.minor))
        }
        Some(version) => (
            LayerState::Absent,
            format!(
                "Linux {}.{} lacks calls that cages are built with; they came with {major}.{minor}",
                version.major, version.minor
            ),
        ),
        None => (LayerState::Degraded, "the kernel's version cannot be read".to_owned()),
    };
    let fix = (state == LayerState::Absent).then(|| format!("use Linux {major}.{minor} or newer"));
    Layer { name: "kernel", state, required: true, why, fix }
}

/// Asks for a reference to the root by the new mount calls, which needs no privilege.
pub(super) fn mount_layer() -> Layer {
    let opened = rustix::mount::open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC);
    let (state, why, fix) = match opened {
        Ok(_) => (LayerState::Present, "open_tree works".to_owned(), None),
        Err(Errno::NOSYS) => (LayerState::Absent, "the kernel has no open_tree".to_owned(), None),
        Err(errno) => (
            LayerState::Absent,
            format!("open_tree is refused ({errno}), probably by a container's call filter"),
            Some("start the container with --security-opt seccomp=unconfined".to_owned()),
        ),
    };
    Layer { name: "mount calls", state, required: true, why, fix }
}

/// Opens the device and closes it: nothing is mounted.
pub(super) fn fuse_layer(files: &SystemFiles) -> Layer {
    let opened = File::options().read(true).write(true).open(files.path("/dev/fuse"));
    let (state, why, fix) = match opened.map_err(|error| (error.kind(), error)) {
        Ok(_) => {
            (LayerState::Present, format!("you may open `/dev/fuse`; {FOR_FUSE} need it"), None)
        }
        Err((ErrorKind::NotFound, _)) => (
            LayerState::Absent,
            format!("there is no `/dev/fuse`; {FOR_FUSE} need it"),
            Some("modprobe fuse, or give a container the device: --device /dev/fuse"),
        ),
        Err((_, error)) => (
            LayerState::Absent,
            format!("you may not open `/dev/fuse` ({error}); {FOR_FUSE} need it"),
            Some("chmod 666 /dev/fuse, or give a container the device: --device /dev/fuse"),
        ),
    };
    let fix = fix.map(str::to_owned);
    Layer { name: "fuse", state, required: false, why, fix }
}

/// Root's cages need grants whose owners are mapped, and not every file system can do that.
pub(super) fn idmap_layer(
    version: Option<&Version>,
    privilege: Privilege,
    project: &Path,
) -> Layer {
    let layer = |state, why: String, fix: Option<&str>| Layer {
        name: "idmapped mounts",
        state,
        required: false,
        why,
        fix: fix.map(str::to_owned),
    };
    if privilege == Privilege::User {
        return layer(LayerState::Present, "not needed: you are not root".to_owned(), None);
    }
    if version.is_some_and(|version| *version < OLDEST_KERNEL) {
        return layer(LayerState::Absent, "the kernel is too old".to_owned(), None);
    }
    let magic = rustix::fs::statfs(project).map(|status| u64::try_from(status.f_type).unwrap_or(0));
    let magic = magic.unwrap_or(0);
    match WITHOUT_IDMAP.iter().find(|(number, _)| *number == magic) {
        Some((_, name)) => layer(
            LayerState::Degraded,
            format!(
                "`{}` is on {name}, whose owners cannot be mapped: a cage of root sees only what \
                 everybody may read there",
                policy::shown::shown(project.display())
            ),
            Some("work on ext4, xfs, btrfs or tmpfs, or start stockade as an ordinary user"),
        ),
        None => {
            layer(LayerState::Present, "the project's file system can do them".to_owned(), None)
        }
    }
}

pub(super) fn seccomp_layer(files: &SystemFiles) -> Layer {
    let layer = |state, why: String, fix: Option<&str>| Layer {
        name: "seccomp",
        state,
        required: true,
        why,
        fix: fix.map(str::to_owned),
    };
    let Some(actions) = files.text("/proc/sys/kernel/seccomp/actions_avail") else {
        return layer(
            LayerState::Absent,
            "the kernel lists no filter actions".to_owned(),
            Some("use a kernel built with CONFIG_SECCOMP_FILTER"),
        );
    };
    let has = |action: &str| actions.split_whitespace().any(|known| known == action);
    if !has("kill_process") || !has("errno") {
        return layer(LayerState::Absent, format!("the kernel has only: {actions}"), None);
    }
    if !has("user_notif") {
        let why = "filters work, but refused calls cannot be named".to_owned();
        return layer(LayerState::Degraded, why, None);
    }
    layer(LayerState::Present, "filters with user notification".to_owned(), None)
}

pub(super) fn landlock_layer(files: &SystemFiles) -> Layer {
    let layer = |state, why: String, fix: Option<String>| Layer {
        name: "landlock",
        state,
        required: false,
        why,
        fix,
    };
    let newest = FILE_FEATURES.iter().rev().find(|(abi, _)| handles_files_of(*abi));
    match newest {
        Some((ABI::V5, _)) if handles_scopes() => layer(
            LayerState::Present,
            "files, devices, abstract sockets and signals (version 6 or newer)".to_owned(),
            None,
        ),
        Some((abi, features)) => layer(
            LayerState::Degraded,
            format!("{features} (version {})", *abi as i32),
            Some("use Linux 6.12 or newer for the whole of it".to_owned()),
        ),
        None => {
            let (why, fix) = why_no_landlock(files);
            layer(LayerState::Absent, why, Some(fix))
        }
    }
}

/// Creates a rule set and drops it: nothing is restricted.
fn handles_files_of(abi: ABI) -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .and_then(Ruleset::create)
        .is_ok()
}

fn handles_scopes() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::from_all(ABI::V6))
        .and_then(Ruleset::create)
        .is_ok()
}

fn why_no_landlock(files: &SystemFiles) -> (String, String) {
    match files.text("/sys/kernel/security/lsm") {
        Some(active) if !active.split(',').any(|module| module == "landlock") => (
            format!("it is not among the active security modules ({active})"),
            format!("start the kernel with lsm=landlock,{active}, if it is built in"),
        ),
        _ => (
            "the kernel does not offer it".to_owned(),
            "use a kernel built with CONFIG_SECURITY_LANDLOCK and started with \
             lsm=landlock,…"
                .to_owned(),
        ),
    }
}

/// A cage sets the one limit at which the kernel starts no helper; `hard` is what it may set at most.
pub(super) fn core_dump_layer(files: &SystemFiles, hard: Option<u64>) -> Layer {
    let layer = |state, why: &str, fix: Option<&str>| Layer {
        name: "core dumps",
        state,
        required: false,
        why: why.to_owned(),
        fix: fix.map(str::to_owned),
    };
    let pattern = files.text("/proc/sys/kernel/core_pattern").unwrap_or_default();
    match pattern.chars().next() {
        Some('@') => layer(
            LayerState::Degraded,
            "the kernel sends the memory of a crashed program to a socket of the host, whatever limit a \
             cage sets",
            Some("sysctl -w kernel.core_pattern=core"),
        ),
        Some('|') if hard == Some(0) => layer(
            LayerState::Degraded,
            "the kernel hands the memory of a crashed program to a helper on the host; a limit of 1 byte \
             keeps it from that, and your hard limit is 0",
            Some(
                "raise the hard limit on core dumps to at least 1 byte, in /etc/security/limits.conf",
            ),
        ),
        _ => {
            layer(LayerState::Present, "a cage has none, in files or by a helper of the host", None)
        }
    }
}

/// mount_setattr and idmapped mounts.
const OLDEST_KERNEL: Version = Version { major: 5, minor: 12 };

/// What is served by processes.
const FOR_FUSE: &str =
    "mounts of stores, tools and services, and layers where overlayfs cannot be had,";

/// What each version of landlock can hold about files.
const FILE_FEATURES: [(ABI, &str); 4] = [
    (ABI::V1, "files, without renaming between directories, truncation and devices"),
    (ABI::V2, "files, without truncation and devices"),
    (ABI::V3, "files, without devices"),
    (ABI::V5, "files and devices, without abstract sockets and signals"),
];

/// File systems that refuse an idmapped mount, by the numbers of statfs(2).
const WITHOUT_IDMAP: [(u64, &str); 7] = [
    (0x794c_7630, "overlayfs"),
    (0x6969, "NFS"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9p"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x786f_4256, "a VirtualBox share"),
];
