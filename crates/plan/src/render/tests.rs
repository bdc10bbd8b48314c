//! Renderings of small Plans; whole ones are pinned where policies are compiled.

use super::*;
use crate::sample::{bind, directory, file, guest, mask, plan, symlink, tmpfs};
use crate::{
    Access, BindPurpose, ByteString, EnvironmentVariable, FileKind, GatekeeperPlan, HostIds,
    IdentityMap, LimitsPlan, Mapping, MountOp, NetworkPlan, Plan, TmpfsPurpose,
};

fn arguments(plan: &Plan) -> String {
    let words: Vec<String> = bwrap(plan, 5).argv.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// The part between the fixed beginning and the remounts.
#[track_caller]
fn check(mounts: Vec<MountOp>, expected: &str) {
    let all = arguments(&plan(mounts));
    let (_, rest) = all.split_once("--cap-drop ALL ").unwrap();
    let (mounts, _) = rest.split_once("--clearenv").unwrap();
    assert_eq!(mounts.trim(), expected);
}

/// K1, K33, K34, K35, K39, K40
#[test]
fn each_operation_has_its_words() {
    let read_only = |at: &str| bind(0, at, Access::ReadOnly, BindPurpose::Grant);
    check(vec![], "--remount-ro /");
    check(vec![directory("/a")], "--perms 0755 --dir /a --remount-ro /");
    check(vec![symlink("/a", "b/c")], "--symlink b/c /a --remount-ro /");
    check(vec![file("/a")], "--perms 0644 --ro-bind-data 5 /a --remount-ro /");
    check(vec![directory("/a"), read_only("/a")], "--ro-bind /srv/project /a --remount-ro /");
    check(
        vec![file("/a"), bind(1, "/a", Access::ReadWrite, BindPurpose::Grant)],
        "--bind /srv/file /a --remount-ro /",
    );
    check(
        vec![directory("/a"), tmpfs("/a", TmpfsPurpose::Private)],
        "--perms 0755 --size 1048576 --tmpfs /a --remount-ro /",
    );
    check(
        vec![
            directory("/a"),
            tmpfs("/a", TmpfsPurpose::Hidden),
            directory("/a/b"),
            read_only("/a/b"),
        ],
        "--perms 0755 --size 1048576 --tmpfs /a --ro-bind /srv/project /a/b --remount-ro /a \
         --remount-ro /",
    );
    check(
        vec![
            directory("/a"),
            read_only("/a"),
            mask("/a/b", FileKind::Directory),
            mask("/a/c", FileKind::File),
        ],
        "--ro-bind /srv/project /a --perms 0555 --size 4096 --tmpfs /a/b --perms 0444 \
         --ro-bind-data 5 /a/c --remount-ro /a/b --remount-ro /",
    );
    check(
        vec![directory("/proc"), MountOp::Proc { at: guest("/proc") }],
        "--proc /proc --remount-ro /",
    );
    check(
        vec![
            directory("/dev"),
            tmpfs("/dev", TmpfsPurpose::Devices),
            file("/dev/null"),
            bind(2, "/dev/null", Access::ReadOnly, BindPurpose::Device),
            symlink("/dev/fd", "/proc/self/fd"),
            directory("/dev/pts"),
            MountOp::Devpts { at: guest("/dev/pts") },
            directory("/dev/shm"),
            tmpfs("/dev/shm", TmpfsPurpose::Private),
        ],
        "--dev /dev --perms 0755 --size 1048576 --tmpfs /dev/shm --remount-ro /dev --remount-ro /",
    );
}

/// K41, K42, K43, K44, K45
#[test]
fn the_rest_is_always_there() {
    let plan = plan(Vec::new());
    assert_eq!(
        arguments(&plan),
        "bwrap --unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts \
         --unshare-cgroup --disable-userns --uid 1000 --gid 1000 --hostname stockade-01jcqzx8 \
         --die-with-parent --new-session --cap-drop ALL --remount-ro / --clearenv \
         --setenv HOME /home/dev --setenv PATH /usr/bin --chdir / --seccomp 5 -- true"
    );
}

/// K27: every file descriptor that is named has its contents, and no other.
#[test]
fn file_descriptors_are_numbered_upward() {
    let mut files = vec![file("/a"), file("/b")];
    if let Some(MountOp::File { contents, .. }) = files.last_mut() {
        *contents = ByteString::from("text");
    }
    let plan = plan(files);
    let command = bwrap(&plan, 7);
    let descriptors: Vec<i32> = command.data.iter().map(|(descriptor, _)| *descriptor).collect();
    assert_eq!(descriptors, [7, 8, 9]);
    assert_eq!(command.seccomp_fd, 9);
    assert_eq!(command.data[1].1, ByteString::from("text"));
    assert_eq!(command.data[2].1.as_bytes(), plan.walls.seccomp.without_notify.to_bytes());
}

/// M20, M47, M50, M51, M52, M53, M54, M81, M82, M85: nothing but words, in the order of the document.
#[test]
fn a_command_line_can_be_complete_in_itself() {
    let plan = plan(vec![file("/a"), mask("/b", FileKind::File)]);
    let alone = |network| {
        let BwrapAlone { argv, gaps } = bwrap_alone(&plan, network);
        let words: Vec<String> = argv.iter().map(ToString::to_string).collect();
        (words.join(" "), gaps)
    };
    let always = "--uid 1000 --gid 1000 --hostname stockade-01jcqzx8 --cap-drop ALL --unshare-user \
                  --disable-userns --unshare-ipc --unshare-uts --unshare-pid --unshare-cgroup-try \
                  --die-with-parent --new-session -- true";
    let process =
        "--remount-ro / --clearenv --setenv HOME /home/dev --setenv PATH /usr/bin --chdir /";
    let (own, gaps) = alone(NetworkNamespace::Own);
    assert_eq!(own, format!("bwrap --ro-bind /dev/null /b {process} --unshare-net {always}"));
    let has = |gaps: &[String], word: &str| gaps.iter().any(|gap| gap.contains(word));
    assert!(has(&gaps, "no filter of system calls") && has(&gaps, "there is no `/a`"), "{gaps:?}");
    assert!(!has(&gaps, "this machine's network"));
    let (shared, gaps) = alone(NetworkNamespace::Shared);
    assert!(!shared.contains("--unshare-net") && shared.contains("--ro-bind-try /etc/resolv.conf"));
    assert!(shared.ends_with(always) && has(&gaps, "this machine's network"));
}

/// K45: bubblewrap gives the cage the rights of whoever starts it.
#[test]
fn a_privileged_plan_names_who_must_start_it() {
    let mut plan = plan(Vec::new());
    let ids = HostIds { uid: 1_900_000_001, gid: 1_900_000_001 };
    plan.walls.identity.map = IdentityMap::Unowned;
    plan.start.unowned = ids;
    assert_eq!(bwrap(&plan, 3).start_as, ids);
}

/// K1: nothing is left out silently.
#[test]
fn gaps_are_named() {
    let has = |plan: &Plan, word: &str| bwrap_gaps(plan).iter().any(|gap| gap.contains(word));
    let closed = plan(Vec::new());
    for word in ["owner", "network", "limit on memory", "/proc", "landlock", "run programs"] {
        assert!(!has(&closed, word), "{word}");
    }
    let mut open = plan(vec![directory("/a"), bind(0, "/a", Access::ReadOnly, BindPurpose::Grant)]);
    if let Some(MountOp::Bind(bind)) = open.walls.mounts.last_mut() {
        bind.mapping = Mapping::Owner { uid: 1, gid: 1 };
    }
    open.walls.network = NetworkPlan::Gatekeeper(GatekeeperPlan {
        allow: vec!["a.test".parse().unwrap()],
        host_ports: vec![5432],
        publish: vec![8080],
        ..GatekeeperPlan::default()
    });
    open.walls.limits = LimitsPlan { pids: Some(3), ..LimitsPlan::default() };
    for word in ["owner", "network", "limit on memory", "can be reached", "is offered"] {
        assert!(has(&open, word), "{word}");
    }
}

/// K57, T53: nothing in a Plan can move the cursor of whoever reads the page.
#[test]
fn the_page_is_plain_text() {
    let mut plan = plan(vec![
        directory("/a\u{1b}[31m\u{202e}"),
        bind(0, "/a\u{1b}[31m\u{202e}", Access::ReadOnly, BindPurpose::Grant),
    ]);
    plan.start.argv = vec!["sh".into(), "-c".into(), "echo 'x'\n\u{7}".into()];
    let page = person(&plan);
    assert!(page.contains("read-only   /a\\x1b[31m\\xe2\\x80\\xae\n"), "{page}");
    assert!(page.contains("program     sh -c $'echo \\'x\\'\\n\\x07'\n"), "{page}");
    assert!(page.lines().all(|line| !line.ends_with(' ')));
    assert!(page.chars().all(|character| character == '\n' || !character.is_control()));
}

/// A page is what people paste into reports.
#[test]
fn values_of_secrets_are_not_on_the_page() {
    let variable = |name: &str, value: &str| EnvironmentVariable {
        name: ByteString::from(name),
        value: ByteString::from(value),
    };
    let mut plan = plan(vec![]);
    plan.walls.environment = vec![
        variable("EMPTY_TOKEN", ""),
        variable("KEYBOARD", "keys"),
        variable("SERVICE_API_KEY", "s3cret"),
        variable("github_token", "s3cret"),
    ];
    let page = person(&plan);
    assert!(!page.contains("s3cret"), "{page}");
    for line in ["EMPTY_TOKEN=\n", "KEYBOARD=keys\n", "SERVICE_API_KEY=(not shown)\n"] {
        assert!(page.contains(line), "{page}");
    }
}
