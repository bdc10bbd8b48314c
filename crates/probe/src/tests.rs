//! Layers are judged from the files of made-up machines, and once from this one.
//! Nothing here depends on what this machine can do.

use super::*;

/// The files of a machine: paths and contents.
type Files<'a> = &'a [(&'a str, &'a str)];

/// A machine that tells about itself by these files.
fn machine(files: Files<'_>) -> (tempfile::TempDir, SystemFiles) {
    let directory = tempfile::tempdir().unwrap();
    for (path, contents) in files {
        let path = directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    let files = SystemFiles { root: directory.path().to_owned() };
    (directory, files)
}

const BINARY: &str = "/opt/with space/stockade";
const NAMESPACES: (&str, &str) = ("/proc/self/ns/user", "");
const APPARMOR: (&str, &str) = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");

/// K179, T56
#[test]
fn user_namespaces_are_judged_by_every_switch() {
    let off = ("/proc/sys/user/max_user_namespaces", "0\n");
    let debian = ("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
    let profile = ("/proc/self/attr/current", "stockade (unconfined)\n");
    let unconfined = ("/proc/self/attr/current", "unconfined\n");
    use LayerState::{Absent, Present};
    use Privilege::{Root, User};
    let table: [(Files<'_>, Privilege, LayerState, &str); 9] = [
        (&[], User, Absent, "CONFIG_USER_NS"),
        (&[NAMESPACES], User, Present, ""),
        (&[NAMESPACES, off], User, Absent, "sysctl -w user.max_user_namespaces=15000"),
        (&[NAMESPACES, off], Root, Absent, "sysctl -w user.max_user_namespaces=15000"),
        (&[NAMESPACES, debian], User, Absent, "sysctl -w kernel.unprivileged_userns_clone=1"),
        (&[NAMESPACES, debian], Root, Present, ""),
        (&[NAMESPACES, APPARMOR, unconfined], User, Absent, "profile stockade"),
        (&[NAMESPACES, APPARMOR, profile], User, Present, ""),
        (&[NAMESPACES, APPARMOR, unconfined], Root, Present, ""),
    ];
    for (files, privilege, state, fix) in table {
        let (_directory, files) = machine(files);
        let layer = namespaces::user_namespaces(&files, privilege, Path::new(BINARY));
        assert_eq!(layer.state, state, "{}", layer.why);
        assert!(layer.required);
        assert!(layer.fix.unwrap_or_default().contains(fix));
    }
}

#[test]
fn the_profile_names_the_binary() {
    let profile = apparmor_profile(Path::new(BINARY));
    let line = "profile stockade \"/opt/with space/stockade\" flags=(unconfined) {";
    assert!(profile.lines().any(|candidate| candidate == line), "{profile}");
    assert!(profile.lines().any(|candidate| candidate == "  userns,"), "{profile}");
}

#[test]
fn a_covered_proc_is_recognised() {
    let plain = "22 1 0:21 / /proc rw,nosuid - proc proc rw\n\
                 30 22 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n\
                 31 1 0:31 / /processes rw - tmpfs tmpfs rw\n";
    let covered = format!("{plain}40 22 0:40 / /proc/kcore rw - tmpfs tmpfs rw\n");
    let table = [(plain, LayerState::Present), (covered.as_str(), LayerState::Absent)];
    for (text, state) in table {
        let (_directory, files) = machine(&[("/proc/self/mountinfo", text)]);
        let layer = namespaces::proc_layer(&files);
        assert_eq!(layer.state, state, "{}", layer.why);
        assert_eq!(layer.fix.is_some(), state == LayerState::Absent);
    }
}

#[test]
fn seccomp_is_judged_by_its_actions() {
    let path = "/proc/sys/kernel/seccomp/actions_avail";
    let full = (path, "kill_process kill_thread trap errno user_notif trace log allow");
    let old = (path, "kill_process kill_thread trap errno trace log allow");
    let table: [(Files<'_>, LayerState); 3] =
        [(&[full], LayerState::Present), (&[old], LayerState::Degraded), (&[], LayerState::Absent)];
    for (files, state) in table {
        let (_directory, files) = machine(files);
        assert_eq!(kernel::seccomp_layer(&files).state, state);
    }
}

/// A7: without the device no process serves files to a cage, and a cage is built all the same.
#[test]
fn fuse_is_judged_by_its_device() {
    for (files, state) in [
        (&[("/dev/fuse", "")][..], LayerState::Present),
        (&[("/dev/null", "")], LayerState::Absent),
    ] {
        let (_directory, files) = machine(files);
        let layer = kernel::fuse_layer(&files);
        assert_eq!((layer.state, layer.required), (state, false), "{}", layer.why);
        assert_eq!(layer.fix.is_some(), state == LayerState::Absent);
    }
}

/// T72
#[test]
fn core_dumps_are_judged_by_where_they_would_go() {
    let path = "/proc/sys/kernel/core_pattern";
    use LayerState::{Degraded, Present};
    let table = [
        ("core\n", Some(0), Present),
        ("/var/core.%p\n", None, Present),
        ("|/usr/lib/helper %P\n", None, Present),
        ("|/usr/lib/helper %P\n", Some(1), Present),
        ("|/usr/lib/helper %P\n", Some(0), Degraded),
        ("@/run/helper.socket\n", None, Degraded),
    ];
    for (pattern, hard, state) in table {
        let (_directory, files) = machine(&[(path, pattern)]);
        let layer = kernel::core_dump_layer(&files, hard);
        assert_eq!((layer.state, layer.required), (state, false), "{pattern}");
        assert_eq!(layer.fix.is_some(), state == Degraded, "{pattern}");
    }
}

#[test]
fn kernel_versions_are_compared_as_numbers() {
    let table = [
        ("6.18.44-fc", Some(LayerState::Present)),
        ("5.12.0", Some(LayerState::Present)),
        ("5.4.0-150-generic", Some(LayerState::Absent)),
        ("10.0", Some(LayerState::Present)),
        ("strange", None),
    ];
    for (release, expected) in table {
        let version = kernel::Version::parse(release);
        assert_eq!(version.map(|version| kernel::version_layer(Some(&version)).state), expected);
    }
    assert_eq!(kernel::version_layer(None).state, LayerState::Degraded);
}

/// K179
#[test]
fn limits_are_held_in_full_in_part_or_not_at_all() {
    use ::limits::{Limit, Mechanism};
    let found = |mechanism, held: &[Limit], missing: &[Limit]| ::limits::Layer {
        mechanism,
        held: held.to_vec(),
        missing: missing.to_vec(),
        why: "the reason".to_owned(),
        fix: Some("the fix".to_owned()),
    };
    let all = [Limit::Memory, Limit::Pids, Limit::Cpu];
    let table = [
        (found(Some(Mechanism::CgroupV2), &all, &[]), LayerState::Present),
        (found(Some(Mechanism::Systemd), &all[..2], &all[2..]), LayerState::Degraded),
        (found(None, &[], &all), LayerState::Absent),
    ];
    for (found, expected) in table {
        let layer = limits::limits_layer(found);
        assert_eq!(layer.state, expected);
        assert!(layer.why.contains("the reason") && layer.fix.as_deref() == Some("the fix"));
        assert!(!layer.required);
    }
}

/// K179
#[test]
fn the_network_is_judged_by_a_trial() {
    use jail::{NetworkProbe, NetworkState, SetupFailure, Step};
    let tproxy = NetworkProbe { state: NetworkState::Tproxy, refusal: None };
    let redirect = NetworkProbe { state: NetworkState::Redirect, refusal: None };
    let listeners = NetworkProbe { state: NetworkState::PerPort, refusal: Some(libc::ENOENT) };
    let refused = SetupFailure::kernel(Step::Network, "local ::/0", rustix::io::Errno::PERM);
    let table = [
        (Ok(tproxy), LayerState::Present, "by nf_tables", None),
        (Ok(redirect), LayerState::Present, "translates addresses", Some("modprobe nft_tproxy")),
        (Ok(listeners), LayerState::Degraded, "No such file or directory", Some("modprobe")),
        (Err(refused), LayerState::Absent, "local ::/0", Some("--no-net")),
    ];
    for (tried, state, why, fix) in table {
        let layer = network::network_layer(tried);
        assert_eq!((layer.state, layer.required), (state, false));
        assert!(layer.why.contains(why), "{}", layer.why);
        assert_eq!(layer.fix.is_some(), fix.is_some());
        assert!(layer.fix.unwrap_or_default().contains(fix.unwrap_or_default()));
    }
}

/// T56
#[test]
fn the_kind_of_machine_is_noted() {
    let table: [(Files<'_>, &str); 6] = [
        (&[("/.dockerenv", "")], "Docker"),
        (&[("/run/.containerenv", "")], "Podman"),
        (&[("/proc/1/cgroup", "0::/kubepods/x\n")], "kubepods"),
        (&[("/proc/sys/kernel/osrelease", "5.15.1-microsoft-standard-WSL2\n")], "WSL"),
        (&[("/proc/self/status", "Name:\tx\nNoNewPrivs:\t1\n")], "no_new_privs"),
        (&[("/proc/self/status", "Seccomp:\t2\n")], "filter"),
    ];
    for (files, expected) in table {
        let (_directory, files) = machine(files);
        let notes = machine::notes(&files);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains(expected), "{}", notes[0]);
    }
    let (_directory, files) = machine(&[("/proc/1/cgroup", "0::/init.scope\n")]);
    assert!(machine::notes(&files).is_empty());
}

#[test]
fn a_report_of_this_machine_is_complete() {
    let subject = Subject { binary: BINARY.into(), project: std::env::temp_dir() };
    let built = probe(&subject, || Ok(()), || Ok(()));
    let failed = probe(&subject, || Err("clone3: refused".to_owned()), || Ok(()));
    assert!(!failed.can_build_cages());
    assert_eq!(failed.layers.last().unwrap().why, "clone3: refused");
    assert_eq!(built.layers.last().unwrap().state, LayerState::Present);
    for layer in &built.layers {
        assert!(!layer.name.is_empty() && !layer.why.is_empty());
    }
    assert!(serde_json::to_string(&built).unwrap().contains("\"landlock\""));
}

#[test]
fn paths_are_quoted_for_a_shell() {
    assert_eq!(quoted(Path::new("/usr/bin/stockade")), "/usr/bin/stockade");
    assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
}
