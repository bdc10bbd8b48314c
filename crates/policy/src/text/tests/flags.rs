//! The user's flags, alone and joined with a policy.

use super::{path, policy, project, rules};
use crate::text::{Rules, WrittenRules, words};
use crate::{Commands, Policy, Reach, Seccomp};

/// Flags by their names, as the command line would pass them.
fn flags(given: &[(&str, &str)]) -> Result<Rules, String> {
    let mut written = WrittenRules::default();
    for (flag, value) in given {
        let text = (*value).to_owned();
        match *flag {
            "ro" => written.ro.push(text.into()),
            "rw" => written.rw.push(text.into()),
            "hide" => written.hide.push(text.into()),
            "env" => written.env.push(text.into()),
            "command" => written.commands.get_or_insert_default().push(text),
            "seccomp" => written.seccomp = Some(text),
            "state" => written.state = Some(text),
            "net" => written.net.push(text),
            "host-port" => written.host_ports.push(text),
            "publish" => written.publish.push(text),
            "memory" => written.memory = Some(text),
            "pids" => written.pids = Some(text),
            "cpus" => written.cpus = Some(text),
            "time" => written.time = Some(text),
            other => panic!("{other}"),
        }
    }
    read(&written)
}

fn read(written: &WrittenRules) -> Result<Rules, String> {
    written.read(&path("/home/u/project"), None, &[]).map_err(|error| error.to_string())
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
    assert_eq!(rules(&joined), ["ro /home/u/project", "ro /opt/x", "rw /home/u/project/a"]);
    assert_eq!(joined.fs[1].reach, Reach::Anywhere);
    assert_eq!(joined.fs[1].origin.to_string(), "--ro /opt/x");
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
    assert_eq!(policy.with_user_flags(&Rules::default()), policy);
    assert_eq!(policy.with_user_flags(&flags(&[]).unwrap()), policy);
    assert!(!flags(&[]).unwrap().has_paths());
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
        vec![("host-port", "80"), ("publish", "80")],
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

/// A word of the language that has no meaning here would be left out in silence.
#[test]
fn every_word_of_a_choice_has_a_meaning() {
    for (flag, known) in
        [("state", words::STATE), ("seccomp", words::SECCOMP), ("command", words::COMMANDS)]
    {
        for word in known {
            assert_eq!(flags(&[(flag, word.name)]).map(drop), Ok(()), "{flag}");
        }
        let refused = flags(&[(flag, "/")]).unwrap_err();
        let names_all = known.iter().all(|word| refused.contains(&format!("`{}`", word.name)));
        assert!(names_all || flag == "command", "{refused}");
    }
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

/// K19, K60: the fields of a request are the same rules, and a message names the field.
#[test]
fn a_request_has_the_rules_of_the_flags() {
    let request = |value| read(&serde_json::from_value::<WrittenRules>(value).unwrap());
    let asked = request(serde_json::json!({
        "rw": ["/opt/x"], "env": ["LANG=C"], "commands": ["git"], "seccomp": "relaxed",
        "memory": "1G", "pids": 7, "cpus": 1.5, "net": ["a.example"], "host_ports": [80, "81"],
    }));
    let given = flags(&[
        ("rw", "/opt/x"),
        ("env", "LANG=C"),
        ("command", "git"),
        ("seccomp", "relaxed"),
        ("memory", "1G"),
        ("pids", "7"),
        ("cpus", "1.5"),
        ("net", "a.example"),
        ("host-port", "80,81"),
    ]);
    let [asked, given] =
        [asked, given].map(|rules| Policy::closed("x").with_user_flags(&rules.unwrap()));
    assert_eq!(asked.fs[0].origin.to_string(), "rules.rw: /opt/x");
    assert_eq!(asked.net.host_ports[&81].to_string(), "rules.host_ports: 81");
    assert_eq!(rules(&asked), rules(&given));
    assert_eq!(asked.env["LANG"].value, given.env["LANG"].value);
    assert_eq!((asked.commands, asked.seccomp), (given.commands, given.seccomp));
    assert_eq!(asked.limits, given.limits);
    assert!(asked.net.allow.keys().eq(given.net.allow.keys()));
    assert!(asked.net.host_ports.keys().eq(given.net.host_ports.keys()));

    let nothing = request(serde_json::json!({ "commands": [] })).unwrap();
    assert_eq!(nothing.that_needs_a_cage().as_deref(), Some("rules.commands"));
    assert_eq!(Policy::closed("x").with_user_flags(&nothing).commands, Commands::None);
    for (value, message) in [
        (serde_json::json!({ "memory": "8M" }), "`rules.memory: 8M`: expected a size"),
        (serde_json::json!({ "publish": [1080] }), "`rules.publish: 1080`: in a cage"),
        (serde_json::json!({ "env": ["A=\0"] }), "`rules.env: A`: the value has a NUL in it"),
        (serde_json::json!({ "commands": ["git", "base"] }), "`base` is not a program"),
    ] {
        let refused = request(value).unwrap_err();
        assert!(refused.starts_with(message), "{refused}");
    }
}

/// V34, T51: rules that narrow take away; what is more is refused by name, and nothing is given back.
#[test]
fn rules_narrow_a_policy_to_what_they_describe() {
    let document = project(
        "version = 1\n[cage.x]\nfs = [{ rw = \".\" }, { hide = \"a/s\" }]\nnet.allow = [\"example.com:443\"]\nenv = [\"LANG\"]",
    )
    .unwrap();
    let holder = policy(&document, "x");
    let of = |holder: &Policy, given: &[(&str, &str)]| {
        holder.narrow_to(&flags(given).unwrap()).map_err(|refusals| refusals.to_string())
    };
    assert_eq!(of(&holder, &[]), Ok(holder.clone()));
    let less = of(&holder, &[("ro", "/home/u/project/a"), ("memory", "64M")]).unwrap();
    assert_eq!(rules(&less), ["ro /home/u/project/a", "hide /home/u/project/a/s"]);
    assert!(less.limits.memory_mb == Some(64) && less.net == holder.net && less.env == holder.env);
    let hidden = of(&less, &[("hide", "/home/u/project/a/b")]).unwrap();
    assert!(rules(&hidden).contains(&"ro /home/u/project/a".to_owned()), "{:?}", rules(&hidden));
    let alone =
        less.narrow_to(&read(&WrittenRules { no_net: true, ..WrittenRules::default() }).unwrap());
    let alone = alone.unwrap();
    assert!(alone.net.asks_for_nothing());
    for (holder, more, named) in [
        (&less, ("rw", "/home/u/project/a"), "/home/u/project/a"),
        (&less, ("ro", "/home/u/project"), "/home/u/project"),
        (&less, ("memory", "65M"), "memory"),
        (&less, ("env", "TERM"), "TERM"),
        (&alone, ("net", "example.com:443"), "example.com"),
    ] {
        let refused = of(holder, &[more]).unwrap_err();
        assert!(refused.contains(named), "{refused}");
    }
}
