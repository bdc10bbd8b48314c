//! `/scratch` and sessions: gone with the cage, or kept until the session ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::support::{Ended, Place, slowly};

const SCRATCH: &str = "fs = [{ ro = \".\" }, { rw = \"w\" }]\nstate = \"scratch\"";

fn place() -> Place {
    let place = Place::new();
    place.write("w/keep", "");
    place.default_cage(SCRATCH);
    place
}

fn sessions(place: &Place) -> PathBuf {
    place.state().join("stockade/sessions")
}

/// What is in the directory of sessions.
fn kept(place: &Place) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sessions(place)) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names
}

fn start(place: &Place, flags: &[&str], line: &str) -> Child {
    let mut command = place.stockade();
    command.arg("run").args(flags).args(["--", "sh", "-c", line]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn result(ended: &Ended) -> Value {
    serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap()
}

/// K38: a session that is named is one to come back to, also where the policy says nothing about `/scratch`.
#[test]
fn naming_a_session_keeps_scratch() {
    let place = Place::new();
    place.shell(&["--session", "work"], "echo kept > /scratch/file").expect_code(0);
    place.shell(&["--session", "work"], "cat /scratch/file").expect_code(0).prints("kept");
    place.shell(&[], "ls /scratch").expect_code(0);
    let ephemeral = ["--session", "work", "--state", "ephemeral"];
    place.shell(&ephemeral, "cat /scratch/file").expect_code(1);
}

/// K20, K36, K38
#[test]
fn a_session_keeps_what_its_runs_leave() {
    let place = place();
    place.shell(&["--session", "work"], "echo kept > /scratch/file").expect_code(0);
    place.shell(&["--session", "work"], "cat /scratch/file").expect_code(0).prints("kept");
    place.shell(&["--session", "other"], "cat /scratch/file").expect_code(1);
    let ephemeral = ["--session", "work", "--state", "ephemeral"];
    place.shell(&ephemeral, "cat /scratch/file").expect_code(1);
    place.ask(["session", "list"]).expect_code(0).prints("work ").prints("not in use");
    let listed: Value =
        serde_json::from_str(&place.ask(["session", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed[0]["id"], "other");
    assert_eq!((&listed[1]["id"], &listed[1]["life"]), (&"work".into(), &"kept".into()));
    place.ask(["session", "end", "work"]).expect_code(0);
    place.ask(["audit", "verify"]).expect_code(0).prints("the head covers all of them");
    place.ask(["session", "end", "work"]).expect_code(1).says("there is no session `work`");
    assert_eq!(kept(&place), ["other"]);
    place.shell(&["--session", "work"], "ls -A /scratch | wc -l").expect_code(0).prints("0");
}

/// K37, K177: without a session the directory is that of one run, and a look leaves none.
#[test]
fn without_a_session_nothing_is_kept() {
    let place = place();
    let ended = place.ask(["run", "--json", "--", "sh", "-c", "echo x > /scratch/a; df /scratch"]);
    ended.expect_code(0);
    assert_eq!(result(&ended)["session"].as_str().unwrap().len(), 26);
    place.shell(&[], "ls -A /scratch | wc -l").expect_code(0).prints("0");
    place.ask(["check"]).expect_code(0).prints("/scratch");
    place.ask(["why", "."]).expect_code(0);
    place.ask(["run", "--ro", "missing", "--", "true"]).expect_code(123);
    place.ask(["run", "--", "no-such-program"]).expect_code(127);
    assert!(kept(&place).is_empty(), "{:?}", kept(&place));
    let other = Place::new();
    other.shell(&[], "echo x > /scratch/a").expect_code(0);
    assert!(!sessions(&other).exists(), "nothing on the host without need");
}

/// K241: the same cage has the same hash in every session.
#[test]
fn the_hash_of_a_cage_is_that_of_every_session() {
    let place = place();
    let hash = |session: &[&str]| {
        let ended = place.ask([&["run", "--json"], session, &["--", "true"]].concat());
        result(ended.expect_code(0))["plan_hash"].clone()
    };
    assert_eq!(hash(&[]), hash(&[]));
    assert_eq!(hash(&["--session", "a"]), hash(&["--session", "b"]));
}

/// K38: names that cannot lead elsewhere.
#[test]
fn names_of_sessions() {
    let place = place();
    for name in ["..", "a/b", "A", "", ".lock", "-x", "a.b", "\u{e4}"] {
        let flag = format!("--session={name}");
        place.ask(["run", &flag, "--", "true"]).expect_code(2).says("session");
        place.ask(["session", "end", "--", name]).expect_code(2);
    }
    assert!(kept(&place).is_empty());
}

/// K237: a session can have several runs at once.
#[test]
fn two_runs_in_one_session() {
    let place = place();
    let line = "echo $$ > /scratch/first; touch w/first; while ! [ -e /scratch/second ]; do sleep 0.02; done";
    let first = start(&place, &["--session", "both"], line);
    wait_for(&place.project.join("w/first"));
    place.ask(["session", "list"]).prints("in use by one process");
    place
        .shell(&["--session", "both"], "cat /scratch/first && touch /scratch/second")
        .expect_code(0);
    Ended::of(first.wait_with_output().unwrap()).expect_code(0);
    assert_eq!(kept(&place), ["both"]);
}

/// K163: ending a session ends what runs in it.
#[test]
fn ending_a_session_ends_its_programs() {
    let place = place();
    for (name, line, signal) in [
        ("polite", "touch w/polite; exec sleep 60", 15),
        ("stubborn", "trap '' TERM; touch w/stubborn; while :; do sleep 0.05; done", 9),
    ] {
        let running = start(&place, &["--json", "--session", name], line);
        wait_for(&place.project.join("w").join(name));
        let began = Instant::now();
        place.ask(["session", "end", name]).expect_code(0);
        let ended = Ended::of(running.wait_with_output().unwrap());
        ended.says("the program was ended with its session");
        let result = result(&ended);
        assert_eq!(result["reason"], "session_ended", "{result}");
        assert_eq!((&result["session"], &result["signal"]), (&name.into(), &signal.into()));
        assert!(
            began.elapsed() < cage::GRACE + slowly(Duration::from_secs(4)),
            "{:?}",
            began.elapsed()
        );
        assert!(kept(&place).is_empty(), "{:?}", kept(&place));
    }
    let records = place.records();
    let reasons: Vec<_> = records
        .iter()
        .filter(|one| one["event"] == "subagent.killed")
        .map(|one| &one["reason"])
        .collect();
    assert_eq!(reasons, ["session_ended", "session_ended"]);
    let ended: Vec<_> = records.iter().filter(|one| one["event"] == "session.ended").collect();
    assert_eq!(ended.len(), 2);
    assert_eq!((&ended[0]["session_id"], &ended[0]["killed"]), (&"polite".into(), &1.into()));
}

/// K156, K219, K239, T54: what a killed supervisor leaves is removed by the next run, which says so.
#[test]
fn what_a_killed_run_leaves_is_swept() {
    let place = place();
    let mut killed = start(&place, &[], "mkdir -p /scratch/a/b; touch w/ready; sleep 60");
    wait_for(&place.project.join("w/ready"));
    let pid = Pid::from_child(&killed);
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    killed.wait().unwrap();
    let left = kept(&place);
    assert_eq!(left.len(), 1);
    let ended = place.shell(&[], "true");
    ended.expect_code(0).says(&format!("removed session `{}`", left[0]));
    assert!(kept(&place).is_empty(), "{:?}", kept(&place));
    let swept = place.records().into_iter().find(|one| one["event"] == "sweep").unwrap();
    assert_eq!((&swept["what"], &swept["subject"]), (&"session".into(), &left[0].as_str().into()));
}

/// T50: the state directory is not in any cage, also where the home is granted.
#[test]
fn the_state_is_in_no_cage() {
    let place = Place::new();
    place.shell(&[], "true").expect_code(0);
    let state = place.state().join("stockade");
    assert!(state.join("audit").is_dir());
    let home = place.home.to_str().unwrap();
    for grant in ["--ro", "--rw"] {
        let line = format!("ls -A {}; touch {}/x", state.display(), state.display());
        let ended = place.ask(["run", grant, home, "--", "sh", "-c", &line]);
        assert_ne!(ended.code, 0);
        assert_eq!(ended.stdout, "", "{}", ended.stderr);
    }
    for below in ["", "/audit", "/sessions", "/audit/key"] {
        let path = format!("{}{below}", state.display());
        place.ask(["run", "--ro", &path, "--", "true"]).expect_code(123).says("own state");
    }
}
