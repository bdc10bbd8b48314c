//! What the compiler promises about any policy, on a made-up host.

use std::collections::BTreeMap;

use crate::fake_host::{FakeHost, HOME, PROJECT, guest, host, invocation};
use plan::{
    Access, Bind, BindPurpose, ByteString, FileKind, GuestPath, HostIds, Mapping, MountOp,
    NetworkPlan, NotByKernel, Plan,
};
use proptest::prelude::*;
use stockade_policy::compile::RuleConflict;
use stockade_policy::{
    Commands, CompileError, EnvironmentRule, FsAccess, FsRule, HostFacts, Invocation, Network,
    Policy, Reach, RuleOrigin, Seccomp, State, compile,
};

use FsAccess::{Cow, Hide, ReadOnly, ReadWrite};

fn rule(access: FsAccess, path: &str, reach: Reach) -> FsRule {
    let path = if path.starts_with('/') {
        host(path)
    } else if path == "." {
        host(PROJECT)
    } else {
        host(PROJECT).join(path).unwrap()
    };
    let origin = RuleOrigin::Flag(format!("--{} {path}", access.word()));
    FsRule { access, path, reach, origin }
}

fn policy(rules: &[(FsAccess, &str)]) -> Policy {
    let fs = rules.iter().map(|(access, path)| rule(*access, path, Reach::Anywhere)).collect();
    Policy { fs, ..Policy::closed("default") }
}

fn compiled(rules: &[(FsAccess, &str)]) -> Plan {
    let (policy, host) = (policy(rules), FakeHost::default());
    compile(&policy, &host.resolve(&policy), &invocation()).unwrap()
}

fn refused(rules: &[(FsAccess, &str)]) -> CompileError {
    let (policy, host) = (policy(rules), FakeHost::default());
    compile(&policy, &host.resolve(&policy), &invocation()).unwrap_err()
}

/// What the finished tree allows at a path of the project, worked out from the operations alone.
fn effective(plan: &Plan, at: &GuestPath) -> FsAccess {
    let mut result = Hide;
    for operation in plan.walls.mounts.iter().filter(|operation| at.is_within(operation.at())) {
        result = match operation {
            MountOp::Bind(Bind { access: Access::ReadWrite, .. }) => ReadWrite,
            MountOp::Bind(_) => ReadOnly,
            MountOp::Tmpfs { .. } | MountOp::Mask { .. } => Hide,
            _ => result,
        };
    }
    result
}

fn position(plan: &Plan, at: &str) -> Option<usize> {
    plan.walls
        .mounts
        .iter()
        .position(|operation| operation.is_mount() && *operation.at() == guest(at))
}

/// A19: a view that the kernel cannot make is served. What is hidden in it and what is only read is told to who serves it,
/// and nothing is mounted inside or looked for there, because nobody answers before the gate.
#[test]
fn a_served_view_holds_its_rules_itself() {
    let served = |rules: &[(FsAccess, &str)]| {
        let policy = policy(rules);
        let mut facts = FakeHost::default().resolve(&policy);
        let lower = facts.kept.layers[0].0;
        facts.kept.served.insert(lower, NotByKernel::OtherOwner { uid: 7 });
        let device = facts.sources.iter().position(|source| source.kind == FileKind::File);
        facts.fuse = Some(plan::SourceIndex(u32::try_from(device.unwrap()).unwrap()));
        compile(&policy, &facts, &invocation())
    };
    let plan = served(&[(Cow, "."), (Hide, "secrets"), (ReadOnly, "secrets/public")]).unwrap();
    let view = plan.walls.mounts.iter().find_map(MountOp::served).unwrap();
    let layers = view.from.layers().unwrap();
    let texts = |paths: &[ByteString]| {
        let texts = paths.iter().map(|path| String::from_utf8(path.as_bytes().to_vec()).unwrap());
        texts.collect::<Vec<_>>()
    };
    assert!(texts(&layers.hidden).contains(&"secrets".to_owned()), "{:?}", layers.hidden);
    assert_eq!(texts(&layers.read_only), ["secrets/public"]);
    let inside = |at: &GuestPath| at.is_within(&view.at) && *at != view.at;
    let mounts = plan.walls.mounts.iter().map(MountOp::at).filter(|at| inside(at));
    assert_eq!(mounts.collect::<Vec<_>>(), Vec::<&GuestPath>::new());
    assert!(!plan.walls.must_exist.iter().any(inside));
    assert!(plan.one_line().contains("cow:/home/dev/project"));
    match served(&[(Cow, "."), (ReadWrite, "docs")]).unwrap_err() {
        CompileError::Rules(conflicts) => {
            assert!(matches!(conflicts[..], [RuleConflict::InsideServed { .. }]), "{conflicts:?}");
        }
        other => panic!("{other}"),
    }
}

/// K236: two ways to one place must agree.
#[test]
fn contradicting_rules_are_told_together() {
    let error = refused(&[
        (ReadOnly, "vendor"),
        (ReadWrite, "third/party"),
        (ReadOnly, "src"),
        (Hide, "src"),
    ]);
    assert_eq!(
        error.to_string(),
        "`/home/dev/project/third/party` is `ro` by --ro /home/dev/project/vendor and `rw` by \
         --rw /home/dev/project/third/party, which lead to the same place\n\
         `/home/dev/project/src` is `ro` by --ro /home/dev/project/src and `hide` by \
         --hide /home/dev/project/src, which lead to the same place"
    );
    let same = compiled(&[(ReadOnly, "vendor"), (ReadOnly, "third/party")]);
    assert_eq!(same.walls.mounts.iter().filter_map(MountOp::grant).count(), 1);
}

/// K226, T64
#[test]
fn the_system_is_never_writable() {
    for path in ["/usr", "/usr/share", "/usr/bin/cat", "/etc"] {
        let error = refused(&[(ReadWrite, path)]);
        let CompileError::Rules(conflicts) = &error else { panic!("{error:?}") };
        assert!(
            matches!(conflicts.as_slice(), [RuleConflict::WritableSystem { .. }]),
            "{path}: {error}"
        );
    }
    // What people build there is theirs.
    let plan = compiled(&[(ReadWrite, "/usr/src/app")]);
    assert_eq!(effective(&plan, &guest("/usr/src/app/index.js")), ReadWrite);
    assert_eq!(effective(&plan, &guest("/usr/bin/cat")), ReadOnly);
    // Beside the entries of `/etc` that every cage has, others can be granted.
    let plan = compiled(&[(ReadWrite, "/etc/nginx")]);
    assert_eq!(effective(&plan, &guest("/etc/nginx/nginx.conf")), ReadWrite);
}

/// K35, K36, K40
#[test]
fn places_of_the_cage_stay_its_own() {
    for path in ["/scratch", "/tmp", "/run"] {
        let error = refused(&[(ReadOnly, path)]);
        let CompileError::Rules(conflicts) = &error else { panic!("{error:?}") };
        assert!(matches!(conflicts.as_slice(), [RuleConflict::OwnPlace { .. }]), "{error}");
    }
    let plan = compiled(&[(ReadWrite, "/scratch/big"), (ReadOnly, "/tmp/work/in")]);
    assert!(position(&plan, "/scratch") < position(&plan, "/scratch/big"));
    assert!(position(&plan, "/tmp") < position(&plan, "/tmp/work/in"));
    let policy = Policy { state: State::Scratch, ..policy(&[(ReadWrite, "/scratch/big")]) };
    let facts = FakeHost::default().resolve(&policy);
    assert!(matches!(compile(&policy, &facts, &invocation()), Err(CompileError::Rules(_))));
}

/// K28, K37, K38: what is to be kept is kept or refused, never silently dropped.
#[test]
fn a_kept_scratch_needs_a_directory() {
    let policy = Policy { state: State::Scratch, ..policy(&[]) };
    let mut facts = FakeHost::default().resolve(&policy);
    assert!(compile(&policy, &facts, &invocation()).unwrap().keeps_scratch());
    facts.kept.scratch = None;
    assert_eq!(compile(&policy, &facts, &invocation()), Err(CompileError::NotKept("`/scratch`")));
}

/// T3, K227: whatever lies above a hidden or protected path in a read-write grant is pinned.
#[test]
fn nothing_above_a_hidden_path_can_be_renamed() {
    let plan = compiled(&[(ReadWrite, "."), (Hide, "deep/er/still/file"), (ReadOnly, "docs/a/b")]);
    let pinned: Vec<String> = plan
        .walls
        .mounts
        .iter()
        .filter_map(|operation| match operation {
            MountOp::Bind(Bind { at, purpose: BindPurpose::Pin, access, .. }) => {
                assert_eq!(*access, Access::ReadWrite);
                Some(at.to_string())
            }
            _ => None,
        })
        .collect();
    let expected = [".git", "deep", "deep/er", "deep/er/still", "docs", "docs/a"]
        .map(|path| format!("{PROJECT}/{path}"));
    assert_eq!(pinned, expected);
    let read_only = compiled(&[(ReadOnly, "."), (Hide, "deep/er/still/file")]);
    let is_pin = |operation: &MountOp| {
        matches!(operation, MountOp::Bind(Bind { purpose: BindPurpose::Pin, .. }))
    };
    assert!(!read_only.walls.mounts.iter().any(is_pin));
}

/// K227, T5: a project's own file cannot lift the protection; the user can.
#[test]
fn protection_is_lifted_by_the_user_alone() {
    let host = FakeHost::default();
    let with = |reach| {
        let fs = vec![
            rule(ReadWrite, ".", Reach::BeneathProject),
            rule(ReadWrite, ".git/hooks/pre-commit.sample", reach),
        ];
        let policy = Policy { fs, ..Policy::closed("default") };
        let mut facts = host.resolve(&policy);
        // The directory itself is protected, whatever a rule says about a file in it.
        let protected = facts.protected.iter().any(|found| {
            let index = usize::try_from(found.source.0).unwrap();
            facts.sources[index].path == crate::fake_host::host("/home/dev/project/.git/hooks")
        });
        assert!(protected, "{:?}", facts.protected);
        facts.protected.retain(|found| {
            let index = usize::try_from(found.source.0).unwrap();
            !facts.sources[index].path.as_bytes().ends_with(b".sample")
        });
        let plan = compile(&policy, &facts, &invocation()).unwrap();
        effective(&plan, &guest("/home/dev/project/.git/hooks/pre-commit.sample"))
    };
    assert_eq!(with(Reach::BeneathProject), ReadOnly);
    assert_eq!(with(Reach::Anywhere), ReadWrite);
}

/// K45, T64: only what is the caller's is mapped, and only for a privileged caller.
#[test]
fn owners_are_mapped_for_root_alone() {
    let rules = policy(&[(ReadWrite, "."), (ReadOnly, "/srv/data")]);
    let mappings = |privileged| {
        let host = FakeHost { privileged, ..FakeHost::default() };
        let plan = compile(&rules, &host.resolve(&rules), &invocation()).unwrap();
        let mapping = |wanted: &str| {
            plan.walls.mounts.iter().find_map(|operation| match operation {
                MountOp::Bind(Bind { at, mapping, .. }) if *at == guest(wanted) => Some(*mapping),
                _ => None,
            })
        };
        (mapping(PROJECT), mapping("/srv/data"), mapping("/usr"), plan.host_ids())
    };
    let plain = Some(Mapping::Plain);
    let caller = HostIds { uid: 1001, gid: 1001 };
    assert_eq!(mappings(false), (plain, plain, plain, caller));
    let owner = Some(Mapping::Owner { uid: 1001, gid: 1001 });
    assert_eq!(mappings(true), (owner, plain, plain, invocation().unowned));
}

/// K45
#[test]
fn a_cage_is_never_root() {
    let policy = policy(&[]);
    let mut facts = FakeHost::default().resolve(&policy);
    for ids in [HostIds { uid: 0, gid: 5 }, HostIds { uid: 5, gid: 0 }] {
        facts.caller.ids = ids;
        let error = compile(&policy, &facts, &invocation()).unwrap_err();
        let HostIds { uid, gid } = ids;
        assert_eq!(error, CompileError::RootWithoutPrivilege { uid, gid });
    }
}

/// K65: what should be impossible says whose mistake it is.
#[test]
fn impossible_input_is_called_a_bug() {
    let rules = policy(&[(ReadOnly, ".")]);
    let good = FakeHost::default().resolve(&rules);
    let broken: [fn(&mut HostFacts); 3] = [
        |facts| facts.rules.clear(),
        |facts| facts.sources.clear(),
        |facts| facts.sources.truncate(2),
    ];
    for change in broken {
        let mut facts = good.clone();
        change(&mut facts);
        let error = compile(&rules, &facts, &invocation()).unwrap_err();
        assert!(matches!(error, CompileError::Bug(_)), "{error:?}");
        assert!(error.to_string().contains("this is a bug in stockade"), "{error}");
    }
    let other = Invocation { id: "../x".to_owned(), ..invocation() };
    assert!(matches!(compile(&rules, &good, &other), Err(CompileError::Bug(_))));
}

/// K11
#[test]
fn there_is_always_a_program() {
    let rules = policy(&[]);
    let facts = FakeHost::default().resolve(&rules);
    let start = |argv: &[&str]| {
        let argv = argv.iter().map(|word| ByteString::from(*word)).collect();
        compile(&rules, &facts, &Invocation { argv, ..invocation() }).map(|_| ())
    };
    assert_eq!(start(&["true"]), Ok(()));
    assert_eq!(start(&[]), Err(CompileError::NoProgram));
    assert_eq!(start(&[""]), Err(CompileError::NoProgram));
    assert_eq!(start(&["a", "b\0c"]), Err(CompileError::NulInArgument));
}

/// V12, T50: nothing of the caller's environment but what is named.
#[test]
fn the_environment_is_new() {
    let variable = |value: Option<&str>| EnvironmentRule {
        value: value.map(ByteString::from),
        origin: RuleOrigin::BuiltIn("test"),
    };
    let env = BTreeMap::from([
        ("PATH".to_owned(), variable(Some("/opt/bin"))),
        ("HOME".to_owned(), variable(Some("/evil"))),
        ("TERM".to_owned(), variable(None)),
        ("ABSENT".to_owned(), variable(None)),
    ]);
    let rules = Policy { env, commands: Commands::None, ..policy(&[(ReadOnly, ".")]) };
    let mut facts = FakeHost::default().resolve(&rules);
    facts.environment.push(("SSH_AUTH_SOCK".to_owned(), "/run/agent".into()));
    let plan = compile(&rules, &facts, &invocation()).unwrap();
    let variables: Vec<String> = plan
        .walls
        .environment
        .iter()
        .map(|variable| format!("{}={}", variable.name, variable.value))
        .collect();
    assert_eq!(
        variables,
        [
            "HOME=/home/dev",
            "LANG=C.UTF-8",
            "LOGNAME=agent",
            "PATH=/opt/bin",
            "PWD=/home/dev/project",
            "STOCKADE_CAGE=default",
            "TERM=xterm-256color",
            "TMPDIR=/tmp",
            "USER=agent",
        ]
    );
}

/// K42, K25, K49, K52, K139
#[test]
fn the_rest_of_a_policy_arrives() {
    let plan = compiled(&[]);
    assert_eq!(plan.start.hostname, "stockade-01jcqzx8");
    assert_eq!(plan.walls.network, NetworkPlan::Loopback);
    assert!(plan.walls.reduced_isolation.is_empty());
    let relaxed = Policy { seccomp: Seccomp::Relaxed, ..policy(&[]) };
    let facts = FakeHost::default().resolve(&relaxed);
    let plan = compile(&relaxed, &facts, &invocation()).unwrap();
    assert_eq!(plan.walls.seccomp.profile, plan::seccomp::Profile::Relaxed);
    assert_eq!(plan.walls.reduced_isolation.len(), 1);
}

/// K25, K49, K79: a gatekeeper exactly where something is to be reached, and then names and
/// proxies lead to it.
#[test]
fn a_gatekeeper_comes_with_anything_that_is_reached() {
    let origin = || RuleOrigin::BuiltIn("test");
    let allow =
        Network { allow: [("a.test".parse().unwrap(), origin())].into(), ..Network::default() };
    let deny = Network { deny: allow.allow.clone(), ..Network::default() };
    let led_out = Network { host_ports: [(5432, origin())].into(), ..Network::default() };
    let published = Network { publish: [(8080, origin())].into(), ..Network::default() };
    for (net, connected) in [
        (allow, true),
        (led_out, true),
        (published, true),
        (deny, false),
        (Network::default(), false),
    ] {
        let rules = Policy { net, ..policy(&[]) };
        let facts = FakeHost::default().resolve(&rules);
        let plan = compile(&rules, &facts, &invocation()).unwrap();
        assert_eq!(plan.walls.network != NetworkPlan::Loopback, connected, "{:?}", rules.net);
        let proxies =
            plan.walls.environment.iter().filter(|variable| {
                variable.name.to_string().to_ascii_lowercase().ends_with("_proxy")
            });
        assert_eq!(proxies.count(), if connected { 8 } else { 0 });
        let resolver = plan.walls.mounts.iter().find_map(|operation| match operation {
            MountOp::File { at, contents, .. } if *at == guest("/etc/resolv.conf") => {
                Some(contents.to_string())
            }
            _ => None,
        });
        let text = if connected {
            "nameserver 127.0.0.1\noptions edns0 timeout:5\n"
        } else {
            "# this cage has no network\n"
        };
        assert_eq!(resolver.as_deref(), Some(text));
    }
}

/// V17: hidden things that nothing shows must not be found, shown ones must be.
#[test]
fn expectations_follow_the_grants() {
    let plan = compiled(&[(ReadOnly, "src"), (Hide, "secrets")]);
    assert!(plan.walls.must_exist.contains(&guest("/home/dev/project/src")));
    for absent in ["/home/dev/project/secrets", "/home/dev/project/.git", "/home/dev/.ssh", "/sys"]
    {
        assert!(plan.walls.must_not_exist.contains(&guest(absent)), "{absent}");
    }
    let plan = compiled(&[(ReadOnly, "."), (ReadOnly, "/etc")]);
    for maybe in ["/home/dev/project/.git", "/etc/shadow"] {
        assert!(!plan.walls.must_not_exist.contains(&guest(maybe)), "{maybe}");
    }
}

/// V10, K226: only memory of the cage's own and read-write grants are writable.
#[test]
fn writable_places_are_few() {
    let plan = compiled(&[(ReadOnly, "."), (ReadWrite, "build")]);
    let writable: Vec<String> = plan
        .walls
        .mounts
        .iter()
        .filter(|operation| operation.access() == Some(Access::ReadWrite))
        .map(|operation| operation.at().to_string())
        .collect();
    let build = format!("{PROJECT}/build");
    let own = ["/dev/pts", "/dev/shm", HOME, &build, "/proc", "/scratch", "/tmp"];
    assert_eq!(writable, own);
}

/// K5, K46: an empty policy shows nothing of the project or the home.
#[test]
fn an_empty_policy_shows_nothing() {
    let plan = compiled(&[]);
    let shows_home = |source: &plan::Source| source.path.is_within(&host("/home"));
    let shown = plan.walls.mounts.iter().filter_map(MountOp::bind);
    let mut shown = shown.map(|bind| plan.source(bind.source).unwrap());
    assert!(shown.all(|source| !shows_home(source)));
    assert_eq!(plan.walls.mounts.iter().filter_map(MountOp::grant).count(), 0);
    assert_eq!(plan.walls.working_directory, guest(HOME));
}

/// V17: an account without a home directory, and a grant around where it would be.
#[test]
fn a_home_that_may_not_exist_is_not_relied_on() {
    let rules = policy(&[(ReadOnly, "/home")]);
    let host = FakeHost {
        home: Some("/home/ghost"),
        project: "/root/work",
        working_directory: "/root/work".to_owned(),
        ..FakeHost::default()
    };
    let plan = compile(&rules, &host.resolve(&rules), &invocation()).unwrap();
    assert_eq!(plan.walls.working_directory, guest("/tmp"));
    assert!(!plan.walls.must_exist.contains(&guest("/home/ghost")));
}

const PATHS: &[&str] = &[
    ".",
    "src",
    "build",
    "build/debug",
    "build-tools",
    "docs",
    "docs/a",
    "docs/a/b",
    "docs/a/b/c.md",
    "secrets",
    "secrets/public",
    "secrets/public/private",
    "token",
    "deep/er",
    "deep/er/still/file",
    "/srv/data",
    "/srv/data/set",
    "/home/dev/other",
    "/home/dev/notes/todo.md",
    "/tmp/work",
    "/home",
    "/home/dev",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// K30, K65, K236, T60: any set of rules on different paths compiles, the result is sound, and
    /// at every path holds what the most specific rule says.
    #[test]
    fn the_most_specific_rule_holds(
        choices in prop::collection::vec(0..4_u8, PATHS.len()),
        privileged in any::<bool>(),
    ) {
        let rules: Vec<(FsAccess, &str)> = PATHS
            .iter()
            .zip(&choices)
            .filter_map(|(path, choice)| match choice {
                0 => Some((Hide, *path)),
                1 => Some((ReadOnly, *path)),
                2 => Some((ReadWrite, *path)),
                _ => None,
            })
            .collect();
        let policy = policy(&rules);
        let host = FakeHost { privileged, ..FakeHost::default() };
        let facts = host.resolve(&policy);
        let plan = compile(&policy, &facts, &invocation()).unwrap();
        prop_assert_eq!(plan.check(), Ok(()));
        prop_assert_eq!(&plan::decode(&plan::encode(&plan)).unwrap(), &plan);

        let special = facts.secrets.iter().chain(&facts.protected);
        let special: Vec<_> = special
            .map(|found| facts.sources[usize::try_from(found.source.0).unwrap()].path.clone())
            .collect();
        let access = stockade_policy::access::AccessMap::new(&policy.fs);
        for entry in host.entries.iter().filter(|entry| !entry.contains(" -> ")) {
            let path = crate::fake_host::host(entry.trim_end_matches('/'));
            let about_home = path.as_bytes().starts_with(b"/home/dev");
            let about_rules = about_home || path.as_bytes().starts_with(b"/srv/");
            if !about_rules || special.iter().any(|special| path.is_within(special)) {
                continue;
            }
            let at = GuestPath::same_as(&path);
            prop_assert_eq!(effective(&plan, &at), access.level(&path), "{:?} {:?}", &rules, &path);
        }
        for found in &facts.secrets {
            let source = &facts.sources[usize::try_from(found.source.0).unwrap()];
            let at = GuestPath::same_as(&source.path);
            prop_assert_eq!(effective(&plan, &at), Hide);
        }
        for found in &facts.protected {
            let source = &facts.sources[usize::try_from(found.source.0).unwrap()];
            let at = GuestPath::same_as(&source.path);
            prop_assert_eq!(effective(&plan, &at), ReadOnly);
        }
    }
}

/// K65: more grants than anyone has still make a sound tree.
#[test]
fn a_thousand_grants_compile() {
    let mut host = FakeHost::default();
    let names: Vec<String> = (0..1000).map(|number| format!("g{number}")).collect();
    host.entries.extend(names.iter().map(|name| format!("{PROJECT}/{name}/file")));
    let rules: Vec<(FsAccess, &str)> = names.iter().map(|name| (ReadOnly, name.as_str())).collect();
    let policy = policy(&rules);
    let plan = compile(&policy, &host.resolve(&policy), &invocation()).unwrap();
    assert_eq!(plan.walls.mounts.iter().filter_map(MountOp::grant).count(), 1000);
    assert!(plan.walls.mounts.iter().all(|operation| !matches!(
        operation,
        MountOp::Mask { kind: FileKind::File | FileKind::Directory, .. }
    )));
}
