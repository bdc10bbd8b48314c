//! What a project's file may say on its own.

use std::collections::BTreeMap;

use plan::{FileKind, HostIds, HostPath, Source, SourceIndex};

use super::Ceiling;
use crate::facts::{Caller, Kept, ResolvedRule};
use crate::text::{parse_project, parse_user};
use crate::{Cage, HostFacts, Place, Policy};

fn place(project: &str) -> Place {
    Place {
        project: HostPath::new(project).unwrap(),
        home: Some(HostPath::new("/home/u").unwrap()),
        own_state: Vec::new(),
    }
}

fn cage(place: &Place, words: &str) -> Cage {
    let text = format!("version = 1\n[cage.x]\n{words}\n");
    let mut document = parse_project("stockade.toml", text.as_bytes(), place).unwrap();
    document.cages.shift_remove("x").unwrap()
}

fn policy(place: &Place, words: &str) -> Policy {
    match cage(place, words) {
        Cage::Enabled(policy) => policy,
        Cage::Disabled { .. } => panic!("disabled"),
    }
}

fn asked(ceiling: &Ceiling, policy: &Policy) -> Vec<String> {
    ceiling
        .check(policy)
        .err()
        .map_or_else(Vec::new, |excess| excess.asked.iter().map(ToString::to_string).collect())
}

/// T50
#[test]
fn a_project_has_its_own_tree_and_no_more() {
    let place = place("/home/u/project");
    let ceiling = Ceiling::built_in(&place);
    let modest = policy(
        &place,
        "fs = [{ rw = \".\" }]\nenv = { LANG = true, LC_ALL = true, MODE = \"test\" }\nstate = \"scratch\"\nlimits = { pids = 5 }",
    );
    assert_eq!(asked(&ceiling, &modest), [""; 0]);
    assert_eq!(ceiling.apply(&modest), Ok(modest));
    let greedy = policy(
        &place,
        "fs = [{ rw = \".\" }]\nenv = [\"AWS_SECRET_ACCESS_KEY\"]\nseccomp = \"relaxed\"\nnet = { allow = [\"example.com:443\"], host_ports = [5432], publish = [8080] }",
    );
    insta::assert_snapshot!(ceiling.check(&greedy).unwrap_err());
}

/// M37: a file that was dropped into a home does not get the home.
#[test]
fn a_home_is_no_project() {
    for root in ["/home/u", "/home", "/etc"] {
        let place = place(root);
        let excess = asked(&Ceiling::built_in(&place), &policy(&place, "fs = [{ ro = \"x\" }]"));
        assert_eq!(excess.len(), 1, "{root}");
    }
}

/// K157, T50: no project switches its own cage off.
#[test]
fn a_disabled_cage_is_beyond_any_ceiling() {
    let place = place("/home/u/project");
    let text = "version = 1\n[cage]\nx = \"disabled\"";
    let document = parse_project("stockade.toml", text.as_bytes(), &place).unwrap();
    let excess = Ceiling::built_in(&place).apply_to_cage(&document.cages["x"]).unwrap_err();
    insta::assert_snapshot!(excess, @r#"
    the policy asks for more than its ceiling:
      to run without any cage (`"disabled"`) (stockade.toml:3); the ceiling gives a cage
    "#);
    let enabled = cage(&place, "fs = [{ ro = \".\" }]");
    assert_eq!(Ceiling::built_in(&place).apply_to_cage(&enabled), Ok(enabled));
}

/// What the user's ceiling hides, denies and bounds holds inside of what a project may have.
#[test]
fn a_ceiling_of_the_users_own() {
    let place = place("/home/u/project");
    let text = r#"
version = 1
[ceiling]
fs = [{ rw = "." }, { hide = "private" }]
env = ["MY_*"]
net.allow = ["**.example.com:443"]
net.deny = ["bad.example.com"]
net.reasons = { "bad.example.com" = "of the ceiling" }
net.host_ports = [5432]
net.publish = [5432, 8080]
limits = { memory_mb = 512 }
"#;
    let ceiling = parse_user("config.toml", text.as_bytes(), &place).unwrap().ceiling.unwrap();
    let given = ceiling
        .apply(&policy(
            &place,
            "fs = [{ ro = \".\" }]\nenv = [\"MY_MODE\"]\nnet = { allow = [\"a.example.com:443\"], publish = [8080] }",
        ))
        .unwrap();
    let rules: Vec<_> =
        given.fs.iter().map(|rule| format!("{} {}", rule.access.word(), rule.path)).collect();
    assert_eq!(rules, ["ro /home/u/project", "hide /home/u/project/private"]);
    assert_eq!(given.net.deny.len(), 1);
    assert_eq!(given.net.reasons.values().collect::<Vec<_>>(), ["of the ceiling"]);
    assert_eq!((given.net.host_ports.len(), given.net.publish.len()), (0, 1));
    assert_eq!(given.limits.memory_mb, Some(512));
    for (words, expected) in [
        ("env = [\"LANG\"]", 1),
        ("fs = [{ ro = \"private\" }]", 1),
        ("net.allow = [\"a.example.com\", \"other.example:443\"]", 2),
        ("net.host_ports = [5432, 5433]", 1),
        ("net.publish = [80, 8080]", 1),
        ("limits = { memory_mb = 513 }", 1),
    ] {
        assert_eq!(asked(&ceiling, &policy(&place, words)).len(), expected, "{words}");
    }
}

/// T53: what a person is asked to approve cannot mislead.
#[test]
fn what_is_asked_is_safe_to_print() {
    let place = place("/home/u");
    let excess = Ceiling::built_in(&place)
        .check(&policy(&place, "fs = [{ rw = \"a\u{202e}b\" }]"))
        .unwrap_err();
    let printed = excess.to_string();
    assert!(printed.contains("\\u{202e}"), "{printed}");
    assert!(!printed.chars().any(|c| c != '\n' && crate::shown::misleads(c)));
}

/// Facts in which each rule's path was found at the given place.
fn found_at(real_paths: &[&str]) -> HostFacts {
    let path = |text: &str| HostPath::new(text).unwrap();
    let source =
        |text: &&str| Source { path: path(text), kind: FileKind::Directory, device: 1, inode: 1 };
    let rule = |index: usize| ResolvedRule::Found {
        source: SourceIndex(u32::try_from(index).unwrap()),
        owner: (1000, 1000),
        caller_owned: true,
    };
    HostFacts {
        caller: Caller {
            ids: HostIds { uid: 1000, gid: 1000 },
            privileged: false,
            home: Some(path("/home/u")),
        },
        sources: real_paths.iter().map(source).collect(),
        rules: (0..real_paths.len()).map(rule).collect(),
        base: Vec::new(),
        commands: Vec::new(),
        secrets: Vec::new(),
        protected: Vec::new(),
        between: Vec::new(),
        stores: BTreeMap::new(),
        fuse: None,
        inside: None,
        environment: Vec::new(),
        kept: Kept::default(),
        project: path("/home/u/project"),
        working_directory: path("/home/u/project"),
        umask: 0o022,
    }
}

/// T1, T50: a link inside the project does not lead around the user's ceiling.
#[test]
fn a_ceiling_holds_where_links_lead() {
    let place = place("/home/u/project");
    let ceiling = |rules: &str| {
        let text = format!("version = 1\n[ceiling]\nfs = [{rules}]");
        parse_user("config.toml", text.as_bytes(), &place).unwrap().ceiling.unwrap()
    };
    let hiding = ceiling("{ rw = \".\" }, { hide = \"private\" }");
    let small = ceiling("{ rw = \"src\" }");
    let asks = policy(&place, "fs = [{ ro = \"src/link\" }]");
    for (ceiling, real_path, holds) in [
        (&hiding, "/home/u/project/src/link", true),
        (&hiding, "/home/u/project/docs", true),
        (&hiding, "/home/u/project/private/x", false),
        (&small, "/home/u/project/src/link", true),
        (&small, "/home/u/project/src/other", true),
        (&small, "/home/u/project/docs", false),
    ] {
        assert!(ceiling.check(&asks).is_ok());
        let outcome = ceiling.check_resolved(&asks, &found_at(&[real_path]));
        assert_eq!(outcome.is_ok(), holds, "{real_path}");
    }
}

/// T50: a project that lies around a user's secrets may have its tree, and not name them.
#[test]
fn a_projects_file_does_not_name_the_users_secrets() {
    for (project, words) in [
        ("/home/u/.config", "fs = [{ ro = \".\" }, { ro = \"gh\" }]"),
        ("/home/u/.config", "fs = [{ rw = \"gh/hosts.yml\" }]"),
        ("/home/other/.config", "fs = [{ ro = \"gh\" }]"),
        ("/root/.config", "fs = [{ ro = \"gh\" }]"),
    ] {
        let place = place(project);
        let excess = asked(&Ceiling::built_in(&place), &policy(&place, words));
        assert_eq!(excess.len(), 1, "{project}: {words}");
        assert!(excess[0].contains("(GitHub command line credentials)"), "{excess:?}");
    }
    for (project, words) in [
        ("/home/u/.config", "fs = [{ ro = \".\" }, { hide = \"gh\" }]"),
        ("/home/u/.config", "fs = [{ ro = \"ghost\" }, { ro = \"git\" }]"),
        // Whoever starts a cage in such a directory has named it.
        ("/home/u/.config/gh", "fs = [{ ro = \".\" }, { rw = \"extensions\" }]"),
        ("/srv/.config", "fs = [{ ro = \"gh\" }]"),
    ] {
        let place = place(project);
        assert_eq!(asked(&Ceiling::built_in(&place), &policy(&place, words)), [""; 0], "{words}");
    }
}

/// T50: the user's ceiling gives a secret by its name, as any rule does.
#[test]
fn a_ceiling_gives_the_secrets_that_it_names() {
    let place = place("/home/u/.config");
    let ceiling = |rules: &str| {
        let text = format!("version = 1\n[ceiling]\nfs = [{rules}]");
        parse_user("config.toml", text.as_bytes(), &place).unwrap().ceiling.unwrap()
    };
    let asks = policy(&place, "fs = [{ ro = \"gh/hosts.yml\" }]");
    assert_eq!(asked(&ceiling("{ rw = \".\" }, { ro = \"gh\" }"), &asks), [""; 0]);
    assert_eq!(asked(&ceiling("{ rw = \".\" }"), &asks).len(), 1);
    let capability = crate::capabilities::policy(["read:fs:/home/u/.ssh/id"], &place).unwrap();
    assert_eq!(asked(&ceiling("{ ro = \"~\" }"), &capability).len(), 1);
    assert_eq!(asked(&ceiling("{ ro = \"~\" }, { ro = \"~/.ssh\" }"), &capability), [""; 0]);
}

/// T1, T50: nor does a link, or another name of the home.
#[test]
fn a_link_does_not_name_the_users_secrets() {
    let place = place("/home/u/.config");
    let ceiling = Ceiling::built_in(&place);
    let asks = policy(&place, "fs = [{ ro = \"link\" }]");
    for (real_path, holds) in [
        ("/home/u/.config/link", true),
        ("/home/u/.config/gh", false),
        ("/home/u/.config/gh/hosts.yml", false),
    ] {
        assert!(ceiling.check(&asks).is_ok());
        let outcome = ceiling.check_resolved(&asks, &found_at(&[real_path]));
        assert_eq!(outcome.is_ok(), holds, "{real_path}");
    }
    let elsewhere = Place { home: None, ..self::place("/data/u/.config") };
    let ceiling = Ceiling::built_in(&elsewhere);
    let asks = policy(&elsewhere, "fs = [{ ro = \"gh\" }]");
    assert!(ceiling.check(&asks).is_ok());
    let mut facts = found_at(&["/data/u/.config/gh"]);
    facts.caller.home = Some(HostPath::new("/data/u").unwrap());
    assert!(ceiling.check_resolved(&asks, &facts).is_err());
}
