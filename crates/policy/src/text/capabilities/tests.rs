//! Capabilities: what each gives, what is refused and what was meant, and that none ever gives more.

use proptest::prelude::*;

use super::*;
use crate::{Ceiling, Limits, Network, Seccomp, State, is_within};

fn host(path: &str) -> HostPath {
    HostPath::new(path.to_owned()).unwrap()
}

fn place() -> Place {
    Place {
        project: host("/srv/app"),
        home: Some(host("/home/u")),
        own_state: vec![host("/home/u/.local/state/stockade")],
    }
}

fn parsed(words: &[&str]) -> Result<Policy, CapabilityErrors> {
    policy(words.iter().copied(), &place())
}

/// Access, path and whether it must stay beneath the project, of each rule.
fn rules(policy: &Policy) -> Vec<(FsAccess, String, Reach)> {
    policy.fs.iter().map(|rule| (rule.access, rule.path.to_string(), rule.reach)).collect()
}

/// K208
#[test]
fn each_capability_gives_what_it_says() {
    use FsAccess::{ReadOnly, ReadWrite};
    use Reach::{Anywhere, BeneathProject};
    let policy = parsed(&[
        "read:fs:src",
        "write:fs:./out/",
        "read:fs:/srv/app/data",
        "read:fs:/opt/models",
        "write:fs:~/notes",
        "net:example.com:443",
        "net:*.example.org:8000-8010",
        "net:[2001:db8::1]:53",
        "net:192.0.2.0/24:80",
        "exec:git",
        "exec:python3",
    ])
    .unwrap();
    let path = |path: &str| path.to_owned();
    assert_eq!(
        rules(&policy),
        [
            (ReadWrite, path("/home/u/notes"), Anywhere),
            (ReadOnly, path("/opt/models"), Anywhere),
            (ReadOnly, path("/srv/app/data"), BeneathProject),
            (ReadWrite, path("/srv/app/out"), BeneathProject),
            (ReadOnly, path("/srv/app/src"), BeneathProject),
        ]
    );
    let allowed: Vec<String> = policy.net.allow.keys().map(ToString::to_string).collect();
    assert_eq!(
        allowed,
        ["example.com:443", "*.example.org:8000-8010", "192.0.2.0/24:80", "[2001:db8::1]:53"]
    );
    let programs = ["git", "python3"].map(str::to_owned).into_iter().collect();
    assert_eq!(policy.commands, Commands::Listed(programs));
}

/// K208
#[test]
fn nothing_asked_for_is_nothing_given() {
    let policy = parsed(&[]).unwrap();
    let closed = Policy::closed(PLUGIN_CAGE);
    assert_eq!(policy, Policy { commands: Commands::None, ..closed });
    assert!(policy.net.asks_for_nothing());
}

#[test]
fn capabilities_add_up() {
    let once = parsed(&["write:fs:a", "exec:git"]).unwrap();
    for words in [
        ["read:fs:a", "write:fs:a", "exec:git", "exec:git"],
        ["write:fs:a", "read:fs:./a", "exec:git", "write:fs:a/"],
    ] {
        let policy = parsed(&words).unwrap();
        assert_eq!((rules(&policy), policy.commands), (rules(&once), once.commands.clone()));
    }
}

/// K209
#[test]
fn nothing_says_without_a_cage() {
    for word in ["disabled", "uncaged", "*", "all", "none", "Disabled", "no-sandbox", "root:"] {
        let refused = parsed(&[word]).unwrap_err();
        let [error] = refused.errors.as_slice() else { panic!("{refused}") };
        assert_eq!(error.problem, CapabilityProblem::Uncaged, "{refused}");
        assert_eq!(error.to_string(), format!("`{word}`: a plugin is always caged"));
    }
    for word in ["exec:*", "exec:base", "exec:none", "net:*:443", "net:0.0.0.0/0:443", "read:fs:/"]
    {
        parsed(&[word]).unwrap_err();
    }
}

#[test]
fn what_was_meant_is_offered() {
    for (word, meant) in [
        ("raed:fs:src", Some("read:fs:src")),
        ("read:src", Some("read:fs:src")),
        ("fs:read:src", Some("read:fs:src")),
        ("READ:fs:src", Some("read:fs:src")),
        ("read:file:src", Some("read:fs:src")),
        ("rw:out", Some("write:fs:out")),
        (" write:fs:out", Some("write:fs:out")),
        ("net:example.com", Some("net:example.com:443")),
        ("net:https://example.com/path", Some("net:example.com:443")),
        ("net:http://example.com", Some("net:example.com:80")),
        ("network:example.com:22", Some("net:example.com:22")),
        ("connect:example.com", Some("net:example.com:443")),
        ("exec:/usr/bin/git", Some("exec:git")),
        ("exec:git status", Some("exec:git")),
        ("run:make", Some("exec:make")),
        ("exec:", None),
        ("read:fs:", None),
        ("read:fs:../up", None),
        ("net:", None),
        ("net:example.com:0", None),
        ("teleport:moon", None),
        ("", None),
        ("read:fs:/proc", None),
        ("read:/proc", None),
    ] {
        let refused = parsed(&[word]).unwrap_err();
        let [error] = refused.errors.as_slice() else { panic!("{refused}") };
        assert_eq!(error.meant.as_deref(), meant, "{error}");
    }
}

#[test]
fn all_errors_are_told_at_once() {
    let refused =
        parsed(&["read:fs:src", "net:x y:1", "exec:a/b", "fly:away", "net:h"]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the capabilities cannot be used:\n  \
         `net:x y:1`: the entry has white space, a NUL or another control character\n  \
         `exec:a/b`: the name of the program has a path in it; did you mean `exec:b`?\n  \
         `fly:away`: there is no such capability; there are `read:fs:PATH`, `write:fs:PATH`, \
         `net:HOST:PORT` and `exec:NAME`\n  \
         `net:h`: the port is missing; did you mean `net:h:443`?"
    );
    let many = vec!["exec:x"; MAX_CAPABILITIES + 5];
    let refused = parsed(&many).unwrap_err();
    assert_eq!(refused.errors.len(), 1);
}

/// T53: nothing in a message acts on a terminal, and none is endless.
#[test]
fn errors_are_safe_to_print() {
    let long = format!("read:\u{1b}[2J{}", "x".repeat(100_000));
    let text = parsed(&[&long, "exec:\u{202e}\n", "net:\u{7}:1"]).unwrap_err().to_string();
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.lines().flat_map(str::chars).all(|character| !crate::shown::misleads(character)));
    assert_eq!(text.lines().count(), 4);
}

/// K208: the ceiling bounds what a plugin gets, and refuses what goes beyond it.
#[test]
fn the_ceiling_holds() {
    let ceiling = Ceiling::built_in(&place());
    let inside = parsed(&["write:fs:out", "exec:git"]).unwrap();
    let narrowed = ceiling.apply(&inside).unwrap();
    assert!(is_within(&narrowed, &inside).is_ok());
    for word in ["net:example.com:443", "read:fs:/opt/models", "write:fs:~/notes"] {
        let excess = ceiling.apply(&parsed(&[word]).unwrap()).unwrap_err();
        assert!(excess.to_string().contains(&format!("capability `{word}`")), "{excess}");
    }
    let bound = Policy {
        limits: Limits { memory_mb: Some(64), ..Limits::default() },
        ..ceiling.bound.clone()
    };
    let bounded = Ceiling { bound, ..ceiling }.apply(&inside).unwrap();
    assert_eq!(bounded.limits.memory_mb, Some(64));
}

/// K208: the longer path does not take away what another capability gives, and what is hidden in
/// that is given as far as it is named.
#[test]
fn reading_inside_of_what_can_be_written_takes_nothing_away() {
    let given = |words: &[&str]| rules(&parsed(words).unwrap());
    assert_eq!(given(&["read:fs:v/a", "write:fs:v"]), given(&["write:fs:v"]));
    let nested = ["read:fs:v", "write:fs:v/a", "read:fs:v/a/b", "read:fs:v/c"];
    assert_eq!(given(&nested), given(&["read:fs:v", "write:fs:v/a", "read:fs:v/c"]));
    let named = ["write:fs:~/.config", "read:fs:~/.config/gh"];
    assert_eq!(given(&named).len(), 2);
    let within = ["write:fs:~/.config/gh", "read:fs:~/.config/gh/hosts.yml"];
    assert_eq!(given(&within).len(), 1);
}

fn capability() -> impl Strategy<Value = String> {
    // A few names, so that paths lie in each other.
    let path = prop_oneof![
        "[a-c](/[a-b]){0,2}",
        "[a-z]{1,3}(/[a-z]{1,2}){0,2}",
        "/opt/[a-z]{1,3}",
        "~/[a-z]{1,3}"
    ];
    prop_oneof![
        path.clone().prop_map(|path| format!("read:fs:{path}")),
        path.prop_map(|path| format!("write:fs:{path}")),
        ("[a-z]{1,8}\\.example", 1..u16::MAX).prop_map(|(host, port)| format!("net:{host}:{port}")),
        "[a-z][a-z0-9]{0,7}".prop_map(|name| format!("exec:{name}")),
    ]
    .prop_filter("words for all and none", |word| {
        !matches!(word.as_str(), "exec:base" | "exec:none")
    })
}

proptest! {
    /// K208, K209: whatever is written, a policy comes of it that has only what capabilities can
    /// give, or an error for each.
    #[test]
    fn any_text_is_read_to_an_answer(words in prop::collection::vec("\\PC{0,30}|(read|write|net|exec|fs):\\PC{0,20}", 0..6)) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match parsed(&words) {
            Ok(policy) => {
                prop_assert_eq!(policy.seccomp, Seccomp::Default);
                prop_assert_eq!(policy.state, State::Ephemeral);
                prop_assert!(policy.env.is_empty());
                let Network { deny, reasons, host_ports, publish, .. } = policy.net;
                prop_assert!(deny.is_empty() && reasons.is_empty());
                prop_assert!(host_ports.is_empty() && publish.is_empty());
                prop_assert!(policy.commands != Commands::Base);
            }
            Err(refused) => {
                prop_assert!(!refused.errors.is_empty());
                for error in &refused.errors {
                    if let Some(meant) = &error.meant {
                        prop_assert!(parsed(&[meant]).is_ok(), "{}", meant);
                    }
                }
            }
        }
    }

    /// K208: more capabilities never give less, and each alone is within all of them.
    #[test]
    fn capabilities_only_add(words in prop::collection::vec(capability(), 1..8)) {
        let all: Vec<&str> = words.iter().map(String::as_str).collect();
        let together = parsed(&all).unwrap();
        for word in &all {
            let alone = parsed(&[word]).unwrap();
            prop_assert!(is_within(&alone, &together).is_ok(), "{} in {:?}", word, all);
        }
        let mut reversed = all.clone();
        reversed.reverse();
        let other = parsed(&reversed).unwrap();
        prop_assert_eq!(rules(&other), rules(&together));
        prop_assert_eq!(other.commands, together.commands);
    }
}
