//! A small, complete Plan for tests.

use crate::seccomp::{Arch, Profile, Watch};
use crate::*;

pub(crate) fn host(path: &str) -> HostPath {
    HostPath::new(path).unwrap()
}

pub(crate) fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).unwrap()
}

pub(crate) fn directory(at: &str) -> MountOp {
    MountOp::Directory { at: guest(at), mode: 0o755 }
}

pub(crate) fn file(at: &str) -> MountOp {
    MountOp::File { at: guest(at), mode: 0o644, contents: ByteString::default() }
}

pub(crate) fn symlink(at: &str, target: &str) -> MountOp {
    MountOp::Symlink { at: guest(at), target: target.into() }
}

pub(crate) fn bind(source: u32, at: &str, access: Access, purpose: BindPurpose) -> MountOp {
    MountOp::Bind(Bind {
        source: SourceIndex(source),
        at: guest(at),
        access,
        execution: Execution::Allowed,
        mapping: Mapping::Plain,
        purpose,
    })
}

pub(crate) fn tmpfs(at: &str, purpose: TmpfsPurpose) -> MountOp {
    let size = TmpfsSize { bytes: 1 << 20, inodes: 1024 };
    MountOp::Tmpfs { at: guest(at), mode: 0o755, size, execution: Execution::Allowed, purpose }
}

pub(crate) fn mask(at: &str, kind: FileKind) -> MountOp {
    MountOp::Mask { at: guest(at), kind }
}

/// Source 0 is a directory, 1 a file, 2 `/dev/null`, 3 a session's directory.
pub(crate) fn plan(mounts: Vec<MountOp>) -> Plan {
    let source = |path: &str, kind, inode| Source { path: host(path), kind, device: 7, inode };
    let variable =
        |name: &str, value: &str| EnvironmentVariable { name: name.into(), value: value.into() };
    let walls = Walls {
        cage: "default".to_owned(),
        identity: Identity {
            uid: 1000,
            gid: 1000,
            user: "agent".to_owned(),
            home: guest("/home/dev"),
            map: IdentityMap::Caller(HostIds { uid: 1001, gid: 1001 }),
        },
        sources: vec![
            source("/srv/project", FileKind::Directory, 1),
            source("/srv/file", FileKind::File, 2),
            source("/dev/null", FileKind::File, 3),
        ],
        mounts,
        network: NetworkPlan::Loopback,
        seccomp: SeccompPlan::embedded(Profile::Default, Arch::X86_64),
        landlock: LandlockPlan { rules: Vec::new() },
        limits: LimitsPlan::default(),
        environment: vec![variable("HOME", "/home/dev"), variable("PATH", "/usr/bin")],
        working_directory: guest("/"),
        umask: 0o022,
        must_exist: Vec::new(),
        must_not_exist: Vec::new(),
        watched: Vec::new(),
        reduced_isolation: Vec::new(),
    };
    let start = Start {
        invocation: "01JCQZX8V5T3M9N4K2B7R6W1AD".to_owned(),
        hostname: "stockade-01jcqzx8".to_owned(),
        unowned: HostIds { uid: 5, gid: 6 },
        sources: vec![source("/srv/session", FileKind::Directory, 4)],
        argv: vec!["true".into()],
        summary: "cage[default@01JCQZX8]".to_owned(),
        watch: Watch::Nothing,
    };
    Plan { version: PLAN_VERSION, walls, start }
}
