//! The laws of the algebra, over random policies in a small world where rules meet often, and
//! against an oracle that asks every path one by one.

use std::collections::BTreeMap;

use plan::{Access, GuestPath, HostPath, MountedFrom, RemoteStore};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{RefusalKind, is_within};
use crate::net::{Destination, Name};
use crate::{
    Commands, EnvironmentRule, FsAccess, FsRule, Home, Limits, Mount, Network, Policy, Reach,
    RuleOrigin, Seccomp, State,
};

/// What may be done at a path, by the definition and not by the code under test: the longest rule
/// that is a prefix, the least of several on one path.
fn oracle(policy: &Policy, path: &HostPath) -> (FsAccess, Reach) {
    let covering = policy.fs.iter().filter(|rule| path.is_within(&rule.path));
    let deepest = covering.clone().map(|rule| rule.path.depth()).max();
    covering
        .filter(|rule| Some(rule.path.depth()) == deepest)
        .map(|rule| (rule.access, rule.reach))
        .min()
        .unwrap_or((FsAccess::Hide, Reach::BeneathProject))
}

fn path() -> impl Strategy<Value = HostPath> {
    vec(prop_oneof![Just("a"), Just("b"), Just("ab")], 0..5)
        .prop_map(|parts| HostPath::new(format!("/{}", parts.join("/"))).unwrap())
}

fn rule() -> impl Strategy<Value = FsRule> {
    let access =
        prop_oneof![Just(FsAccess::Hide), Just(FsAccess::ReadOnly), Just(FsAccess::ReadWrite)];
    let reach = prop_oneof![3 => Just(Reach::BeneathProject), 1 => Just(Reach::Anywhere)];
    (access, path(), reach).prop_map(|(access, path, reach)| FsRule {
        access,
        path,
        reach,
        origin: origin(),
    })
}

fn origin() -> RuleOrigin {
    RuleOrigin::BuiltIn("test")
}

fn destination() -> impl Strategy<Value = Destination> {
    let host = prop_oneof![
        Just("example.com"),
        Just("a.example.com"),
        Just("b.a.example.com"),
        Just("*.example.com"),
        Just("**.example.com"),
        Just("**.a.example.com"),
        Just("10.0.0.0/8"),
        Just("10.1.0.0/16"),
        Just("10.1.2.3"),
    ];
    let port = prop_oneof![Just(""), Just(":443"), Just(":1-1024"), Just(":80-500")];
    (host, port).prop_map(|(host, port)| format!("{host}{port}").parse().unwrap())
}

fn network() -> impl Strategy<Value = Network> {
    let entries = || btree_map(destination(), Just(origin()), 0..4);
    let ports = || btree_map(1_u16..4, Just(origin()), 0..3);
    let sentence = prop_oneof![Just("x"), Just("y")].prop_map(str::to_owned);
    let reasons = btree_map(destination(), sentence, 0..3);
    (entries(), entries(), reasons, ports(), ports()).prop_map(
        |(allow, deny, reasons, host_ports, publish)| Network {
            allow,
            deny,
            reasons,
            host_ports,
            publish,
        },
    )
}

fn ports() -> impl Strategy<Value = u16> {
    prop_oneof![Just(22), Just(80), Just(443), Just(1024), Just(8080)]
}

const HOSTS: [&str; 7] = [
    "example.com",
    "a.example.com",
    "b.a.example.com",
    "other.example",
    "10.1.2.3",
    "10.2.0.1",
    "192.0.2.1",
];

/// Whether a connection is allowed, by the definition: some entry covers it and none denies it.
fn reaches(net: &Network, host: &str, port: u16) -> bool {
    let covers = |entry: &Destination| match host.parse() {
        Ok(address) => entry.covers_address(address, port),
        Err(_) => entry.covers_name(&Name::parse(host).unwrap(), port),
    };
    net.allow.keys().any(covers) && !net.deny.keys().any(covers)
}

fn commands() -> impl Strategy<Value = Commands> {
    let names = prop_oneof![Just("cat"), Just("ls"), Just("git")].prop_map(str::to_owned);
    prop_oneof![
        Just(Commands::Base),
        Just(Commands::None),
        btree_set(names, 0..3).prop_map(Commands::Listed),
    ]
}

fn variable() -> impl Strategy<Value = EnvironmentRule> {
    option::of(prop_oneof![Just("x"), Just("y")])
        .prop_map(|value| EnvironmentRule { value: value.map(Into::into), origin: origin() })
}

fn limits() -> impl Strategy<Value = Limits> {
    let bound = || option::of(1_u32..4);
    let room = (bound(), bound(), bound());
    (bound(), bound(), bound(), bound(), bound(), room).prop_map(
        |(memory, weight, cpus, pids, time, (tmp, home, workspace))| Limits {
            memory_mb: memory.map(u64::from),
            cpu_weight: weight,
            cpu_millis: cpus,
            pids,
            walltime_sec: time.map(u64::from),
            tmp_mb: tmp.map(u64::from),
            home_mb: home.map(u64::from),
            workspace_mb: workspace.map(u64::from),
        },
    )
}

fn mount() -> impl Strategy<Value = Mount> {
    let bucket = |prefix: &str| {
        MountedFrom::Remote(RemoteStore::S3 { bucket: "bucket".into(), prefix: prefix.into() })
    };
    let from = prop_oneof![
        Just(MountedFrom::Memory),
        path().prop_map(MountedFrom::Directory),
        path().prop_map(MountedFrom::Store),
        Just(bucket("")),
        Just(bucket("a")),
        Just(bucket("a/b")),
    ];
    let access = prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)];
    (from, access).prop_map(|(from, access)| {
        let reach = match from {
            MountedFrom::Remote(_) => Reach::Anywhere,
            _ => Reach::BeneathProject,
        };
        Mount { from, access, reach, origin: origin() }
    })
}

fn mounts() -> impl Strategy<Value = BTreeMap<GuestPath, Mount>> {
    let at = prop_oneof![Just("/mnt/a"), Just("/mnt/b"), Just("/srv")];
    btree_map(at.prop_map(|at| GuestPath::new(at).unwrap()), mount(), 0..3)
}

fn policy() -> impl Strategy<Value = Policy> {
    let name = prop_oneof![Just("LANG"), Just("TERM"), Just("FOO")].prop_map(str::to_owned);
    (
        (vec(rule(), 0..8), mounts()),
        commands(),
        btree_map(name, variable(), 0..3),
        network(),
        prop_oneof![Just(State::Ephemeral), Just(State::Scratch)],
        prop_oneof![Just(Home::Memory), Just(Home::Kept)],
        prop_oneof![Just(Seccomp::Default), Just(Seccomp::Relaxed)],
        limits(),
    )
        .prop_map(|((fs, mounts), commands, env, net, state, home, seccomp, limits)| Policy {
            name: "test".to_owned(),
            fs,
            mounts,
            commands,
            env,
            net,
            state,
            home,
            seccomp,
            limits,
        })
}

/// A policy with the holder's own words but for its files: random pairs seldom fit in every part.
fn with_fs_of(holder: &Policy, other: &Policy) -> Policy {
    Policy { fs: other.fs.clone(), ..holder.clone() }
}

fn same(one: &Policy, other: &Policy) -> bool {
    is_within(one, other).is_ok() && is_within(other, one).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// M74, V19, T51: whatever is asked, the result lies within both.
    #[test]
    fn a_result_is_within_holder_and_request(holder in policy(), request in policy()) {
        for request in [with_fs_of(&holder, &request), request] {
            if let Ok(result) = holder.narrow(&request) {
                prop_assert!(is_within(&result, &holder).is_ok());
                prop_assert!(is_within(&result, &request).is_ok());
            }
        }
    }

    /// A request that is within its holder is granted as it stands.
    #[test]
    fn what_is_within_is_granted_unchanged(holder in policy(), request in policy()) {
        for request in [with_fs_of(&holder, &request), request] {
            if is_within(&request, &holder).is_ok() {
                let result = holder.narrow(&request);
                prop_assert!(result.is_ok());
                prop_assert!(same(&result.unwrap(), &request));
            }
        }
    }

    /// At every path: exactly the lesser of what is held and what is asked.
    #[test]
    fn files_meet_point_by_point(
        holder in policy(), request in policy(), probes in vec(path(), 40),
    ) {
        let request = with_fs_of(&holder, &request);
        if let Ok(result) = holder.narrow(&request) {
            for probe in &probes {
                let (held, asked) = (oracle(&holder, probe), oracle(&request, probe));
                let given = oracle(&result, probe);
                prop_assert_eq!(given.0, held.0.min(asked.0), "{}", probe);
                if given.0 > FsAccess::Hide {
                    prop_assert_eq!(given.1, held.1.min(asked.1), "{}", probe);
                }
            }
        }
    }

    /// The comparison says no exactly where some path shows it.
    #[test]
    fn comparison_agrees_with_the_paths(child in policy(), parent in policy(), probes in vec(path(), 40)) {
        let child = with_fs_of(&parent, &child);
        let exceeds = |path: &HostPath| {
            let (given, held) = (oracle(&child, path), oracle(&parent, path));
            given.0 > held.0 || (given.0 > FsAccess::Hide && given.1 > held.1)
        };
        match is_within(&child, &parent) {
            Ok(()) => prop_assert!(!probes.iter().any(exceeds)),
            Err(refusals) => for refusal in &refusals {
                prop_assert!(exceeds(&HostPath::new(refusal.subject.as_str()).unwrap()));
            },
        }
    }

    /// A request is refused exactly for the rules that ask for more at their own path.
    #[test]
    fn refusals_name_exactly_what_is_not_held(holder in policy(), request in policy()) {
        let request = with_fs_of(&holder, &request);
        let mut expected: Vec<String> = request.fs.iter()
            .filter(|rule| rule.access == oracle(&request, &rule.path).0)
            .filter(|rule| rule.access > oracle(&holder, &rule.path).0)
            .map(|rule| format!("{} {}", rule.access.word(), rule.path))
            .collect();
        expected.sort();
        expected.dedup();
        let mut named: Vec<String> = holder.narrow(&request).err().iter()
            .flat_map(|refusals| refusals.iter())
            .map(|refusal| format!("{} {}", refusal.asked, refusal.subject))
            .collect();
        named.sort();
        prop_assert_eq!(named, expected);
    }

    #[test]
    fn comparison_is_reflexive(policy in policy()) {
        prop_assert!(is_within(&policy, &policy).is_ok());
    }

    #[test]
    fn comparison_is_transitive(one in policy(), two in policy(), three in policy()) {
        // Chains are made by narrowing: three unrelated policies hardly ever form one.
        let Ok(middle) = three.narrow(&with_fs_of(&three, &two)) else { return Ok(()) };
        let Ok(least) = middle.narrow(&with_fs_of(&middle, &one)) else { return Ok(()) };
        prop_assert!(is_within(&least, &three).is_ok());
        if is_within(&one, &two).is_ok() && is_within(&two, &three).is_ok() {
            prop_assert!(is_within(&one, &three).is_ok());
        }
    }

    #[test]
    fn networks_compare_transitively(one in network(), two in network(), three in network()) {
        let with = |net: Network| Policy { net, ..Policy::closed("test") };
        let (one, two, three) = (with(one), with(two), with(three));
        if is_within(&one, &two).is_ok() && is_within(&two, &three).is_ok() {
            prop_assert!(is_within(&one, &three).is_ok());
        }
    }

    /// M74, T51: what the result reaches, holder and request reach both, one connection at a time.
    /// Conversely nothing that both reach is lost.
    #[test]
    fn a_result_reaches_what_both_reach(holder in network(), request in network(), port in ports()) {
        let with = |net: Network| Policy { net, ..Policy::closed("test") };
        let Ok(result) = with(holder.clone()).narrow(&with(request.clone())) else { return Ok(()) };
        for host in HOSTS {
            let both = reaches(&holder, host, port) && reaches(&request, host, port);
            prop_assert_eq!(reaches(&result.net, host, port), both, "{}:{}", host, port);
        }
        for port in 0..5 {
            let held = |net: &Network| (net.host_ports.contains_key(&port), net.publish.contains_key(&port));
            prop_assert_eq!(held(&result.net), held(&request), "{}", port);
            let (led_out, published) = held(&result.net);
            prop_assert!(held(&holder).0 >= led_out && held(&holder).1 >= published, "{}", port);
        }
    }

    /// Narrowing twice by the same request changes nothing; narrowing by oneself neither. V3
    #[test]
    fn narrowing_is_idempotent(holder in policy(), request in policy()) {
        prop_assert!(same(&holder.narrow(&holder).unwrap(), &holder));
        for request in [with_fs_of(&holder, &request), request] {
            if let Ok(once) = holder.narrow(&request) {
                let twice = once.narrow(&request);
                prop_assert_eq!(twice.as_ref(), Ok(&once));
            }
        }
    }

    /// If two steps are granted one after the other, so is their combination, with the same result.
    #[test]
    fn narrowing_is_associative(one in policy(), two in policy(), three in policy()) {
        let two = with_fs_of(&one, &two);
        let three = with_fs_of(&one, &three);
        let Ok(first) = one.narrow(&two) else { return Ok(()) };
        let Ok(stepwise) = first.narrow(&three) else { return Ok(()) };
        let request = two.narrow(&three);
        prop_assert!(request.is_ok());
        let at_once = one.narrow(&request.unwrap());
        prop_assert!(at_once.is_ok());
        prop_assert!(same(&at_once.unwrap(), &stepwise));
    }

    /// Who holds more grants no less: a wider holder grants at least the same requests, and gives
    /// at least as much.
    #[test]
    fn narrowing_is_monotone(wide in policy(), other in policy(), request in policy()) {
        let Ok(narrower) = wide.narrow(&with_fs_of(&wide, &other)) else { return Ok(()) };
        let request = with_fs_of(&wide, &request);
        if let Ok(less) = narrower.narrow(&request) {
            let more = wide.narrow(&request);
            prop_assert!(more.is_ok());
            prop_assert!(is_within(&less, &more.unwrap()).is_ok());
        }
    }
}

/// A request for a child: some parts are its own, the others what its parent has.
fn request_of(parent: &Policy, own: Policy, parts: u8) -> Policy {
    let mut asked = parent.clone();
    let is_own = |part: u8| parts & (1 << part) != 0;
    if is_own(0) {
        asked.fs = own.fs;
    }
    if is_own(1) {
        asked.net = own.net;
    }
    if is_own(2) {
        asked.commands = own.commands;
    }
    if is_own(3) {
        asked.env = own.env;
    }
    if is_own(4) {
        asked.limits = own.limits;
    }
    if is_own(5) {
        asked.mounts = own.mounts;
    }
    if is_own(6) {
        (asked.seccomp, asked.state, asked.home) = (own.seccomp, own.state, own.home);
    }
    asked
}

/// Whether a child's commands, variables and limits are its parent's, by the definition.
fn has_no_more(child: &Policy, parent: &Policy) -> bool {
    let starts = |policy: &Policy, name: &str| match &policy.commands {
        Commands::Base => true,
        Commands::None => false,
        Commands::Listed(names) => names.contains(name),
    };
    let of_commands =
        ["cat", "ls", "git", "id"].iter().all(|name| starts(parent, name) >= starts(child, name));
    let of_variables = child.env.keys().all(|name| parent.env.contains_key(name));
    fn within<T: PartialOrd>(child: Option<T>, parent: Option<T>) -> bool {
        parent.is_none_or(|most| child.is_some_and(|own| own <= most))
    }
    let (own, most) = (&child.limits, &parent.limits);
    of_commands
        && of_variables
        && within(own.memory_mb, most.memory_mb)
        && within(own.pids, most.pids)
        && within(own.cpu_millis, most.cpu_millis)
        && within(own.walltime_sec, most.walltime_sec)
        && within(own.tmp_mb, most.tmp_mb)
}

/// V34, V35, T51: 10,000 trees of children, three levels deep: nobody has more than anybody above.
#[test]
fn nobody_has_more_than_those_above_in_any_tree() {
    let mut runner = TestRunner::deterministic();
    let mut some = |count: usize| {
        let one = |_| policy().new_tree(&mut runner).unwrap().current();
        (0..count).map(one).collect::<Vec<_>>()
    };
    let pool = some(500);
    let probes = ["/", "/a", "/a/b", "/ab", "/b/a/ab", "/a/a/a/a"];
    let probes = probes.map(|path| HostPath::new(path).unwrap());
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut roll = |sides: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % sides as u64).unwrap()
    };
    let mut given = 0;
    for _ in 0..10_000 {
        let mut above = vec![pool[roll(pool.len())].clone()];
        for _ in 0..3 {
            let parent = above.last().unwrap();
            let parts = u8::try_from(roll(128) & roll(128)).unwrap();
            let request = request_of(parent, pool[roll(pool.len())].clone(), parts);
            let Ok(child) = parent.narrow(&request) else { continue };
            given += 1;
            let port = [22, 80, 443, 8080][roll(4)];
            for parent in &above {
                assert!(is_within(&child, parent).is_ok(), "{child:?} of {parent:?}");
                assert!(has_no_more(&child, parent), "{child:?} of {parent:?}");
            }
            let parent = above.last().unwrap();
            for probe in &probes {
                assert!(oracle(&child, probe).0 <= oracle(parent, probe).0, "{probe}");
            }
            for host in [HOSTS[roll(3)], HOSTS[3 + roll(4)]] {
                assert!(reaches(&child.net, host, port) <= reaches(&parent.net, host, port));
            }
            above.push(child);
        }
    }
    assert!(given > 5_000, "{given}");
}

fn fs(rules: &[(FsAccess, &str)]) -> Policy {
    let rule = |(access, path): &(FsAccess, &str)| FsRule {
        access: *access,
        path: HostPath::new(*path).unwrap(),
        reach: Reach::BeneathProject,
        origin: origin(),
    };
    Policy { fs: rules.iter().map(rule).collect(), ..Policy::closed("test") }
}

fn as_text(policy: &Policy) -> Vec<String> {
    policy.fs.iter().map(|rule| format!("{} {}", rule.access.word(), rule.path)).collect()
}

/// What the holder hides inside a requested grant stays hidden, and what it grants again inside
/// that comes back.
#[test]
fn hidden_parts_are_carried_over() {
    use FsAccess::{Hide, ReadOnly, ReadWrite};
    let holder = fs(&[
        (ReadWrite, "/p"),
        (ReadOnly, "/p/vendor"),
        (Hide, "/p/secrets"),
        (ReadWrite, "/p/secrets/mine"),
        (Hide, "/q"),
    ]);
    for (request, expected) in [
        (
            fs(&[(ReadWrite, "/p")]),
            vec!["rw /p", "hide /p/secrets", "rw /p/secrets/mine", "ro /p/vendor"],
        ),
        (fs(&[(ReadOnly, "/p")]), vec!["ro /p", "hide /p/secrets", "ro /p/secrets/mine"]),
        (fs(&[(ReadWrite, "/p/src")]), vec!["rw /p/src"]),
        (fs(&[(ReadOnly, "/p"), (Hide, "/p/secrets")]), vec!["ro /p", "hide /p/secrets"]),
        (fs(&[]), vec![]),
    ] {
        assert_eq!(as_text(&holder.narrow(&request).unwrap()), expected);
    }
    let refused = holder
        .narrow(&fs(&[(ReadWrite, "/p/vendor"), (ReadOnly, "/p/secrets"), (ReadOnly, "/r")]))
        .unwrap_err();
    let subjects: Vec<_> = refused.iter().map(|refusal| refusal.subject.as_str()).collect();
    assert_eq!(subjects, ["/p/secrets", "/p/vendor", "/r"]);
}

/// V11, V12, K92: each part alone, one request that is held and one that is not.
#[test]
fn every_part_refuses_more() {
    let mut holder = Policy::closed("test");
    holder.commands = Commands::Listed(["cat".to_owned()].into());
    holder.net.allow.insert("**.example.com:443".parse().unwrap(), origin());
    holder.net.deny.insert("bad.example.com".parse().unwrap(), origin());
    holder.net.host_ports.insert(443, origin());
    holder.net.publish.insert(80, origin());
    holder.limits.memory_mb = Some(64);
    let closed = || Policy { commands: Commands::None, ..Policy::closed("test") };
    let variable = || EnvironmentRule { value: None, origin: origin() };
    let net = |entry: &str| Network {
        allow: [(entry.parse().unwrap(), origin())].into(),
        ..Network::default()
    };
    for (request, kind) in [
        (Policy { commands: Commands::Base, ..closed() }, RefusalKind::Commands),
        (
            Policy { commands: Commands::Listed(["ls".to_owned()].into()), ..closed() },
            RefusalKind::Commands,
        ),
        (
            Policy { env: [("LANG".to_owned(), variable())].into(), ..closed() },
            RefusalKind::Environment,
        ),
        (Policy { net: net("example.com:443"), ..closed() }, RefusalKind::Network),
        (Policy { net: net("a.example.com"), ..closed() }, RefusalKind::Network),
        (
            Policy {
                net: Network { host_ports: [(80, origin())].into(), ..Network::default() },
                ..closed()
            },
            RefusalKind::HostPorts,
        ),
        (
            Policy {
                net: Network { publish: [(443, origin())].into(), ..Network::default() },
                ..closed()
            },
            RefusalKind::Publish,
        ),
        (Policy { state: State::Scratch, ..closed() }, RefusalKind::State),
        (Policy { seccomp: Seccomp::Relaxed, ..closed() }, RefusalKind::Seccomp),
        (
            Policy { limits: Limits { memory_mb: Some(65), ..Limits::default() }, ..closed() },
            RefusalKind::Limits,
        ),
    ] {
        let refused = holder.narrow(&request).unwrap_err();
        assert_eq!(refused.iter().map(|refusal| refusal.kind).collect::<Vec<_>>(), [kind]);
    }
    let result = holder.narrow(&Policy { net: net("a.example.com:443"), ..closed() }).unwrap();
    assert_eq!(result.net.deny.len(), 1, "what is denied stays denied");
    assert_eq!(result.limits.memory_mb, Some(64), "what is bounded stays bounded");
    assert!(
        is_within(&closed(), &holder)
            .unwrap_err()
            .iter()
            .any(|refusal| { refusal.kind == RefusalKind::Limits && refusal.asked == "unlimited" })
    );
}

/// A2, A7: a mount of what is held is held at any place, read-only where it is held so; nobody needs to hold memory.
#[test]
fn mounts_are_compared_by_where_their_files_come_from() {
    let mounts = |list: &[(&str, &str, Access)]| {
        let mount = |(at, from, access): &(&str, &str, Access)| {
            let from = match from.split_once(':') {
                Some(("store", path)) => MountedFrom::Store(HostPath::new(path).unwrap()),
                Some(("s3", path)) => {
                    let (bucket, prefix) = path.split_once('/').unwrap();
                    let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
                    MountedFrom::Remote(RemoteStore::S3 { bucket, prefix })
                }
                _ => MountedFrom::Memory,
            };
            let reach = Reach::BeneathProject;
            let mount = Mount { from, access: *access, reach, origin: origin() };
            (GuestPath::new(*at).unwrap(), mount)
        };
        Policy { mounts: list.iter().map(mount).collect(), ..Policy::closed("test") }
    };
    let (read, write) = (Access::ReadOnly, Access::ReadWrite);
    let mut holder = mounts(&[("/mnt/a", "s3:bucket/a", read), ("/mnt/b", "s3:other/", write)]);
    let (access, path) = (FsAccess::ReadWrite, HostPath::new("/project").unwrap());
    let reach = Reach::BeneathProject;
    holder.fs = vec![FsRule { access, path, reach, origin: origin() }];
    for (asked, is_held) in [
        (("/mnt/x", "memory:", write), true),
        (("/mnt/x", "s3:bucket/a", read), true),
        (("/mnt/x", "s3:bucket/a/b", read), true),
        (("/mnt/x", "s3:bucket/a", write), false),
        (("/mnt/x", "s3:bucket/", read), false),
        (("/mnt/x", "s3:bucket/ab", read), false),
        (("/mnt/x", "s3:other/x", write), true),
        (("/mnt/x", "store:/project/a.db", write), true),
        (("/mnt/x", "store:/elsewhere/a.db", read), false),
    ] {
        let request = mounts(&[asked]);
        let narrowed = holder.narrow(&request);
        assert_eq!(narrowed.is_ok(), is_held, "{asked:?}");
        assert_eq!(is_within(&request, &holder).is_ok(), is_held, "{asked:?}");
        for refusal in narrowed.err().iter().flatten() {
            assert_eq!(refusal.kind, RefusalKind::Mounts);
        }
    }
}
