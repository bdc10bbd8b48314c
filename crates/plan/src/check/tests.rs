//! Each invariant has a Plan that breaks it and nothing else.

use super::*;
use crate::sample::{bind, directory, file, guest, mask, plan, symlink, tmpfs};
use crate::{ByteString, Execution, HostIds, TmpfsSize};

/// Breaks one thing.
type Change = fn(&mut Plan);

use Access::{ReadOnly, ReadWrite};
use BindPurpose::{Base, Device, Grant, Pin, Protected, Scratch};

#[track_caller]
fn check(mounts: Vec<MountOp>, expected: Result<(), &str>) {
    let found = plan(mounts).check().map_err(|defect| defect.to_string());
    assert_eq!(found, expected.map_err(str::to_owned));
}

/// K236, T60
#[test]
fn operations_are_ordered_parent_first() {
    let given = || vec![directory("/p"), bind(0, "/p", ReadWrite, Grant)];
    let with = |more: MountOp| given().into_iter().chain([more]).collect::<Vec<_>>();
    check(given(), Ok(()));
    check(with(bind(0, "/p/a/b", ReadOnly, Grant)), Ok(()));
    check(with(mask("/p/a", FileKind::Directory)), Ok(()));
    check(with(MountOp::SealReadOnly { at: guest("/p/a") }), Ok(()));
    check(vec![directory("/a"), symlink("/a/l", "x"), file("/a/f")], Ok(()));
    check(
        vec![
            directory("/p"),
            tmpfs("/p", TmpfsPurpose::Hidden),
            directory("/p/a"),
            bind(0, "/p/a", ReadOnly, Grant),
        ],
        Ok(()),
    );

    let at = |path: &str, problem: &str| format!("the mount operation at `{path}` {problem}");
    let cases = [
        (vec![bind(0, "/p", ReadOnly, Grant)], at("/p", "has no mount point")),
        (vec![directory("/p/a")], at("/p/a", "lies in a directory that nothing made")),
        (vec![directory("/p"), directory("/p")], at("/p", "makes a name that is already there")),
        (with(directory("/p/a")), at("/p/a", "makes a name outside a memory file system")),
        (with(file("/p/a")), at("/p/a", "makes a name outside a memory file system")),
        (
            with(bind(0, "/p", ReadOnly, Grant)),
            at("/p", "covers an earlier one, or is of another kind"),
        ),
        (
            vec![file("/p"), bind(0, "/p", ReadOnly, Grant)],
            at("/p", "covers an earlier one, or is of another kind"),
        ),
        (
            vec![directory("/p"), bind(1, "/p", ReadOnly, Grant)],
            at("/p", "covers an earlier one, or is of another kind"),
        ),
        (
            vec![symlink("/p", "q"), bind(0, "/p", ReadOnly, Grant)],
            at("/p", "covers an earlier one, or is of another kind"),
        ),
        (
            vec![symlink("/p", "q"), directory("/p/a")],
            at("/p/a", "lies in a directory that nothing made"),
        ),
        (
            vec![directory("/p"), directory("/p/a"), tmpfs("/p", TmpfsPurpose::Hidden)],
            at("/p", "hides an earlier one below it"),
        ),
        (
            vec![
                directory("/p"),
                directory("/p/a"),
                bind(0, "/p/a", ReadOnly, Grant),
                bind(0, "/p", ReadWrite, Grant),
            ],
            at("/p", "hides an earlier one below it"),
        ),
        (
            vec![
                directory("/p"),
                mask("/p", FileKind::Directory),
                bind(0, "/p/a", ReadOnly, Grant),
            ],
            at("/p/a", "lies below something that holds no names"),
        ),
        (
            vec![file("/p"), bind(1, "/p", ReadOnly, Grant), bind(0, "/p/a", ReadOnly, Grant)],
            at("/p/a", "lies below something that holds no names"),
        ),
        (vec![tmpfs("/", TmpfsPurpose::Hidden)], at("/", "is the root itself")),
        (
            vec![directory("/p"), MountOp::MaskIfPresent { at: guest("/p") }],
            at("/p", "covers a name of the cage's own memory file system"),
        ),
    ];
    for (mounts, problem) in cases {
        check(mounts, Err(&problem));
    }
}

/// T60: a neighbour whose name begins alike is not below.
#[test]
fn neighbours_do_not_hide_each_other() {
    let mounts = vec![
        directory("/a-b"),
        bind(0, "/a-b", ReadOnly, Grant),
        directory("/a"),
        bind(0, "/a", ReadOnly, Grant),
    ];
    check(mounts, Ok(()));
}

/// K45, K221, K227, V15
#[test]
fn binds_keep_to_their_purpose() {
    let below = |operation: MountOp| vec![directory("/p"), operation];
    let dev = |path: &str, operation| vec![directory("/dev"), file(path), operation];
    let scratch = |operation: MountOp| vec![directory("/scratch"), operation];
    check(dev("/dev/null", bind(2, "/dev/null", ReadOnly, Device)), Ok(()));
    check(scratch(bind(3, "/scratch", ReadWrite, Scratch)), Ok(()));
    check(scratch(tmpfs("/scratch", TmpfsPurpose::Scratch)), Ok(()));
    check(
        below(tmpfs("/p", TmpfsPurpose::Scratch)),
        Err("the mount operation at `/p` is not where scratch files are"),
    );
    let not_fixed = "is not one of the fixed devices";
    let cases = [
        (dev("/dev/kmem", bind(2, "/dev/kmem", ReadOnly, Device)), "/dev/kmem", not_fixed),
        (dev("/dev/null", bind(1, "/dev/null", ReadOnly, Device)), "/dev/null", not_fixed),
        (below(bind(0, "/p", ReadWrite, Base)), "/p", "makes the base layer writable"),
        (
            below(bind(0, "/p", ReadWrite, BindPurpose::Command)),
            "/p",
            "makes the base layer writable",
        ),
        (below(bind(0, "/p", ReadWrite, Protected)), "/p", "makes a protected file writable"),
        (vec![file("/p"), bind(1, "/p", ReadWrite, Pin)], "/p", "pins a file"),
        (below(bind(3, "/p", ReadWrite, Scratch)), "/p", "is not where scratch files are"),
        (below(bind(3, "/p", ReadOnly, Grant)), "/p", ANOTHER_START),
        (scratch(bind(0, "/scratch", ReadWrite, Scratch)), "/scratch", ANOTHER_START),
    ];
    for (mounts, at, problem) in cases {
        check(mounts, Err(&format!("the bind at `{at}` {problem}")));
    }
    check(
        below(bind(4, "/p", ReadOnly, Grant)),
        Err("`/p` refers to source 4, which does not exist"),
    );
    let owned = |map| {
        let mut plan = plan(below(bind(0, "/p", ReadOnly, Grant)));
        if let Some(MountOp::Bind(bind)) = plan.walls.mounts.last_mut() {
            bind.mapping = Mapping::Owner { uid: 0, gid: 0 };
        }
        plan.walls.identity.map = map;
        plan.check().is_ok()
    };
    let ids = HostIds { uid: 1_900_000_001, gid: 1_900_000_001 };
    assert!(owned(IdentityMap::Unowned));
    assert!(!owned(IdentityMap::Caller(ids)));
}

/// T12, T60: what lies below a layer is the host's, and what lies above is ours.
#[test]
fn overlays_keep_to_their_layers() {
    let overlay = |lower: u32, area: u32| {
        let (lower, area) = (SourceIndex(lower), SourceIndex(area));
        let (at, mapping) = (guest("/p"), Mapping::Plain);
        let purpose = crate::OverlayPurpose::Workspace;
        vec![directory("/p"), MountOp::Overlay(Overlay { lower, area, at, mapping, purpose })]
    };
    let problem = |text: &str| format!("the mount operation at `/p` {text}");
    check(overlay(0, 3), Ok(()));
    let twisted = problem("takes a layer from the host, or shows what is ours");
    check(overlay(3, 0), Err(&twisted));
    check(overlay(0, 0), Err(&twisted));
    check(overlay(1, 3), Err(&problem("lays a layer over a file, or a file over something")));
    check(overlay(0, 4), Err("`/p` refers to source 4, which does not exist"));
    check(vec![MountOp::Overlay(overlay_of_first())], Err(&problem("has no mount point")));
}

fn overlay_of_first() -> Overlay {
    Overlay {
        lower: SourceIndex(0),
        area: SourceIndex(3),
        at: guest("/p"),
        mapping: Mapping::Plain,
        purpose: crate::OverlayPurpose::Cache,
    }
}

/// K9, K45
#[test]
fn no_id_is_ever_root() {
    for (field, change) in [
        ("user id inside", (|plan| plan.walls.identity.uid = 0) as fn(&mut Plan)),
        ("group id inside", |plan| plan.walls.identity.gid = 0),
        ("user id on the host", |plan| {
            plan.walls.identity.map = IdentityMap::Caller(HostIds { uid: 0, gid: 1 });
        }),
        ("group id on the host", |plan| {
            plan.walls.identity.map = IdentityMap::Unowned;
            plan.start.unowned = HostIds { uid: 1, gid: 0 };
        }),
    ] {
        let mut plan = plan(Vec::new());
        change(&mut plan);
        assert_eq!(plan.check(), Err(PlanDefect::RootId { field }));
    }
}

/// K11, V12
#[test]
fn fields_are_in_range() {
    let cases: &[(Change, &str)] = &[
        (|plan| plan.start.argv.clear(), "there is no program to start"),
        (|plan| plan.start.argv = vec!["".into()], "there is no program to start"),
        (|plan| plan.start.argv.push("a\0b".into()), "the command line has a NUL byte"),
        (|plan| plan.walls.umask = 0o1000, "the umask is 512, outside its range"),
        (|plan| plan.walls.cage = "a/b".to_owned(), "the cage name `a/b` is not one"),
        (|plan| plan.walls.cage.clear(), "the cage name `` is not one"),
        (|plan| plan.walls.cage = "x".repeat(65), LONG_NAME),
        (
            |plan| plan.start.invocation = "../../etc".to_owned(),
            "the invocation `../../etc` is not one",
        ),
        (|plan| plan.start.hostname = "a\nb".to_owned(), "the host name `a\\nb` is not one"),
        (|plan| plan.walls.identity.user = "a:b".to_owned(), "the user name `a:b` is not one"),
        (
            |plan| plan.walls.environment.reverse(),
            "the variable `HOME` is unnamed, unsorted, repeated or has `=` in its name",
        ),
        (
            |plan| plan.walls.environment[1].name = "HOME".into(),
            "the variable `HOME` is unnamed, unsorted, repeated or has `=` in its name",
        ),
        (
            |plan| plan.walls.environment[0].name = "A=B".into(),
            "the variable `A=B` is unnamed, unsorted, repeated or has `=` in its name",
        ),
        (
            |plan| plan.walls.environment[0].name = "".into(),
            "the variable `` is unnamed, unsorted, repeated or has `=` in its name",
        ),
        (|plan| plan.walls.environment[0].value = "\0".into(), "the environment has a NUL byte"),
        (|plan| plan.walls.limits.pids = Some(0), "the process limit is 0, outside its range"),
        (
            |plan| plan.walls.limits.cpu_weight = Some(10_001),
            "the processor weight is 10001, outside its range",
        ),
        (
            |plan| plan.walls.identity.uid = u32::MAX,
            "the user id inside is 4294967295, outside its range",
        ),
        (
            |plan| plan.walls.mounts = vec![MountOp::Directory { at: guest("/a"), mode: 0o4755 }],
            "the permission bits is 2541, outside its range",
        ),
        (
            |plan| {
                let (at, contents) = (guest("/a"), ByteString::default());
                plan.walls.mounts = vec![MountOp::File { at, mode: 0o1644, contents }];
            },
            "the permission bits is 932, outside its range",
        ),
        (
            |plan| plan.walls.mounts = vec![symlink("/a", "")],
            "the mount operation at `/a` has an impossible link target",
        ),
        (|plan| plan.walls.mounts = vec![symlink("/a", "\0")], "the link target has a NUL byte"),
        (
            |plan| plan.walls.mounts = vec![directory("/a"), unbounded(0, 1)],
            "the memory file system size is 0, outside its range",
        ),
        (
            |plan| plan.walls.mounts = vec![directory("/a"), unbounded(4096, 0)],
            "the memory file system inodes is 0, outside its range",
        ),
    ];
    for (change, message) in cases {
        let mut plan = plan(Vec::new());
        assert_eq!(plan.check(), Ok(()));
        change(&mut plan);
        assert_eq!(plan.check().unwrap_err().to_string(), *message);
    }
}

const ANOTHER_START: &str =
    "has a source that is for files of the cage's own alone, or none that is";

fn unbounded(bytes: u64, inodes: u64) -> MountOp {
    let size = TmpfsSize { bytes, inodes };
    let (execution, purpose) = (Execution::Allowed, TmpfsPurpose::Private);
    MountOp::Tmpfs { at: guest("/a"), mode: 0o755, size, execution, purpose }
}

const LONG_NAME: &str =
    "the cage name `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` is not one";

/// K25
#[test]
fn ports_lead_one_way_and_are_free() {
    let many: Vec<u16> = (2000..2049).collect();
    let most = many.get(1..).unwrap();
    for (host_ports, publish, expected) in [
        (&[80, 5432][..], &[443, 8080][..], Ok(())),
        (most, &[], Ok(())),
        (&many, &[], Err("the number of ports is 49, outside its range")),
        (&[0], &[], Err("port 0 of the host ports is 0, unsorted or repeated")),
        (&[2, 1], &[], Err("port 1 of the host ports is 0, unsorted or repeated")),
        (&[], &[1, 1], Err("port 1 of the published ports is 0, unsorted or repeated")),
        (&[53], &[], Err("port 53 of the host ports is the gatekeeper's own")),
        (&[], &[15001], Err("port 15001 of the published ports is the gatekeeper's own")),
        (&[1, 2], &[2], Err("port 2 of the published ports is also a host port")),
    ] {
        let mut plan = plan(Vec::new());
        plan.walls.network = crate::NetworkPlan::Gatekeeper(crate::GatekeeperPlan {
            host_ports: host_ports.to_vec(),
            publish: publish.to_vec(),
            ..crate::GatekeeperPlan::default()
        });
        let found = plan.check().map_err(|defect| defect.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }
}
