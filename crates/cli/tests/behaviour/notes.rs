//! What `stockade run` says before the program starts.

use super::support::{Ended, Place, has};

/// A flag that does nothing is not silent; a policy may hide what one day will exist.
#[test]
fn there_is_nothing_to_hide() {
    let place = Place::new();
    let note = format!("there is nothing to hide at `{}/absent`", place.project.display());
    place.shell(&["--hide", "absent"], "true").expect_code(0).says(&note);
    place.ask(["check", "--hide", "absent"]).expect_code(0).says(&note);
    assert_eq!(place.shell(&["--quiet", "--hide", "absent"], "true").stderr, "");
    place.write("present", "x");
    assert_eq!(place.shell(&["--hide", "present"], "true").stderr, "");
    let long = format!("{}absent", "deep/".repeat(400));
    let ended = place.shell(&["--hide", &long], "true");
    ended.expect_code(0).says("…").says("deep/absent`");
    assert!(ended.stderr.chars().count() < 250, "{}", ended.stderr);
    place.default_cage("fs = [{ ro = \".\" }, { hide = \"absent\" }]");
    assert_eq!(place.shell(&[], "true").stderr, "");
}

/// What is to be hidden and comes to be there too late was seen, and that is told.
#[test]
fn what_is_hidden_too_late_is_told() {
    let place = Place::new();
    place.default_cage("fs = [{ rw = \".\" }, { hide = \"secrets\" }, { hide = \"other\" }]");
    let ended = place.shell(&[], "mkdir secrets; echo x > secrets/key");
    ended.expect_code(0).says("secrets` is to be hidden and came into being during the run");
    assert!(!ended.stderr.contains("other"), "{}", ended.stderr);
    let ended = place.shell(&[], "cat secrets/key");
    assert_eq!(ended.expect_code(1).stderr.lines().count(), 1, "{}", ended.stderr);
}

/// What a cage has of its own is not the host's and cannot be hidden.
#[test]
fn what_every_cage_has_is_not_hidden() {
    let place = Place::new();
    for path in ["/etc", "/etc/hosts", "/proc", "/tmp"] {
        let note = format!("`{path}` is not hidden");
        place.shell(&["--hide", path], "true").expect_code(0).says(&note);
    }
    place.write("inside/grant", "x");
    assert_eq!(place.shell(&["--hide", "inside", "--ro", "inside/grant"], "true").stderr, "");
    let usr = place.shell(&["--hide", "/usr/share"], "ls /usr/share");
    assert_eq!((usr.stdout.as_str(), usr.stderr.as_str()), ("", ""));
}

/// An address that is the cage's own, unless a name that is allowed may lead there.
#[test]
fn a_loopback_that_is_allowed_leads_nowhere() {
    let place = Place::new();
    let note = "`--net 127.0.0.1:5432` leads nowhere";
    let ended = place.ask(["check", "--net", "127.0.0.1:5432"]);
    ended.expect_code(0).says(note).says("`--host-port 5432` leads to the host's");
    place.ask(["check", "--net", "127.0.0.0/8"]).expect_code(0).says("`--net 127.0.0.0/8` leads");
    let both = ["check", "--net", "127.0.0.1:5432", "--net", "db.example:5432"];
    assert_eq!(place.ask(both).expect_code(0).stderr, "");
    place.ask(["check", "--publish", "8080:80"]).expect_code(2).says("one number is expected");
}

/// A variable that is passed on and not set.
#[test]
fn there_is_nothing_to_pass_on() {
    let place = Place::new();
    place.shell(&["--env", "ABSENT"], "true").expect_code(0).says("`ABSENT` is not set here");
    assert_eq!(place.shell(&["--env", "ABSENT=x", "--env", "PATH"], "true").stderr, "");
    place.default_cage("env = [\"ABSENT\"]");
    place.ask(["allow", "--yes"]).expect_code(0);
    assert_eq!(place.shell(&[], "true").stderr, "");
}

/// The flag that the note names is the one that makes git work.
#[test]
fn a_linked_worktree_has_its_data_elsewhere() {
    if !has("git") {
        return;
    }
    let place = Place::new();
    let repository = place.home.join("main copy");
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(&repository).args(["-c", "user.name=x", "-c", "user.email=x@y"]);
        git.env("HOME", &place.home).env("GIT_CONFIG_NOSYSTEM", "1").args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    std::fs::remove_dir(&place.project).unwrap();
    git(&["worktree", "add", "-q", place.project.to_str().unwrap()]);
    let data = repository.join(".git");
    let data = data.to_str().unwrap();
    place.ask(["run", "--", "git", "status"]).expect_code(128).says(&format!("`--ro '{data}'`"));
    let ended = place.ask(["run", "--ro", data, "--", "git", "status"]);
    assert!(!ended.expect_code(0).stderr.contains("stockade:"), "{}", ended.stderr);
}

/// K49, K198: a look-up in a cage without any network fails at once, and the user learns which host was wanted.
#[test]
fn a_look_up_without_a_network_is_told() {
    let place = Place::new();
    let started = std::time::Instant::now();
    let line = "getent ahosts Wanted.Example; test $? = 2 && ! getent ahosts other.example";
    let ended = place.shell(&[], line);
    // A resolver that heard nothing would wait for five seconds, twice.
    assert!(started.elapsed() < testing::slowly(std::time::Duration::from_secs(5)));
    ended.expect_code(0).says("refused `wanted.example` ×");
    ended.says("the cage has no network; `--net wanted.example` would allow it");
    ended.says("refused `other.example`");
    let refused: Vec<_> = place.records().into_iter().filter(is_look_up).collect();
    let hosts: Vec<_> = refused.iter().map(|record| record["hostname"].clone()).collect();
    assert_eq!(hosts.len(), 2, "{refused:?}");
    assert!(hosts.contains(&"wanted.example".into()), "{hosts:?}");
    assert_eq!(refused[0]["reason"], "the cage has no network");
    // To a program as data, and nothing where nobody asked.
    let ended = place.shell(&["--json"], "getent ahosts wanted.example");
    let result: serde_json::Value =
        serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    let denied = &result["network"]["denials"][0];
    assert_eq!(
        (&denied["target"], &denied["code"]),
        (&"wanted.example".into(), &"not_allowed".into())
    );
    let ended = place.shell(&["--json"], "getent ahosts 127.0.0.1 >/dev/null");
    let result: serde_json::Value =
        serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(result["network"], serde_json::Value::Null);
    assert_eq!(place.shell(&[], "true").stderr, "");
}

fn is_look_up(record: &serde_json::Value) -> bool {
    record["event"] == "gatekeeper.dns_denied"
}

/// K49: a flood of questions, and what is no question, keep pid 1 from nothing.
#[test]
fn many_look_ups_are_counted() {
    let place = Place::new();
    if !has("python3") {
        return;
    }
    let line = "exec /usr/bin/python3 -c '\
import socket, os
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(3000):
    name = b\"n%d\" % n
    q = b\"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\" + bytes([len(name)]) + name + b\"\\0\\0\\1\\0\\1\"
    s.sendto(q, (\"127.0.0.1\", 53))
    s.sendto(os.urandom(n % 700), (\"127.0.0.1\", 53))
'";
    let ended = place.shell(&[], line);
    ended.expect_code(0).says("other targets on the network were refused too");
    let refused = place.records().into_iter().filter(is_look_up).count();
    assert!((1..=32).contains(&refused), "{refused}");
}

/// K297: what is acknowledged is told no more here, and everywhere else it is; it can be taken back.
#[test]
fn a_note_can_be_acknowledged() {
    let place = Place::new();
    let looks_up = ["run", "--", "sh", "-c", "getent hosts telemetry.example; echo x > ro"];
    place.ask(looks_up).says("refused `telemetry.example");
    place.ask(["acknowledge", "telemetry.example"]).expect_code(0).says("told no more");
    let told = place.ask(looks_up);
    assert!(!told.stderr.contains("telemetry.example"), "{}", told.stderr);
    let result = place.ask(["run", "-q", "--json", "--", "getent", "hosts", "telemetry.example"]);
    assert!(result.stderr.contains("telemetry.example"), "{}", result.stderr);
    let verbose = ["run", "-v", "--", "getent", "hosts", "telemetry.example"];
    place.ask(verbose).says("refused `telemetry.example");
    place.ask(["acknowledge"]).expect_code(0).prints("telemetry.example\n");
    let elsewhere = place.outside();
    let mut command = place.stockade();
    command.current_dir(&elsewhere).args(["run", "--", "getent", "hosts", "telemetry.example"]);
    Ended::of(command.output().unwrap()).says("refused `telemetry.example");
    place.ask(["acknowledge", "--forget", "telemetry.example"]).expect_code(0);
    place.ask(looks_up).says("refused `telemetry.example");
    place.ask(["acknowledge", "--forget", "telemetry.example"]).expect_code(1);
    place.ask(["acknowledge", "a`b"]).expect_code(2).says("between backticks");
}
