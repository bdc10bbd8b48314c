//! `stockade why`: the same answer as the cage gives, with the rule behind it.

use std::fs;

use super::support::Place;

/// V16
#[test]
fn paths_and_the_rules_behind_them() {
    let place = Place::new();
    place.write("build/out", "x");
    place.write("secrets/key", "x");
    place.write("plain", "x");
    place.write(".envrc", "x");
    place.default_cage("fs = [{ ro = \".\" }, { rw = \"build\" },\n  { hide = \"secrets\" }]");
    let table = [
        ("build/out", 0, "can be read and changed", "stockade.toml:3"),
        ("secrets/key", 1, "is hidden", "stockade.toml:4"),
        ("plain", 0, "can be read, not changed", "`--rw"),
        ("/etc/shadow", 1, "does not exist inside", "none covers it"),
        ("/etc/passwd", 0, "base layer", "a file that the cage is given"),
        ("/usr/bin/env", 0, "base layer", "none covers it"),
        ("/tmp", 0, "the cage's own", "cannot be granted"),
        ("/proc/1", 0, "the cage's own", "cannot be granted"),
        ("/run/user", 1, "does not exist inside", "cannot be granted"),
    ];
    for (path, code, verdict, reason) in table {
        place.ask(["why", path]).expect_code(code).prints(verdict).prints(reason);
    }
    place.ask(["why", "--rw", ".", ".envrc"]).expect_code(0).prints("runs code on the host");
}

/// V16: what the tables know of a path is told before a grant brings it up, and what is not there is said.
#[test]
fn secrets_protected_names_and_missing_files() {
    let place = Place::new();
    let home = place.home.clone();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_rsa"), "x").unwrap();
    place.write(".vscode/settings.json", "{}");
    let key = home.join(".ssh/id_rsa").display().to_string();
    let ended = place.ask(["why", &key]);
    ended.expect_code(1).prints("secret: ").prints("stays hidden in a grant that does not name it");
    let ended = place.ask(["why", ".vscode/settings.json"]);
    ended
        .expect_code(0)
        .prints("protected: `.vscode`")
        .prints("stays read-only in a read-write grant");
    let ended = place.ask(["why", "--rw", ".", ".envrc"]);
    ended.expect_code(0).prints("runs code on the host").prints("no such file on the host");
    for name in ["foo.txt", "README.md", "src/main.rs"] {
        let ended = place.ask(["why", name]);
        ended.expect_code(0).prints("can be read").prints("no such file on the host at the moment");
        let host = format!("a host is asked about with `--host {}`", name.to_lowercase());
        assert_eq!(ended.stdout.contains(&host), !name.contains('/'), "{}", ended.stdout);
        place.write(name, "x");
        let ended = place.ask(["why", name]);
        ended.expect_code(0).prints("can be read");
        assert!(!ended.stdout.contains("no such file"), "{}", ended.stdout);
    }
    let ended = place.ask(["why", "../missing"]);
    ended.expect_code(1).prints("does not exist inside").prints("no such file on the host");
    assert!(!ended.stdout.contains("to change it"), "{}", ended.stdout);
    place
        .ask(["why", "example.org"])
        .expect_code(1)
        .prints("cannot be reached")
        .says("`example.org` was taken for a host; a path is asked about as `./example.org`");
}

/// V16: `why` and the cage agree on every path.
#[test]
fn the_cage_agrees() {
    let place = Place::new();
    place.write("a/b/c/file", "x");
    place.write("a/hidden/file", "x");
    place.write("a/hidden/shown/file", "x");
    fs::write(place.home.join("other"), "x").unwrap();
    place.default_cage(
        "fs = [{ ro = \"a\" }, { rw = \"a/b/c\" }, { hide = \"a/hidden\" }, { ro = \"a/hidden/shown\" }]",
    );
    for path in [
        "a/b/c/file",
        "a/b",
        "a/hidden/file",
        "a/hidden/shown/file",
        "../other",
        "stockade.toml",
        "/etc/hosts",
        "/etc/fstab",
        "/usr/bin/env",
        "/var/lib",
        "/scratch",
        "/boot",
    ] {
        let absolute = place.project.join(path);
        let real = fs::canonicalize(&absolute).unwrap_or(absolute);
        let answer = place.ask(["why", path]);
        let inside = place.ask(["run", "--", "test", "-e", real.to_str().unwrap()]);
        assert_eq!(answer.code, inside.code, "{path}: {}", answer.stdout);
        let writable = place.ask(["run", "--", "test", "-w", real.to_str().unwrap()]);
        let says_so = answer.stdout.contains("can be read and changed")
            || answer.stdout.contains("the cage's own, with");
        assert_eq!(writable.code == 0, says_so, "{path}: {}", answer.stdout);
    }
}

/// K119, K132, K138
#[test]
fn system_calls() {
    let place = Place::new();
    place.ask(["why", "--syscall", "read"]).expect_code(0).prints("is allowed");
    let ended = place.ask(["why", "--syscall", "ptrace"]);
    ended.expect_code(1).prints("is refused").prints("default.list:").prints("--seccomp relaxed");
    place.ask(["why", "--syscall", "ptrace", "--seccomp", "relaxed"]).expect_code(0);
    place.ask(["why", "--syscall", "clock_settime"]).expect_code(1).prints("SIGSYS");
    place.ask(["why", "--syscall", "reboot"]).expect_code(1).prints("no profile allows it");
    place.ask(["why", "--syscall", "socket"]).expect_code(0).prints("depends on its arguments");
    place.ask(["why", "--syscall", "nonsense"]).expect_code(2);
}

/// K167
#[test]
fn variables() {
    let place = Place::new();
    place.default_cage("env = { LANG = true, MODE = \"x\" }");
    place.ask(["why", "--env", "MODE"]).expect_code(0).prints("stockade.toml:3").prints("value: x");
    place.ask(["why", "--env", "HOME"]).expect_code(0);
    let ended = place.ask(["why", "--env", "OTHER"]);
    ended.expect_code(1).prints("`--env OTHER`").prints("env = [\"OTHER\"]");
}

/// K19, K25, K90, K91, K104, K234, K235: files and lines of the entries that decide.
#[test]
fn hosts_and_the_entries_behind_them() {
    let place = Place::new();
    place.write("file.example", "x");
    place.write("stockade.toml", "");
    let configuration = place.home.join(".config/stockade");
    fs::create_dir_all(&configuration).unwrap();
    let text = "version = 1\n[ceiling]\nnet.allow = [\"**.example.com\"]\nnet.deny = [\"bad.example.com\"]\n";
    fs::write(configuration.join("config.toml"), text).unwrap();
    place.default_cage("fs = [{ ro = \".\" }]\nnet.allow = [\"*.example.com:443\"]");
    for (host, code, verdict, reason) in [
        ("a.example.com:443", 0, "can be reached", "stockade.toml:4"),
        ("a.example.com", 0, "on port 443", "private"),
        ("A.EXAMPLE.com.:80", 1, "not on port 80", "stockade.toml:4"),
        ("example.com:443", 1, "cannot be reached", "`--net example.com:443`"),
        ("bad.example.com:443", 1, "cannot be reached", "config.toml:4"),
        ("192.0.2.1:443", 1, "cannot be reached", "none covers it"),
        ("localhost:5432", 1, "the cage's own", "`--host-port 5432`"),
        ("file.example", 0, "can be read", "stockade.toml:3"),
    ] {
        place.ask(["why", host]).expect_code(code).prints(verdict).prints(reason);
    }
    place.ask(["why", "--host", "file.example"]).expect_code(1).prints("cannot be reached");
    place
        .ask(["why", "--net", "b.example", "b.example:1"])
        .expect_code(0)
        .prints("(--net b.example)");
    place.ask(["why", "--no-net", "a.example.com"]).expect_code(1).prints("no network");
    place.ask(["why", "--host-port", "5432", "localhost:5432"]).expect_code(0);
    place
        .ask(["why", "--host", "https://example.com"])
        .expect_code(1)
        .prints("`example.com:443` cannot");
    place.ask(["why", "--host", "https://"]).expect_code(2).says("write the host alone");
}

#[test]
fn answers_as_json() {
    let place = Place::new();
    for words in [
        ["why", "--json", "/etc"],
        ["why", "--json", "--syscall=bpf"],
        ["why", "--json", "--env=X"],
        ["why", "--json", "example.com:443"],
        ["why", "--json", "localhost:443"],
    ] {
        let ended = place.ask(words);
        let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(value.is_object());
    }
}

/// A variable is not asked about with a value.
#[test]
fn a_variable_with_a_value_is_no_question() {
    let place = Place::new();
    place.ask(["why", "--env", "A=B"]).expect_code(2).says("`stockade why --env A`");
}
