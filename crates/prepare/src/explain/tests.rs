//! Answers to `why`, with the rule that decides and what to add.

use plan::HostPath;

use super::{PathVerdict, VariableVerdict, path, suggest_destination, suggest_host_port, variable};
use policy::text::{parse_project, parse_user};
use policy::{Cage, Place, Policy};

fn place() -> Place {
    Place {
        project: host("/home/u/project"),
        home: Some(host("/home/u")),
        own_state: vec![host("/home/u/.config/stockade")],
    }
}

fn host(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

fn policy() -> Policy {
    let text = r#"version = 1
[cage.x]
fs = [
  { ro = "." },
  { rw = "build" },
  { rw = ".git" },
  { hide = "secrets" },
  { ro = "~/.config" },
  { hide = "/opt/x" },
]
env = { LANG = true, MODE = "test" }
"#;
    let document = parse_user("config.toml", text.as_bytes(), &place()).unwrap();
    match &document.cages["x"] {
        Cage::Enabled(policy) => policy.clone(),
        Cage::Disabled { .. } => panic!("disabled"),
    }
}

#[test]
fn paths_have_a_verdict() {
    use PathVerdict::{Absent, Base, Hidden, Private, Protected, ReadOnly, ReadWrite};
    for (asked, expected) in [
        ("/home/u/project/src/a", ReadOnly),
        ("/home/u/project/build/a", ReadWrite),
        ("/home/u/project/.git/index", ReadWrite),
        ("/home/u/project/.git/hooks/pre-commit", Protected),
        ("/home/u/project/secrets/key", Hidden),
        ("/home/u/.config/x", ReadOnly),
        ("/home/u/.config/gh/hosts.yml", Hidden),
        ("/home/u/.config/stockade/config.toml", Hidden),
        ("/home/u/.ssh", Absent),
        ("/home/u", Private),
        ("/opt/x/y", Absent),
        ("/etc/shadow", Absent),
        ("/usr/bin/env", Base),
        ("/tmp/x", Private),
        ("/run/docker.sock", Absent),
    ] {
        assert_eq!(path(&policy(), &place(), &host(asked)).verdict, expected, "{asked}");
    }
}

/// The rule's file and line, the table that stands against it, and what to add.
#[test]
fn answers_name_rule_and_remedy() {
    let answers: Vec<String> = [
        "/home/u/project/src/a",
        "/home/u/project/build/a",
        "/home/u/project/.git/hooks/pre-commit",
        "/home/u/project/secrets/a \"b\"",
        "/home/u/.config/gh/hosts.yml",
        "/home/u/.ssh/id's",
        "/run/docker.sock",
        "/home/u/\u{202e}x",
    ]
    .into_iter()
    .map(|asked| path(&policy(), &place(), &host(asked)).to_string())
    .collect();
    insta::assert_snapshot!(answers.join("\n\n"));
}

#[test]
fn variables_have_a_verdict() {
    for (name, expected) in [
        ("LANG", VariableVerdict::PassedOn),
        ("MODE", VariableVerdict::Set),
        ("HOME", VariableVerdict::Fixed),
        ("PATH", VariableVerdict::Default),
        ("SECRET", VariableVerdict::Absent),
    ] {
        assert_eq!(variable(&policy(), name).verdict, expected, "{name}");
    }
    let answers: Vec<String> = ["LANG", "MODE", "HOME", "PATH", "SECRET"]
        .into_iter()
        .map(|name| variable(&policy(), name).to_string())
        .collect();
    insta::assert_snapshot!(answers.join("\n\n"));
}

/// Proxies are named in a cage with network alone.
#[test]
fn proxy_variables_come_with_the_network() {
    let mut policy = policy();
    assert_eq!(variable(&policy, "https_proxy").verdict, VariableVerdict::Absent);
    policy.net.host_ports.insert(5432, policy::RuleOrigin::BuiltIn("test"));
    assert_eq!(variable(&policy, "https_proxy").verdict, VariableVerdict::Default);
    assert_eq!(variable(&policy, "NO_PROXY").verdict, VariableVerdict::Default);
}

/// What is suggested for a host or a port can be pasted.
#[test]
fn network_suggestions_can_be_pasted() {
    for suggestion in
        [suggest_destination(&"**.example.com:443".parse().unwrap()), suggest_host_port(5432)]
    {
        let pasted = format!("version = 1\n[cage.x]\n{}", suggestion.line.unwrap());
        assert!(parse_project("stockade.toml", pasted.as_bytes(), &place()).is_ok());
    }
    let flag = suggest_destination(&"**.example.com:443".parse().unwrap()).flag;
    assert_eq!(flag, "--net '**.example.com:443'");
}

/// A project's own file is where a project's rule is suggested.
#[test]
fn a_suggestion_can_be_pasted() {
    let text = "version = 1\n[cage.x]\nfs = [{ ro = \"src\" }]";
    let document = parse_project("stockade.toml", text.as_bytes(), &place()).unwrap();
    let Cage::Enabled(policy) = &document.cages["x"] else { panic!("disabled") };
    let answer = path(policy, &place(), &host("/home/u/project/docs/a b"));
    let suggestion = answer.suggestion.unwrap();
    assert_eq!(suggestion.flag, "--ro '/home/u/project/docs/a b'");
    let pasted = format!("version = 1\n[cage.x]\nfs = [{}]", suggestion.line.unwrap());
    assert!(parse_project("stockade.toml", pasted.as_bytes(), &place()).is_ok());
}
