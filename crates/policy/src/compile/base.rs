//! What every cage has, whatever its policy: the system's programs and data, a written `/etc`,
//! minimal `/dev`, its own `/proc`, and memory of its own at `/tmp`, `/scratch` and its home.

use plan::{
    Access, Bind, BindPurpose, ByteString, DENIALS, Execution, GuestPath, HostPath, Identity,
    Mapping, MountOp, NetworkPlan, SCRATCH, SourceIndex, TmpfsPurpose, TmpfsSize,
};

use super::areas::Areas;
use super::error::CompileError;
use super::tree::Tree;
use crate::facts::{BaseEntry, CommandFile};
use crate::{FsAccess, HostFacts};

/// Lays the base layer.
pub(super) fn lay(
    tree: &mut Tree,
    facts: &HostFacts,
    identity: &Identity,
    network: &NetworkPlan,
) -> Result<(), CompileError> {
    lay_dev(tree)?;
    lay_proc(tree)?;
    lay_etc(tree, identity, network, facts.caller.privileged)?;
    for directory in ["/run", "/var"] {
        tree.put(MountOp::Directory { at: path(directory)?, mode: 0o755 });
    }
    lay_denials(tree)?;
    tree.put(memory(path("/tmp")?, 0o1777, TmpfsPurpose::Private));
    lay_scratch(tree, facts)?;
    for entry in &facts.base {
        match entry {
            BaseEntry::Bind { at, source } => lay_host_entry(tree, at, *source),
            BaseEntry::Symlink { at, target } => {
                tree.put(MountOp::Symlink { at: at.clone(), target: target.clone() });
            }
            BaseEntry::Device { at, source } => {
                tree.put(MountOp::Bind(Bind {
                    source: *source,
                    at: at.clone(),
                    access: Access::ReadOnly,
                    execution: Execution::Refused,
                    mapping: Mapping::Plain,
                    purpose: BindPurpose::Device,
                }));
            }
        }
    }
    Ok(())
}

/// A home in memory or one that is kept, unless a grant shows the caller's own.
pub(super) fn lay_home(tree: &mut Tree, facts: &HostFacts, areas: &Areas<'_>, home: &GuestPath) {
    if is_home_private(areas, home) {
        tree.put(match facts.kept_home() {
            Some(source) => kept(facts, source, home.clone(), BindPurpose::Home),
            None => memory(home.clone(), 0o700, TmpfsPurpose::Private),
        });
    }
}

/// Whether the cage's home is memory of its own.
pub(super) fn is_home_private(areas: &Areas<'_>, home: &GuestPath) -> bool {
    HostPath::new(home.as_bytes().to_vec())
        .map_or(true, |home| areas.access(&home) == FsAccess::Hide)
}

/// The programs and libraries of a `commands` list, each at its own place. One that a grant shows
/// is there already, and one that a rule hides stays hidden.
pub(super) fn lay_commands(
    tree: &mut Tree,
    facts: &HostFacts,
    areas: &Areas<'_>,
) -> Result<(), CompileError> {
    for file in &facts.commands {
        let (CommandFile::File { at, .. } | CommandFile::Symlink { at, .. }) = file;
        let spoken_of =
            HostPath::new(at.as_bytes().to_vec()).is_ok_and(|path| areas.at(&path).is_some());
        if spoken_of || !tree.is_free(at) {
            continue;
        }
        tree.put(match file {
            CommandFile::File { at, source } => MountOp::Bind(Bind {
                source: *source,
                at: at.clone(),
                access: Access::ReadOnly,
                execution: Execution::Allowed,
                mapping: Mapping::Plain,
                purpose: BindPurpose::Command,
            }),
            CommandFile::Symlink { at, target } => {
                MountOp::Symlink { at: at.clone(), target: target.clone() }
            }
        });
    }
    // Last, so that a grant below it makes it a directory instead.
    let (at, target) = (path("/var/tmp")?, ByteString::from("/tmp"));
    if tree.is_free(&at) {
        tree.put(MountOp::Symlink { at, target });
    }
    Ok(())
}

fn lay_host_entry(tree: &mut Tree, at: &GuestPath, source: SourceIndex) {
    // Data needs no programs; what the system runs lies in `/usr` and the names beside it.
    let is_data = at.as_bytes().starts_with(b"/etc/");
    tree.put(MountOp::Bind(Bind {
        source,
        at: at.clone(),
        access: Access::ReadOnly,
        execution: if is_data { Execution::Refused } else { Execution::Allowed },
        mapping: Mapping::Plain,
        purpose: BindPurpose::Base,
    }));
}

/// V15: these devices and no others. A read-only mount does not stop writing to a device.
fn lay_dev(tree: &mut Tree) -> Result<(), CompileError> {
    let execution = Execution::Refused;
    let (at, size, purpose) = (path("/dev")?, TmpfsSize::DEVICES, TmpfsPurpose::Devices);
    tree.put(MountOp::Tmpfs { at, mode: 0o755, size, execution, purpose });
    for (at, target) in DEV_LINKS {
        tree.put(MountOp::Symlink { at: path(at)?, target: ByteString::from(*target) });
    }
    tree.put(MountOp::Devpts { at: path("/dev/pts")? });
    let (at, size, purpose) = (path("/dev/shm")?, TmpfsSize::SHARED_MEMORY, TmpfsPurpose::Private);
    tree.put(MountOp::Tmpfs { at, mode: 0o1777, size, execution, purpose });
    Ok(())
}

/// T15: a `/proc` of the cage's own still has files of the whole machine.
fn lay_proc(tree: &mut Tree) -> Result<(), CompileError> {
    tree.put(MountOp::Proc { at: path("/proc")? });
    for name in PROC_SEALED {
        tree.put(MountOp::SealReadOnly { at: path(name)? });
    }
    for name in PROC_MASKED {
        tree.put(MountOp::MaskIfPresent { at: path(name)? });
    }
    Ok(())
}

fn lay_etc(
    tree: &mut Tree,
    identity: &Identity,
    network: &NetworkPlan,
    is_privileged: bool,
) -> Result<(), CompileError> {
    let Identity { uid, gid, user, .. } = identity;
    // A field of passwd(5) ends at a colon and a record at a line's end.
    let home = match identity.home.as_bytes() {
        home if home.iter().any(|byte| matches!(byte, b':' | b'\n')) => b"/".as_slice(),
        home => home,
    };
    let mut passwd = format!("{user}:x:{uid}:{gid}:{user}:").into_bytes();
    passwd.extend_from_slice(home);
    passwd.extend_from_slice(b":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
    let resolver = match network {
        NetworkPlan::Loopback => "# this cage has no network\n",
        NetworkPlan::Gatekeeper(_) => "nameserver 127.0.0.1\noptions edns0 timeout:5\n",
    };
    let files: [(&str, ByteString); 4] = [
        ("/etc/passwd", passwd.into()),
        ("/etc/group", format!("{user}:x:{gid}:\nnogroup:x:65534:\n").into()),
        ("/etc/nsswitch.conf", NSSWITCH.into()),
        ("/etc/resolv.conf", resolver.into()),
    ];
    // Root's files have another owner inside than on the host.
    let for_git = is_privileged.then(|| ("/etc/gitconfig", GIT_CONFIGURATION.into()));
    for (at, contents) in files.into_iter().chain(for_git) {
        tree.put(MountOp::File { at: path(at)?, mode: 0o644, contents });
    }
    let (at, contents) = (path("/etc/hosts")?, ByteString::from(HOSTS));
    tree.put(MountOp::Hosts { at, mode: 0o644, contents });
    Ok(())
}

/// An empty file, to which pid 1 adds what it refuses.
fn lay_denials(tree: &mut Tree) -> Result<(), CompileError> {
    let at = path(DENIALS)?;
    if let Some(directory) = at.parent() {
        tree.put(MountOp::Directory { at: directory, mode: 0o755 });
    }
    tree.put(MountOp::File { at, mode: 0o444, contents: ByteString::default() });
    Ok(())
}

/// K36, K37: memory, or the directory that a session keeps.
fn lay_scratch(tree: &mut Tree, facts: &HostFacts) -> Result<(), CompileError> {
    let at = path(SCRATCH)?;
    tree.put(match facts.scratch() {
        Some(source) => kept(facts, source, at, BindPurpose::Scratch),
        None => memory(at, 0o700, TmpfsPurpose::Scratch),
    });
    Ok(())
}

/// A directory that the supervisor has made, as the caller.
fn kept(facts: &HostFacts, source: SourceIndex, at: GuestPath, purpose: BindPurpose) -> MountOp {
    let ids = facts.caller.ids;
    let mapping = match facts.caller.privileged {
        true => Mapping::Owner { uid: ids.uid, gid: ids.gid },
        false => Mapping::Plain,
    };
    let (access, execution) = (Access::ReadWrite, Execution::Allowed);
    MountOp::Bind(Bind { source, at, access, execution, mapping, purpose })
}

fn memory(at: GuestPath, mode: u32, purpose: TmpfsPurpose) -> MountOp {
    let (size, execution) = (TmpfsSize::PRIVATE, Execution::Allowed);
    MountOp::Tmpfs { at, mode, size, execution, purpose }
}

/// A path of the tables below.
pub(super) fn path(text: &str) -> Result<GuestPath, CompileError> {
    GuestPath::new(text).map_err(|_| CompileError::bug("a path of the base layer is malformed"))
}

const DEV_LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

const PROC_SEALED: &[&str] = &["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"];

const PROC_MASKED: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
];

const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
const NSSWITCH: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n\
                        networks: files\nprotocols: files\nservices: files\nethers: files\n\
                        rpc: files\n";

/// Git takes a file for changed whose owner is not the one that its index has; with this it asks for size and time.
const GIT_CONFIGURATION: &str = "[core]\n\tcheckStat = minimal\n";
