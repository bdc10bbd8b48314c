//! Every kind of error: its code in tables, its drawing in snapshots.

use super::{codes, drawn, project, user};
use crate::text::{Style, parse_project};

/// Wraps one word into a file with one cage.
fn cage(word: &str) -> String {
    format!("version = 1\n[cage.x]\n{word}\n")
}

/// K18, K20, K21, K22, K32, K54, K59, K60, K62, K63, K64, K140, V16, T7
#[test]
fn each_kind_has_its_code() {
    for (word, expected) in [
        ("fss = 1", "unknown-word"),
        ("fs = 1", "wrong-type"),
        ("fs = [1]", "wrong-type"),
        ("fs = [{ ro = 1 }]", "wrong-type"),
        ("fs = [{ read = \".\" }]", "unknown-word"),
        ("fs = [{}]", "missing-word"),
        ("fs = [{ ro = \"a\", rw = \"b\" }]", "conflicting-rules"),
        ("fs = []", "fs-empty"),
        ("fs = [{ hide = \"a\" }]", "fs-only-hides"),
        ("fs = [{ ro = \"\" }]", "path-empty"),
        ("fs = [{ ro = \"a\\u0000b\" }]", "path-nul"),
        ("fs = [{ ro = \"a\\nb\" }]", "path-control"),
        ("fs = [{ ro = \"../a\" }]", "path-parent"),
        ("fs = [{ ro = \"a/../b\" }]", "path-parent"),
        ("fs = [{ ro = \"/etc\" }]", "path-absolute"),
        ("fs = [{ ro = \"~/x\" }]", "path-home"),
        ("fs = [{ ro = \"~root\" }]", "path-home"),
        ("fs = [{ ro = \"**/.env\" }]", "path-pattern"),
        ("fs = [{ ro = \"$HOME/x\" }]", "path-variable"),
        ("fs = [{ ro = \"src\" }, { rw = \"./src\" }]", "conflicting-rules"),
        ("commands = \"all\"", "unknown-value"),
        ("commands = 1", "wrong-type"),
        ("commands = [\"bin/ls\"]", "command-name"),
        ("commands = [\"\"]", "command-name"),
        ("commands = [\"ls -l\"]", "command-name"),
        ("env = \"LANG\"", "wrong-type"),
        ("env = [\"A-B\"]", "env-name"),
        ("env = [\"A=b\"]", "env-name"),
        ("env = [\"HOME\"]", "env-name"),
        ("env = [\"1A\"]", "env-name"),
        ("env = { A = false }", "unknown-value"),
        ("env = { A = 1 }", "wrong-type"),
        ("env = { A = \"\\u0000\" }", "env-value"),
        ("env = [\"LC_*\"]", "env-name"),
        ("net.allow = [\"*\"]", "net-entry"),
        ("net.allow = [\"0.0.0.0/0\"]", "net-entry"),
        ("net.allow = [\"openai:gpt-4\"]", "net-entry"),
        ("net.allow = \"example.com\"", "wrong-type"),
        ("net.allows = []", "unknown-word"),
        ("net.deny = [\"xn--ü.example\"]", "net-entry"),
        ("net.reasons = [\"example.com\"]", "wrong-type"),
        ("net.reasons = { \"*\" = \"x\" }", "net-entry"),
        ("net.reasons = { \"example.com:443\" = \"x\" }", "net-entry"),
        ("net.reasons = { \"example.com\" = 1 }", "wrong-type"),
        ("net.reasons = { \"example.com\" = \" \" }", "net-reason"),
        ("net.reasons = { \"example.com\" = \"a\\nX: b\" }", "net-reason"),
        ("net.reasons = { \"example.com\" = \"a\\u202eb\" }", "net-reason"),
        ("net.host_ports = 5432", "wrong-type"),
        ("net.host_ports = [\"5432\"]", "wrong-type"),
        ("net.host_ports = [0]", "net-port"),
        ("net.host_ports = [65536]", "net-port"),
        ("net.host_ports = [-1]", "net-port"),
        ("net.host_ports = [3128]", "net-port"),
        ("net.publish = [53]", "net-port"),
        ("net = { publish = [80], host_ports = [80] }", "conflicting-rules"),
        ("state = \"keep\"", "unknown-value"),
        ("seccomp = \"off\"", "unknown-value"),
        ("seccomp = true", "wrong-type"),
        ("limits = { memory_mb = 15 }", "out-of-range"),
        ("limits = { memory_mb = -1 }", "out-of-range"),
        ("limits = { memory_mb = 99999999999999999999 }", "out-of-range"),
        ("limits = { memory_mb = 512.0 }", "wrong-type"),
        ("limits = { pids = 0 }", "out-of-range"),
        ("limits = { walltime_sec = 0 }", "out-of-range"),
        ("limits = { cpu_shares = 1 }", "out-of-range"),
        ("limits = { cpu_shares = 262145 }", "out-of-range"),
        ("limits = { cpu_weight = 0 }", "out-of-range"),
        ("limits = { cpu_weight = 10001 }", "out-of-range"),
        ("limits = { cpus = 0.001 }", "out-of-range"),
        ("limits = { cpus = nan }", "out-of-range"),
        ("limits = { cpus = inf }", "out-of-range"),
        ("limits = { cpu_shares = 2, cpu_weight = 1 }", "limit-twice"),
        ("limits = { ram = 1 }", "unknown-word"),
        ("extends = \"y\"", "unknown-cage"),
        ("extends = \"x\"", "extends-cycle"),
        ("extends = 1", "wrong-type"),
    ] {
        assert_eq!(codes(project(&cage(word))), [expected], "{word}");
    }
}

/// V16, T57: the user can name any path but those.
#[test]
fn the_user_cannot_grant_what_nobody_can() {
    for (path, expected) in [
        ("/", "path-ungrantable"),
        ("/run/user/1000", "path-ungrantable"),
        ("/var/run/docker.sock", "path-ungrantable"),
        ("~/.config/stockade", "path-ungrantable"),
        ("/a/../b", "path-parent"),
        ("~other/x", "path-home"),
    ] {
        let text = cage(&format!("fs = [{{ ro = \"{path}\" }}]"));
        assert_eq!(codes(user(&text)), [expected], "{path}");
    }
    assert_eq!(codes(user(&cage("fs = [{ ro = \".\" }, { hide = \"/proc\" }]"))), [""; 0]);
}

#[test]
fn the_frame_of_a_file_is_checked() {
    for (text, expected) in [
        ("", vec!["version-missing"]),
        ("version = 2\n[nonsense]", vec!["version-unsupported"]),
        ("version = \"1\"", vec!["wrong-type"]),
        ("version = 1\ncages = 1", vec!["unknown-word"]),
        ("version = 1\ncage = 1", vec!["wrong-type"]),
        ("version = 1\n[cage]\nx = \"enabled\"", vec!["unknown-value"]),
        ("version = 1\n[cage]\nx = 1", vec!["wrong-type"]),
        ("version = 1\n[[cage]]\nx = 1", vec!["wrong-type"]),
        ("version = 1\n[cage.\"a b\"]", vec!["bad-name"]),
        ("version = 1\n[cage.\"\"]", vec!["bad-name"]),
        ("version = 1\n[cage.disabled]", vec!["bad-name"]),
        ("version = 1\n[defaults]\nextends = \"x\"", vec!["unknown-word"]),
        ("version = 1\n[network]\nresolvers = [\"10.0.0.2\"]", vec!["unknown-word"]),
        ("version = 1\n[agent.x]", vec!["missing-word"]),
        ("version = 1\n[agent.x]\ncage = \"y\"", vec!["unknown-cage"]),
        ("version = 1\n[agent.x]\ncage = \"disabled\"\ncommand = []", vec!["command-name"]),
        ("version = 1\n[agent.x]\ncage = \"disabled\"\ncommand = \"x\"", vec!["wrong-type"]),
    ] {
        assert_eq!(codes(project(text)), expected, "{text}");
    }
    let disabled = "version = 1\n[cage]\na = \"disabled\"\nb = { extends = \"a\" }";
    assert_eq!(codes(project(disabled)), ["extends-disabled"]);
    let cycle = "version = 1\n[cage]\na = { extends = \"b\" }\nb = { extends = \"c\" }\nc = { extends = \"a\" }\nd = { extends = \"a\" }";
    assert_eq!(codes(project(cycle)), ["extends-cycle"]);
}

/// Caps: each with its own error, before it costs anything.
#[test]
fn sizes_are_capped() {
    let many_rules: String = (0..4097).map(|index| format!("{{ ro = \"{index}\" }},")).collect();
    let many_cages: String = (0..257).map(|index| format!("[cage.c{index}]\n")).collect();
    let chain: String =
        (0..20).map(|index| format!("[cage.c{}]\nextends = \"c{index}\"\n", index + 1)).collect();
    let full: String = (0..4096).map(|index| format!("{{ ro = \"{index}\" }},")).collect();
    for (text, expected) in [
        (cage(&format!("fs = [{many_rules}]")), "too-many-rules"),
        (format!("version = 1\n{many_cages}"), "too-many-cages"),
        (format!("version = 1\n[cage.c0]\nfs = [{full}]\n{chain}"), "too-many-rules"),
        (cage(&format!("fs = [{{ ro = \"{}\" }}]", "a/".repeat(2500))), "path-too-long"),
        ("#".repeat(1024 * 1024), "text-too-large"),
        (cage(&format!("net.deny = [{}]", "\"a.example\",".repeat(1025))), "too-many-rules"),
        (cage(&format!("net.publish = [{}]", "80,".repeat(1025))), "too-many-rules"),
        (cage(&format!("net.publish = {:?}", (2000..2049).collect::<Vec<_>>())), "too-many-rules"),
        (
            cage(&format!("net.reasons = {{ \"a.example\" = \"{}\" }}", "é".repeat(201))),
            "net-reason",
        ),
    ] {
        assert_eq!(codes(project(&text)), [expected]);
    }
}

/// All errors of a file at once, each with its line, its word underlined, what was expected and
/// what was meant.
#[test]
fn all_errors_are_drawn_at_once() {
    insta::assert_snapshot!(drawn(
        r#"version = 1
[cage.default]
fs = [{ ro = "." }, { wr = "build" }, { ro = "../x" }, { rw = "a" }, { ro = "a" }]
comands = "base"
env = ["LANG", "FOO=bar", "HOME"]
net.allow = ["https://example.com", "*", "openai:gpt-4", "10.0.0.1/8", "xn--ü.example"]
net.reasons = { "example.com:1" = "x", "example.org" = "" }
net.host_ports = [5432, 1080, "x"]
net.publish = [99999, 5432]
state = "ephemeral "
seccomp = "relax"
limits = { memory_mb = 8, pids = "many" }
[cage.scraper]
extends = "defualt"
[agent.one]
cage = "scrapper"
"#
    ));
}

/// K236: both lines are named.
#[test]
fn two_rules_on_one_path_name_both_lines() {
    insta::assert_snapshot!(drawn(
        "version = 1\n[cage.x]\nfs = [\n  { ro = \"src\" },\n  { ro = \"docs\" },\n\n\n  { rw = \"./src/\" },\n]\n"
    ));
}

/// Narrowing only: each thing that was refused is named at its own place.
#[test]
fn an_extending_cage_that_asks_for_more_is_told_what() {
    insta::assert_snapshot!(drawn(
        r#"version = 1
[cage.default]
fs = [{ ro = "." }, { hide = "secrets" }]
commands = ["git"]
net.allow = ["**.example.com:443"]
net.host_ports = [5432]
limits = { memory_mb = 64 }
[cage.more]
extends = "default"
fs = [{ ro = "." }, { rw = "build" }, { ro = "secrets/public" }]
commands = ["git", "curl"]
env = ["LANG"]
net.allow = ["a.example.com:443", "example.com"]
net.host_ports = [5432, 5433]
net.publish = [8080]
state = "scratch"
seccomp = "relaxed"
limits = { memory_mb = 128 }
[cage.only]
extends = "default"
fs = [{ hide = "docs" }]
"#
    ));
}

#[test]
fn an_empty_fs_says_what_to_write() {
    insta::assert_snapshot!(drawn("version = 1\n[cage.x]\nfs = []\n"));
}

#[test]
fn outside_paths_say_where_they_belong() {
    insta::assert_snapshot!(drawn(
        "version = 1\n[cage.x]\nfs = [{ ro = \"/etc/ssl\" }, { rw = \"~/notes\" }, { ro = \"a\\u0000b\" }]\n"
    ));
}

/// T20, T53: nothing from the text reaches the terminal as it is.
#[test]
fn drawings_are_safe_to_print() {
    let text = "version = 1\n[cage.x]\n\"\u{202e}\u{9b}2J\" = 1\nfs = [{ ro = \"../\\u001b[2J\u{200b}\" }, { ro = \"../\u{2066}\" }]\nstate = \"\u{1b}\\u001b\"\n";
    let found = parse_project("st\u{1b}ock\u{202e}.toml", text.as_bytes(), &super::place());
    let drawn = found.unwrap_err().render(Style::Plain);
    let bad = drawn.chars().find(|c| !matches!(c, '\n') && crate::shown::misleads(*c));
    assert_eq!(bad, None, "{drawn}");
    insta::assert_snapshot!(drawn);
}

/// What `--json` prints.
#[test]
fn errors_are_data() {
    let found = project("version = 1\n[cage.x]\n  stat = \"scratch\"\n").unwrap_err();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap());
}

#[test]
fn colours_are_asked_for() {
    let found = project("version = 2").unwrap_err();
    assert!(found.render(Style::Coloured).contains("\u{1b}["));
    assert!(!found.render(Style::Plain).contains('\u{1b}'));
    assert_eq!(found.to_string(), found.render(Style::Plain));
}

#[test]
fn many_errors_are_counted_and_some_shown() {
    let many: String = (0..250).map(|index| format!("word{index} = 1\n")).collect();
    let found = project(&cage(&many)).unwrap_err();
    assert_eq!((found.errors.len(), found.left_out), (100, 150));
    assert!(
        found
            .render(Style::Plain)
            .ends_with("250 errors in `stockade.toml`, the first 100 of which are shown\n")
    );
}
