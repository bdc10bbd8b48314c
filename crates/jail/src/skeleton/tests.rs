//! What of a Plan is common to many cages.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use plan::{
    Access, BindPurpose, Execution, FileKind, GuestPath, Mapping, MountOp, SourceIndex, TmpfsSize,
};

use super::Common;

fn at(path: &str) -> GuestPath {
    GuestPath::new(path).unwrap()
}

fn directory(path: &str) -> MountOp {
    MountOp::Directory { at: at(path), mode: 0o755 }
}

fn memory(path: &str, access: Access) -> MountOp {
    let size = TmpfsSize { bytes: 1 << 20, inodes: 64 };
    MountOp::Tmpfs { at: at(path), mode: 0o755, size, execution: Execution::Allowed, access }
}

fn bind(path: &str, access: Access, mapping: Mapping) -> MountOp {
    bind_for(BindPurpose::Base, path, access, mapping)
}

fn bind_for(purpose: BindPurpose, path: &str, access: Access, mapping: Mapping) -> MountOp {
    let (source, execution) = (SourceIndex(0), Execution::Allowed);
    MountOp::Bind { source, at: at(path), access, execution, mapping, purpose }
}

/// Those that are common among operations, by where they work.
fn common(operations: &[MountOp]) -> Vec<String> {
    let common = Common::of(operations);
    let operations = operations.iter().enumerate();
    let chosen = operations.filter(|(position, _)| common.has(*position));
    chosen.map(|(_, operation)| operation.at().to_string()).collect()
}

/// K237
#[test]
fn names_and_what_is_only_read_are_common() {
    let operations = [
        directory("/usr"),
        bind("/usr", Access::ReadOnly, Mapping::Plain),
        directory("/dev"),
        memory("/dev", Access::ReadOnly),
        directory("/dev/pts"),
        MountOp::Symlink { at: at("/bin"), target: "usr/bin".into() },
    ];
    assert_eq!(common(&operations), ["/usr", "/usr", "/dev", "/dev", "/dev/pts", "/bin"]);
}

/// K237, T60: nothing that a program can write to, nothing with an owner of one cage, and nothing that a rule
/// grants.
#[test]
fn what_is_a_cages_own_is_not() {
    let owner = Mapping::Owner { uid: 1000, gid: 1000 };
    let operations = [
        memory("/tmp", Access::ReadWrite),
        bind("/data", Access::ReadWrite, Mapping::Plain),
        bind("/mine", Access::ReadOnly, owner),
        bind_for(BindPurpose::Grant, "/granted", Access::ReadOnly, Mapping::Plain),
        bind_for(BindPurpose::Protected, "/kept", Access::ReadOnly, Mapping::Plain),
        bind_for(BindPurpose::Pin, "/pinned", Access::ReadOnly, Mapping::Plain),
        MountOp::Proc { at: at("/proc") },
        MountOp::Devpts { at: at("/dev/pts") },
        MountOp::SealReadOnly { at: at("/proc/sys") },
        MountOp::MaskIfPresent { at: at("/proc/keys") },
        MountOp::Mask { at: at("/secret"), kind: FileKind::File },
    ];
    assert_eq!(common(&operations), Vec::<String>::new());
}

/// K237: what lies in something that is a cage's own, or in the host's files.
#[test]
fn what_lies_elsewhere_is_not() {
    let operations = [
        memory("/tmp", Access::ReadWrite),
        directory("/tmp/project"),
        directory("/tmp/project/deep"),
        bind("/tmp/project", Access::ReadOnly, Mapping::Plain),
        memory("/tmp/fixed", Access::ReadOnly),
        directory("/tmp/fixed/name"),
        bind("/usr", Access::ReadOnly, Mapping::Plain),
        bind("/usr/share", Access::ReadOnly, Mapping::Plain),
        directory("/tmpfs"),
        directory("/"),
    ];
    assert_eq!(common(&operations), ["/usr", "/tmpfs", "/"]);
}

/// A directory that was asked about a moment ago becomes another one by a mount.
#[test]
fn a_mount_changes_what_its_directory_is() {
    let operations = [
        directory("/work"),
        directory("/work/before"),
        memory("/work/before", Access::ReadWrite),
        directory("/work/before/own"),
        directory("/work/after"),
    ];
    assert_eq!(common(&operations), ["/work", "/work/before", "/work/after"]);
}
