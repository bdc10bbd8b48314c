//! Texts that are right, and what they mean.

use super::{codes, path, place, policy, project, rules, user};
use crate::text::{AgentCage, weight_of_shares};
use crate::{Cage, Commands, Limits, Reach, RuleOrigin, Seccomp, State};

/// K17, K18, K19, K20, K21, K22, K31, K54, K234
#[test]
fn every_word_is_read() {
    let document = project(
        r#"
version = 1
[cage.default]
fs = [{ ro = "." }, { rw = "build" }, { hide = "secrets" }]
commands = "base"
env = ["LANG", "TERM"]
net.allow = ["**.example.com:443", "10.0.0.0/8:5432"]
net.deny = ["Bad.Example.com.", "bücher.example"]
net.reasons = { "**.Example.org" = "use the mirror" }
net.host_ports = [5432, 6379, 5432]
net.publish = [8080]
state = "scratch"
seccomp = "relaxed"
limits = { memory_mb = 512, cpu_shares = 1024, pids = 128, walltime_sec = 600, cpus = 1.5 }
[cage.scraper]
extends = "default"
[cage.open]
[agent.reviewer]
cage = "scraper"
command = ["claude", "--review"]
[agent.trusted]
cage = "disabled"
"#,
    )
    .unwrap();
    let default = policy(&document, "default");
    assert_eq!(
        rules(&default),
        ["ro /home/u/project", "rw /home/u/project/build", "hide /home/u/project/secrets"]
    );
    assert!(default.fs.iter().all(|rule| rule.reach == Reach::BeneathProject));
    let origin = RuleOrigin::File { file: "stockade.toml".into(), line: 4, column: 28 };
    assert_eq!(default.fs[1].origin, origin);
    assert_eq!(default.commands, Commands::Base);
    assert_eq!(default.env.keys().collect::<Vec<_>>(), ["LANG", "TERM"]);
    let allowed: Vec<String> = default.net.allow.keys().map(ToString::to_string).collect();
    assert_eq!(allowed, ["**.example.com:443", "10.0.0.0/8:5432"]);
    let denied: Vec<String> = default.net.deny.keys().map(ToString::to_string).collect();
    assert_eq!(denied, ["bad.example.com", "xn--bcher-kva.example"]);
    let reasons: Vec<String> =
        default.net.reasons.iter().map(|(host, text)| format!("{host}: {text}")).collect();
    assert_eq!(reasons, ["**.example.org: use the mirror"]);
    assert_eq!(default.net.host_ports.keys().collect::<Vec<_>>(), [&5432, &6379]);
    assert_eq!(default.net.host_ports[&6379].to_string(), "stockade.toml:10");
    assert_eq!(default.net.publish.keys().collect::<Vec<_>>(), [&8080]);
    assert_eq!((default.state, default.seccomp), (State::Scratch, Seccomp::Relaxed));
    let limits = Limits {
        memory_mb: Some(512),
        cpu_weight: Some(39),
        cpu_millis: Some(1500),
        pids: Some(128),
        walltime_sec: Some(600),
        ..Limits::default()
    };
    assert_eq!(default.limits, limits);
    let scraper = policy(&document, "scraper");
    assert_eq!(scraper.name, "scraper");
    assert_eq!(scraper, crate::Policy { name: "scraper".to_owned(), ..default });
    let open = policy(&document, "open");
    assert_eq!(open, crate::Policy::closed("open"), "what is not written is not given (K46)");
    assert_eq!(document.agents["reviewer"].cage, AgentCage::Named("scraper".to_owned()));
    assert_eq!(document.agents["reviewer"].command, ["claude", "--review"]);
    assert_eq!(document.agents["trusted"].cage, AgentCage::Disabled(crate::Limits::default()));
    assert_eq!(document.cages.keys().collect::<Vec<_>>(), ["default", "scraper", "open"]);
    assert_eq!(document.ceiling, None);
}

/// V11
#[test]
fn commands_are_all_none_or_a_list() {
    for (written, expected) in [
        (r#""base""#, Commands::Base),
        (r#""none""#, Commands::None),
        ("[]", Commands::None),
        (r#"["ls", "cat", "ls"]"#, Commands::Listed(["cat".to_owned(), "ls".to_owned()].into())),
    ] {
        let document = project(&format!("version = 1\n[cage.x]\ncommands = {written}")).unwrap();
        assert_eq!(policy(&document, "x").commands, expected, "{written}");
    }
}

/// V12
#[test]
fn variables_are_passed_on_or_set() {
    let document =
        project("version = 1\n[cage.x]\nenv = { LANG = true, MODE = \"a\\nb\", EMPTY = \"\" }")
            .unwrap();
    let env = policy(&document, "x").env;
    assert_eq!(env["LANG"].value, None);
    assert_eq!(env["MODE"].value, Some("a\nb".into()));
    assert_eq!(env["EMPTY"].value, Some("".into()));
}

/// K54: the ends of both scales and the conversion in between.
#[test]
fn shares_become_weights() {
    for (shares, weight) in [(2, 1), (1024, 39), (262_144, 10_000), (1, 1), (u32::MAX, 10_000)] {
        assert_eq!(weight_of_shares(shares), weight, "{shares}");
    }
}

/// K31, K236: a path is written in many ways and means one place; the same rule twice is one.
#[test]
fn paths_are_normal() {
    let document = project(
        "version = 1\n[cage.x]\nfs = [{ ro = \"./src/\" }, { ro = \"src\" }, { ro = \"a//b/./c\" }, \
         { rw = \"./\" }, { ro = \"./~x\" }, { ro = \"./$x\" }, { ro = \"[id]\" }]",
    )
    .unwrap();
    assert_eq!(
        rules(&policy(&document, "x")),
        [
            "ro /home/u/project/src",
            "ro /home/u/project/a/b/c",
            "rw /home/u/project",
            "ro /home/u/project/~x",
            "ro /home/u/project/$x",
            "ro /home/u/project/[id]",
        ]
    );
}

/// Only the user's own configuration names what lies outside the project.
#[test]
fn the_users_paths_lead_anywhere() {
    let document = user(
        "version = 1\n[cage.x]\nfs = [{ ro = \"~/notes\" }, { ro = \"~\" }, { rw = \"/opt/x\" }, { ro = \"src\" }]",
    )
    .unwrap();
    let given = policy(&document, "x");
    assert_eq!(
        rules(&given),
        ["ro /home/u/notes", "ro /home/u", "rw /opt/x", "ro /home/u/project/src"]
    );
    let reaches: Vec<_> = given.fs.iter().map(|rule| rule.reach).collect();
    assert_eq!(reaches, [Reach::Anywhere, Reach::Anywhere, Reach::Anywhere, Reach::BeneathProject]);
}

/// What is listed in the defaults, every cage has: a cage's own list cannot lose a hidden path.
#[test]
fn defaults_are_joined() {
    let document = project(
        r#"
version = 1
[defaults]
fs = [{ hide = "secrets" }, { ro = "docs" }]
env = ["LANG"]
commands = "none"
net.deny = ["bad.example.com"]
limits = { pids = 5, walltime_sec = 9 }
[cage.x]
fs = [{ ro = "." }, { rw = "docs" }]
env = ["TERM"]
net.allow = ["**.example.com"]
limits = { pids = 7 }
[cage.y]
commands = "base"
[cage.part]
extends = "x"
fs = [{ ro = "." }]
[cage]
z = "disabled"
"#,
    )
    .unwrap();
    let x = policy(&document, "x");
    assert_eq!(
        rules(&x),
        ["hide /home/u/project/secrets", "ro /home/u/project", "rw /home/u/project/docs"]
    );
    assert_eq!(x.env.len(), 2);
    assert_eq!(x.commands, Commands::None);
    assert_eq!((x.net.allow.len(), x.net.deny.len()), (1, 1));
    assert_eq!((x.limits.pids, x.limits.walltime_sec), (Some(7), Some(9)));
    let y = policy(&document, "y");
    assert_eq!(y.commands, Commands::Base);
    assert_eq!(y.env.len(), 1);
    assert_eq!(
        rules(&policy(&document, "part")),
        ["ro /home/u/project", "hide /home/u/project/secrets"]
    );
    // K162
    let Cage::Disabled { limits, .. } = &document.cages["z"] else { panic!("not disabled") };
    assert_eq!(limits.walltime_sec, Some(9));
}

/// A chain of cages is narrowed step by step, whatever their order in the text.
#[test]
fn extending_takes_the_holders_words_where_silent() {
    let document = project(
        r#"
version = 1
[cage.c]
extends = "b"
fs = [{ ro = "src" }]
[cage.b]
extends = "a"
commands = ["git"]
net.deny = ["x.example.com"]
[cage.a]
fs = [{ rw = "." }, { hide = "src/keys" }]
net.allow = ["**.example.com"]
limits = { memory_mb = 64 }
"#,
    )
    .unwrap();
    let c = policy(&document, "c");
    assert_eq!(rules(&c), ["ro /home/u/project/src", "hide /home/u/project/src/keys"]);
    assert_eq!(c.commands, Commands::Listed(["git".to_owned()].into()));
    assert_eq!((c.net.allow.len(), c.net.deny.len()), (1, 1));
    assert_eq!(c.limits.memory_mb, Some(64));
}

#[test]
fn the_ceiling_is_the_users_alone() {
    let text = "version = 1\n[ceiling]\nfs = [{ rw = \".\" }, { ro = \"~/lib\" }]\nenv = [\"LANG\", \"MY_*\"]\nseccomp = \"relaxed\"\nnet.allow = [\"**.example.com\"]";
    let ceiling = user(text).unwrap().ceiling.unwrap();
    assert_eq!(rules(&ceiling.bound), ["rw /home/u/project", "ro /home/u/lib"]);
    assert_eq!(ceiling.variables, ["LANG", "MY_*"]);
    assert_eq!(ceiling.bound.seccomp, Seccomp::Relaxed);
    assert_eq!(ceiling.bound.net.allow.len(), 1);
    assert_eq!(codes(project(text)), ["unknown-word"]);
}

/// The project's root itself can be one that nobody can grant.
#[test]
fn a_project_at_the_root_grants_nothing() {
    let text = "version = 1\n[cage.x]\nfs = [{ ro = \".\" }]";
    for root in ["/", "/proc/1", "/home/u/.config/stockade"] {
        let place = crate::Place { project: path(root), ..place() };
        let parsed = crate::text::parse_project("stockade.toml", text.as_bytes(), &place);
        assert_eq!(codes(parsed), ["path-ungrantable"], "{root}");
    }
}
