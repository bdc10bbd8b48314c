//! The user's flags, alone and joined with a policy.

use super::{path, policy, project, rules};
use crate::text::Flags;
use crate::{Commands, FsAccess, Policy, Reach, Seccomp};

/// One flag by its name, as the command line would pass it.
fn give(flags: &mut Flags, flag: &str, value: &str) -> Result<(), String> {
    let given = format!("--{flag} {value}");
    match flag {
        "ro" => flags.path(FsAccess::ReadOnly, path(value), &given, &[]),
        "rw" => flags.path(FsAccess::ReadWrite, path(value), &given, &[]),
        "hide" => flags.path(FsAccess::Hide, path(value), &given, &[]),
        "env" => flags.variable(value.as_bytes()),
        "command" => flags.command(value),
        "seccomp" => flags.seccomp(value),
        "state" => flags.state(value),
        "net" => flags.destinations(value),
        "host-port" => flags.host_ports(value),
        "publish" => flags.publish(value),
        "memory" => flags.memory(value),
        "pids" => flags.pids(value),
        "cpus" => flags.cpus(value),
        "time" => flags.time(value),
        other => panic!("{other}"),
    }
    .map_err(|error| error.to_string())
}

fn flags(given: &[(&str, &str)]) -> Result<Flags, String> {
    let mut flags = Flags::default();
    given.iter().try_for_each(|(flag, value)| give(&mut flags, flag, value))?;
    Ok(flags)
}

/// The user's word is added to the file's, and wins where both speak of the same thing.
#[test]
fn flags_join_the_policy() {
    let document = project(
        "version = 1\n[cage.x]\nfs = [{ ro = \".\" }, { hide = \"a\" }]\nenv = [\"LANG\"]\nlimits = { pids = 5, memory_mb = 64 }",
    )
    .unwrap();
    let given = flags(&[
        ("rw", "/home/u/project/a"),
        ("ro", "/opt/x"),
        ("env", "LANG=C"),
        ("env", "TERM"),
        ("command", "git"),
        ("command", "ls"),
        ("seccomp", "relaxed"),
        ("net", "example.com:443"),
        ("pids", "7"),
    ])
    .unwrap();
    let joined = policy(&document, "x").with_user_flags(&given);
    assert_eq!(rules(&joined), ["ro /home/u/project", "rw /home/u/project/a", "ro /opt/x"]);
    assert_eq!(joined.fs[2].reach, Reach::Anywhere);
    assert_eq!(joined.fs[2].origin.to_string(), "--ro /opt/x");
    assert_eq!(joined.env["LANG"].value, Some("C".into()));
    assert_eq!(joined.env["TERM"].value, None);
    assert_eq!(joined.commands, Commands::Listed(["git".to_owned(), "ls".to_owned()].into()));
    assert_eq!(joined.seccomp, Seccomp::Relaxed);
    assert_eq!(joined.net.allow.len(), 1);
    assert_eq!((joined.limits.pids, joined.limits.memory_mb), (Some(7), Some(64)));
}

#[test]
fn no_flag_changes_nothing() {
    let policy = Policy::closed("x");
    assert_eq!(policy.with_user_flags(&Flags::default()), policy);
    assert!(!Flags::default().has_paths());
}

#[test]
fn sizes_and_times_have_units() {
    for (flag, value, expected) in [
        ("memory", "512M", Some(512)),
        ("memory", "2G", Some(2048)),
        ("memory", "2GiB", Some(2048)),
        ("memory", "512", None),
        ("memory", "8M", None),
        ("memory", "M", None),
        ("memory", "-1M", None),
        ("memory", "99999999999999999999G", None),
        ("time", "90", Some(90)),
        ("time", "90s", Some(90)),
        ("time", "10m", Some(600)),
        ("time", "2h", Some(7200)),
        ("time", "0", None),
        ("time", "1.5h", None),
        ("pids", "128", Some(128)),
        ("pids", "0", None),
        ("cpus", "1.5", Some(1500)),
        ("cpus", "0.001", None),
        ("cpus", "inf", None),
        ("cpus", "1e3", None),
    ] {
        let given = flags(&[(flag, value)]);
        let limits = given.map(|flags| Policy::closed("x").with_user_flags(&flags).limits).ok();
        let number = limits.and_then(|limits| {
            let small = limits.pids.or(limits.cpu_millis).map(u64::from);
            limits.memory_mb.or(limits.walltime_sec).or(small)
        });
        assert_eq!(number, expected, "--{flag} {value}");
    }
}

/// V16, K60
#[test]
fn flags_are_refused_with_a_reason() {
    let mut drawn = String::new();
    for given in [
        vec![("ro", "/run")],
        vec![("ro", "/a"), ("rw", "/a")],
        vec![("env", "HOME")],
        vec![("env", "A-B=1")],
        vec![("command", "/bin/ls")],
        vec![("net", "*")],
        vec![("net", "::/0")],
        vec![("net", "xn--ü.example")],
        vec![("host-port", "0")],
        vec![("publish", "1080")],
        vec![("publish", "80"), ("host-port", "80")],
        vec![("seccomp", "off")],
        vec![("state", "keep")],
        vec![("memory", "512")],
        vec![("pids", "\u{1b}[2J")],
    ] {
        drawn.push_str(&format!("{}\n", flags(&given).unwrap_err()));
    }
    insta::assert_snapshot!(drawn);
    assert_eq!(flags(&[("ro", "/a"), ("ro", "/a"), ("hide", "/run")]).map(|_| ()), Ok(()));
}

/// V16: as many as a policy's list may have, counted over all flags.
#[test]
fn destinations_are_bounded() {
    let hosts: Vec<String> = (0..=1024).map(|number| format!("h{number}.example")).collect();
    let (most, one_more) = hosts.split_at(1024);
    let most = most.join(",");
    assert_eq!(flags(&[("net", &most)]).map(drop), Ok(()));
    assert_eq!(flags(&[("net", &most), ("net", "h0.example")]).map(drop), Ok(()));
    let refused = flags(&[("net", &most), ("net", &one_more[0])]).unwrap_err();
    assert!(refused.contains("more than 1024 destinations"), "{refused}");
}
